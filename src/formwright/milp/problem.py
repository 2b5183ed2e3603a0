"""What the solver needs of a template: menus, conditions and cost over constants."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from formwright.base.diagnostics import Diagnostic, InputError, fail, nearest
from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import ONE, ZERO, Arith, Cond, Expr, MinMax, Scalar
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint, CostBound, Parameter, Template
from formwright.lang.structures import structure_text
from formwright.milp.declared import Declared

LARGEST_SPACE = 10**18
"""Menus whose product is larger than this are refused."""


@dataclass(frozen=True, slots=True)
class Problem:
    """``names`` and ``menus`` are the decisions in order; all else is over them and ``constants``.

    ``objective`` is ``None`` for a template without a cost.
    """

    names: tuple[str, ...]
    menus: tuple[tuple[int, ...], ...]
    constants: dict[str, Scalar]
    constraints: tuple[Constraint, ...]
    bounds: tuple[CostBound, ...]
    objective: Expr | None
    prefer: tuple[Expr, ...]
    structures: tuple[Declared, ...] = ()
    """What the template declares that a search may leave out."""

    @property
    def points(self) -> int:
        return prod(len(menu) for menu in self.menus)


def build(
    template: Template,
    parameters: Mapping[str, Scalar],
    coefficients: Mapping[str, Fraction] | None = None,
    extra_constraints: tuple[Constraint, ...] = (),
    without: frozenset[str] = frozenset(),
) -> Problem:
    """The problem of ``template`` at ``parameters`` (extents and ``chip.x`` in SI units).

    Raises :class:`InputError` with every fault: a value that is missing, unknown or outside
    the scope, a constraint in ``without`` that does not exist, menus that are too large.
    """
    small = inlined(replace(template, program=(), globals=(), refinement=None))
    constants = plain({**parameters, **_coefficients(template, coefficients)})
    kept = tuple(c for c in small.constraints if c.name not in without) + extra_constraints
    bounds = () if small.cost is None else small.cost.bounds
    prefer = () if small.cost is None else small.cost.prefer
    problem = Problem(
        names=tuple(d.name for d in template.decisions),
        menus=tuple(d.menu for d in template.decisions),
        constants=constants,
        constraints=kept,
        bounds=bounds,
        objective=None if small.cost is None else objective_expression(bounds),
        prefer=prefer,
        structures=tuple(
            Declared(structure_text(own), plain_)
            for own, plain_ in zip(template.structures, small.structures, strict=True)
        ),
    )
    faults = [
        *_missing(template, problem),
        *_unknown(template, parameters),
        *_outside(template, parameters),
        *_dropped(small.constraints, without),
    ]
    if problem.points > LARGEST_SPACE:
        faults.append(
            Diagnostic(
                f"the menus span {problem.points:.3g} points; the limit is {LARGEST_SPACE:.0e}",
                template.span,
                "shorten a menu or split the template",
            )
        )
    if faults:
        raise InputError(faults)
    return problem


def objective_expression(bounds: tuple[CostBound, ...]) -> Expr:
    """The largest bound whose guard holds; without a value where no guard holds."""
    unguarded = [b.value for b in bounds if b.guard is None]
    default: Expr = unguarded[0] if unguarded else Arith("/", ONE, ZERO)
    if not unguarded:
        for bound in reversed(bounds):
            if bound.guard is not None:
                default = Cond(bound.guard, bound.value, default)
    parts = [b.value if b.guard is None else Cond(b.guard, b.value, default) for b in bounds]
    return parts[0] if len(parts) == 1 else MinMax("max", tuple(parts))


def cost_over(
    template: Template,
    parameters: Mapping[str, Scalar],
    assignment: Mapping[str, int],
    coefficients: Collection[str],
) -> Expr:
    """The cost at one point as an expression over ``coefficients``; the others have defaults.

    Raises :class:`InputError` where the template has no cost.
    """
    cost = inlined(replace(template, program=(), globals=(), refinement=None)).cost
    if cost is None:
        raise fail(f"{template.name} has no cost", template.span)
    values = plain({**parameters, **assignment})
    fixed = {c.name: c.default for c in cost.coefficients if c.name not in coefficients}
    return folded(objective_expression(cost.bounds), values | plain(fixed))


def scope_conditions(template: Template) -> list[tuple[str, Expr]]:
    """Name and condition of each part of the scope that has one."""
    scope = template.scope
    named = [(f"scope {p.name}", p.condition) for p in scope.parameters if p.condition is not None]
    return named + [(f"scope relation {i + 1}", r) for i, r in enumerate(scope.relations)]


def plain(values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The values as ``evaluate`` gives them: a whole fraction is an ``int``."""
    return {
        name: v.numerator if isinstance(v, Fraction) and v.denominator == 1 else v
        for name, v in values.items()
    }


def holds(condition: Expr, values: Mapping[str, Scalar]) -> bool:
    """Whether ``condition`` holds; not where it has no value: an earlier constraint fails there
    (see :mod:`formwright.milp.defined`)."""
    try:
        return truth(condition, values)
    except EvaluationError:
        return False


def integer_names(template: Template) -> tuple[Parameter, ...]:
    return template.scope.integers


def _coefficients(template: Template, given: Mapping[str, Fraction] | None) -> dict[str, Scalar]:
    known = () if template.cost is None else template.cost.coefficients
    values: dict[str, Scalar] = {c.name: c.default for c in known}
    for name, value in (given or {}).items():
        if name not in values:
            raise InputError([Diagnostic(f'no coefficient "{name}"', None, nearest(name, values))])
        values[name] = value
    return values


def _needed(problem: Problem) -> dict[str, Expr]:
    """Every name that a condition or the cost uses, with an expression that uses it."""
    uses = [c.condition for c in problem.constraints] + list(problem.prefer)
    if problem.objective is not None:
        uses.append(problem.objective)
    return {name: expr for expr in uses for name in sorted(free_names(expr))}


def _missing(template: Template, problem: Problem) -> list[Diagnostic]:
    known = {*problem.constants, *problem.names}
    return [
        Diagnostic(f'no value for "{name}", which "{template.name}" needs', expr.span)
        for name, expr in _needed(problem).items()
        if name not in known
    ]


def _unknown(template: Template, parameters: Mapping[str, Scalar]) -> list[Diagnostic]:
    scope = template.scope
    known = [p.name for p in scope.parameters]
    faults = [
        Diagnostic(f'"{template.name}" has no parameter "{name}"', None, nearest(name, known))
        for name in parameters
        if name not in known and not name.startswith("chip.")
    ]
    for parameter in integer_names(template):
        value = parameters.get(parameter.name, 1)
        if isinstance(value, bool) or not isinstance(value, int):
            faults.append(Diagnostic(f'"{parameter.name}" must be an integer, not {value}'))
    return faults


def _outside(template: Template, parameters: Mapping[str, Scalar]) -> list[Diagnostic]:
    faults = []
    for name, condition in scope_conditions(template):
        if not free_names(condition) <= parameters.keys():
            continue
        values = ", ".join(f"{n} = {parameters[n]}" for n in sorted(free_names(condition)))
        try:
            holds = truth(condition, plain(parameters))
        except EvaluationError as error:
            faults.append(Diagnostic(f"{name}: {error.message}", condition.span))
            continue
        if not holds:
            message = f"outside the scope of {template.name}: {name} does not hold with {values}"
            faults.append(Diagnostic(message, condition.span))
    return faults


def _dropped(constraints: tuple[Constraint, ...], without: frozenset[str]) -> list[Diagnostic]:
    known = [c.name for c in constraints]
    return [
        Diagnostic(f'no constraint "{name}" to leave out', None, nearest(name, known))
        for name in sorted(without)
        if name not in known
    ]
