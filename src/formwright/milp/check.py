"""One assignment against the template: exact, without numpy, in well under a millisecond."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from formwright.base.diagnostics import fail
from formwright.ir.evaluate import EvaluationError, evaluate, number, truth
from formwright.ir.expr import Expr, Scalar
from formwright.ir.rewrite import free_names, substitute
from formwright.ir.template import Definition, Template
from formwright.milp.problem import objective_expression, plain, scope_conditions


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Names that hold and names that fail; ``errors`` says why a name has no value."""

    held: tuple[str, ...]
    failed: tuple[str, ...]
    errors: dict[str, str]

    @property
    def ok(self) -> bool:
        return not self.failed


def check(
    template: Template, parameters: Mapping[str, Scalar], assignment: Mapping[str, int]
) -> CheckResult:
    """Scope conditions, menus, constraints and requirements at one point.

    Scope conditions over parameters without a value (a team size that is not yet chosen)
    are passed over. A condition without a value counts as failed; it is an error only if every
    condition before it holds.
    """
    values = _environment(template, parameters, assignment)
    held: list[str] = []
    failed: list[str] = []
    errors: dict[str, str] = {}
    for name, condition in _conditions(template, values):
        try:
            (held if _holds(template, condition, values) else failed).append(name)
        except EvaluationError as error:
            if not failed:
                errors[name] = error.message
            failed.append(name)
    for decision in template.decisions:
        inside = assignment[decision.name] in decision.menu
        (held if inside else failed).append(f"menu {decision.name}")
    return CheckResult(tuple(held), tuple(failed), errors)


def objective_of(
    template: Template,
    parameters: Mapping[str, Scalar],
    assignment: Mapping[str, int],
    coefficients: Mapping[str, Fraction] | None = None,
) -> Fraction:
    """The cost at one point, exactly, in the unit of the template's cost.

    Raises :class:`InputError` where the cost has no value, or the template has no cost.
    """
    cost = template.cost
    if cost is None:
        raise fail(f"{template.name} has no cost", template.span)
    values = _environment(template, parameters, assignment)
    values.update(plain({c.name: c.default for c in cost.coefficients}))
    values.update(plain(coefficients or {}))
    _define(cost.definitions, values)
    whole = objective_expression(cost.bounds)
    try:
        return Fraction(number(whole, values))
    except EvaluationError:
        pass
    try:
        return Fraction(number(_closed((*template.definitions, *cost.definitions), whole), values))
    except EvaluationError as error:
        raise fail(f"cost {cost.name}: {error.message}", error.span) from None


def _holds(template: Template, condition: Expr, values: dict[str, Scalar]) -> bool:
    try:
        return truth(condition, values)
    except EvaluationError:
        # A definition without a value may stand behind a guard: inlining restores the meaning.
        return truth(_closed(template.definitions, condition), values)


def _closed(definitions: tuple[Definition, ...], expr: Expr) -> Expr:
    values: dict[str, Expr] = {}
    for definition in definitions:
        values[definition.name] = substitute(definition.value, values)
    return substitute(expr, values)


def _environment(
    template: Template, parameters: Mapping[str, Scalar], assignment: Mapping[str, int]
) -> dict[str, Scalar]:
    names = {d.name for d in template.decisions}
    missing, unknown = names - assignment.keys(), assignment.keys() - names
    if missing or unknown:
        what = [f"no value for {n}" for n in sorted(missing)]
        what += [f"no decision {n}" for n in sorted(unknown)]
        raise fail(f"the assignment does not fit {template.name}: {', '.join(what)}")
    values = plain({**parameters, **assignment})
    _define(template.definitions, values)
    return values


def _define(definitions: tuple[Definition, ...], values: dict[str, Scalar]) -> None:
    for definition in definitions:
        try:
            values[definition.name] = evaluate(definition.value, values)
        except EvaluationError:
            continue


def _conditions(template: Template, values: dict[str, Scalar]) -> list[tuple[str, Expr]]:
    scope = template.scope
    parameters = {p.name for p in scope.parameters}
    absent = parameters - values.keys()
    named = [(n, c) for n, c in scope_conditions(template) if not free_names(c) & absent]
    named += [(c.name, c.condition) for c in template.constraints]
    return named + [(r.name, r.condition) for r in template.requires]
