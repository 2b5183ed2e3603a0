"""With what is declared left out, the designs are those of an enumeration without it."""

from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_expr import MENUS, NAMES, numbers, plain_constants, templates

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.ir.expr import Arith, Compare, Expr, MinMax, Neg, Round, Var, num
from formwright.ir.rewrite import children
from formwright.ir.structures import (
    Bounded,
    Coarse,
    Drop,
    Knee,
    Menu,
    Ordered,
    Rank,
    Scenarios,
    Split,
    Structure,
)
from formwright.ir.template import Constraint, Cost, CostBound, Template
from formwright.milp import exact
from formwright.milp.solve import Solution, solve

relaxed = settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

names = st.sampled_from(NAMES)
some = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)


def parts_of(template: Template) -> list[Expr]:
    """Numbers that the cost is made of."""
    assert template.cost is not None
    found: list[Expr] = []
    left = [b.value for b in template.cost.bounds]
    while left:
        expr = left.pop()
        if isinstance(expr, Arith | MinMax | Neg | Round | Var):
            found.append(expr)
        left += children(expr)
    return found or [num(0)]


def structures(template: Template) -> st.SearchStrategy[Structure]:
    """Claims about a template: some hold, most do not."""
    measures = st.one_of(
        st.sampled_from(parts_of(template)), numbers(1, NAMES, plain_constants), names.map(Var)
    )
    several = st.lists(measures, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Rank, measures),
        st.builds(Knee, names),
        st.builds(Bounded, some),
        st.builds(Coarse, some),
        st.builds(Split, some, st.just(NAMES)).map(
            lambda s: replace(s, at=tuple(n for n in NAMES if n not in s.decisions))
        ),
        st.builds(Ordered, st.just("a"), st.sampled_from(["b", "c", "d"])),
        st.builds(Menu, names, several),
        st.builds(Drop, several),
        st.builds(Scenarios, st.just(()), some),
    )


@st.composite
def tame(draw: st.DrawFn) -> Template:
    """Costs of sums, products and quotients of positive numbers, of which much can be shown."""
    base = draw(templates(plain_constants))
    assert base.cost is not None
    terms = st.recursive(
        st.one_of(st.sampled_from([Var("a"), Var("c"), Var("d")]), st.integers(1, 9).map(num)),
        lambda inner: st.one_of(
            st.builds(Arith, st.sampled_from(["+", "*"]), inner, inner),
            st.builds(Arith, st.just("/"), inner, st.sampled_from([Var("a"), Var("c")])),
            st.builds(lambda e: Round("ceil", e), inner),
        ),
        max_leaves=6,
    )
    guards = st.one_of(
        st.none(),
        st.builds(Compare, st.sampled_from(["=", "<=", ">"]), names.map(Var), st.just(num(0))),
    )
    bounds = draw(st.lists(st.builds(CostBound, terms, guards), min_size=1, max_size=3))
    first = replace(bounds[0], guard=None)
    cost = Cost("T", "seconds", (), (), (first, *bounds[1:]), base.cost.prefer)
    kept: tuple[Constraint, ...] = base.constraints if draw(st.booleans()) else ()
    return replace(base, cost=cost, constraints=kept)


def same(one: Solution, other: Solution) -> None:
    for field in ("status", "assignment", "objective", "feasible", "ties", "best", "bound", "gap"):
        assert getattr(one, field) == getattr(other, field), field


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("direct", [True, False])
@relaxed
@given(data=st.data())
def test_what_is_left_out_changes_nothing(direct: bool, limit: int, data: st.DataObject) -> None:
    random = data.draw(st.one_of(tame(), tame(), templates()))
    declared = data.draw(st.lists(structures(random), min_size=1, max_size=4))
    random = replace(random, structures=tuple(declared))
    every = data.draw(st.booleans())
    with mock.patch.object(exact, "_DIRECT", exact._DIRECT if direct else 0):
        try:
            plain = solve(random, {}, ties=every, limit=limit, structures=False)
        except InputError:
            with pytest.raises(InputError):
                solve(random, {}, ties=every, limit=limit)
            return
        found = solve(random, {}, ties=every, limit=limit)
    same(found, plain)
    if plain.status == "optimal":
        assert len(found.structures) == len(declared)
        assert found.evaluations is not None
        assert plain.evaluations is not None
        if direct:
            assert found.evaluations <= plain.evaluations


def test_the_menus_of_the_tests_are_those_that_are_drawn() -> None:
    assert tuple(MENUS) == NAMES == ("a", "b", "c", "d")
