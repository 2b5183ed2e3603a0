"""Small templates for the solver: decisions, constraints and a cost, from texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from formwright.ir.template import Constraint, Cost, CostBound, Decision, Template
from formwright.lang import load
from formwright.lang.parser import parse_expression

TILING = load("shared_memory_tiling")[1]
NO_SCOPE = replace(TILING.scope, extents=(), agents=(), chip=(), relations=())


def template(
    menus: Mapping[str, Sequence[int]],
    constraints: Mapping[str, str],
    *bounds: str,
    prefer: tuple[str, ...] = (),
) -> Template:
    """A template with decisions, constraints and a cost; ``v if g`` is a guarded bound."""
    parts = [b.partition(" if ") for b in bounds]
    cost = Cost(
        "T",
        "seconds",
        (),
        (),
        tuple(
            CostBound(parse_expression(v), parse_expression(g) if g else None) for v, _, g in parts
        ),
        tuple(parse_expression(p) for p in prefer),
    )
    return replace(
        TILING,
        name="t",
        scope=NO_SCOPE,
        decisions=tuple(Decision(n, tuple(m)) for n, m in menus.items()),
        definitions=(),
        constraints=tuple(Constraint(n, parse_expression(c)) for n, c in constraints.items()),
        requires=(),
        cost=cost if bounds else None,
    )
