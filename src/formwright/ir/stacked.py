"""The steps of a chain as one template without a program: every decision, every constraint."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from formwright.ir.expr import Expr, Logic
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Parameter, Scope, Template


def stacked(steps: Sequence[Template]) -> Template:
    """Decisions and constraints of ``steps`` together, with the cost of the last one.

    Constraints are called ``STEP.NAME``. The scope is that of all steps, without what they say
    of decisions of the steps above: a chain shows that it follows. Requirements and the steps
    themselves are left out.
    """
    plain = [inlined(s) for s in steps]
    last = plain[-1]
    given = {p.name for s in plain for p in s.scope.given}
    relations = [r for s in plain for r in s.scope.relations if not free_names(r) & given]
    scope = Scope(
        last.scope.workload,
        _merged(p for s in plain for p in s.scope.extents),
        _merged(p for s in plain for p in s.scope.agents),
        _merged(p for s in plain for p in s.scope.chip),
        tuple(dict.fromkeys(relations)),
    )
    constraints = tuple(replace(c, name=f"{s.name}.{c.name}") for s in plain for c in s.constraints)
    return replace(
        last,
        name=f"{steps[0].name} to {last.name}" if len(steps) > 1 else last.name,
        coarse=plain[0].coarse,
        scope=scope,
        decisions=tuple(d for s in plain for d in s.decisions),
        constraints=constraints,
        requires=(),
        refinement=None,
    )


def given_conditions(step: Template) -> Iterator[tuple[str, Expr]]:
    """What a step says of decisions of the steps above it, with names for messages."""
    scope = step.scope
    for parameter in scope.given:
        if parameter.condition is not None:
            yield parameter.name, parameter.condition
    given = {p.name for p in scope.given}
    for number, relation in enumerate(inlined(step).scope.relations, start=1):
        if free_names(relation) & given:
            yield f"relation {number}", relation


def _merged(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for parameter in parameters:
        known = found.get(parameter.name)
        if known is None or known.condition is None:
            found[parameter.name] = parameter
        elif parameter.condition is not None and not _says(known.condition, parameter.condition):
            both = Logic("and", known.condition, parameter.condition)
            found[parameter.name] = replace(known, condition=both)
    return tuple(found.values())


def _says(known: Expr, condition: Expr) -> bool:
    match known:
        case Logic("and", a, b):
            return _says(a, condition) or _says(b, condition)
        case _:
            return known == condition
