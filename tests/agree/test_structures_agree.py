"""With what is declared left out, the designs are those of an enumeration without it."""

from dataclasses import replace
from random import Random
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_expr import MENUS, NAMES, numbers, plain_constants, template, templates

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.ir.expr import Arith, Compare, Expr, MinMax, Neg, Round, Var, num
from formwright.ir.rewrite import children, substitute
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
from formwright.lang.parser import parse_expression
from formwright.milp import exact
from formwright.milp.solve import Solution, solve

relaxed = settings(
    max_examples=examples(15),
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


ALIKE = {"a": (1, 2, 3, 8), "b": (-3, 0, 5), "c": (1, 2, 4, 8), "d": (0, 1)}
FACTORS = ("a", "c", "b + 4", "d + 1", "1/a", "1/c", "a + c", "3", "ceil(4/a)", "max(a, 4)")
GUARDS = ("d = 0", "a <= 2", "b > 0", "c = 8")
KEPT = ("a*c <= 128", "a mod 2 = d", "a + b > 0", "c >= a", "a*(d + 1) <= 8", "b*b <= 9*a")
KINDS = ("rank", "knee", "bound", "split", "coarse", "order", "menu", "drop")


def costed(random: Random) -> Template:
    """Costs of which much can be shown: the largest of some sums of products."""
    bounds: list[CostBound] = []
    for number in range(random.choice((1, 1, 2, 3))):
        terms = ["*".join(f"({f})" for f in random.choices(FACTORS, k=2)) for _ in range(3)]
        text = " + ".join(terms[: random.choice((1, 2, 3))])
        guard = (
            parse_expression(random.choice(GUARDS)) if number and random.random() < 0.3 else None
        )
        bounds.append(CostBound(parse_expression(text), guard))
    kept = random.sample(KEPT, random.choice((0, 1, 1, 2)))
    prefer = tuple(parse_expression(t) for t in random.sample(("a*c", "d - a"), 1))
    return template(
        ALIKE,
        {f"C{i}": parse_expression(text) for i, text in enumerate(kept)},
        tuple((b.value, b.guard) for b in bounds),
        prefer if random.random() < 0.5 else (),
    )


def claim(kind: str, random: Random, costs: Template) -> Structure:
    """A claim of one kind, made of what the cost is made of."""
    parts = parts_of(costs)
    assert costs.cost is not None
    values = [b.value for b in costs.cost.bounds]
    group = tuple(random.sample(NAMES, random.choice((1, 2))))
    match kind:
        case "rank":
            return Rank(random.choice((*parts, *values, *values)))
        case "knee":
            return Knee(random.choice("acd"))
        case "bound":
            return Bounded(group)
        case "split":
            return Split(group, tuple(n for n in NAMES if n not in group))
        case "coarse":
            return Coarse(group)
        case "order":
            return Ordered("a", "c")
        case "menu":
            name = random.choice("acd")
            return Menu(
                name, tuple(p for p in parts if Var(name) in children(p) and random.random() < 0.7)
            )
        case _:
            return Drop(random.choice((tuple(values), tuple(map(Var, NAMES)))))


def mirrored(made: Template) -> Template:
    """With the cost of the swapped design added: a and c are alike then."""
    assert made.cost is not None
    swap: dict[str, Expr] = {"a": Var("c"), "c": Var("a")}
    bounds = tuple(
        CostBound(Arith("+", b.value, substitute(b.value, swap))) for b in made.cost.bounds
    )
    return replace(made, cost=replace(made.cost, bounds=bounds))


@pytest.mark.parametrize("kind", KINDS)
def test_each_claim_changes_nothing(kind: str) -> None:
    for number in range(examples(24)):
        random = Random(f"{kind} {number}")
        made = mirrored(costed(random)) if kind == "order" and number % 2 else costed(random)
        others = random.choices(KINDS, k=random.choice((0, 1, 2)))
        claims = tuple(claim(k, random, made) for k in (kind, *others))
        limit, every = random.choice((1, 1, 1, 4, 200)), random.random() < 0.25
        with mock.patch.object(exact, "_DIRECT", random.choice((0, *[exact._DIRECT] * 4))):
            plain = solve(made, {}, ties=every, limit=limit)
            found = solve(replace(made, structures=claims), {}, ties=every, limit=limit)
        same(found, plain)


def test_the_menus_of_the_tests_are_those_that_are_drawn() -> None:
    assert tuple(MENUS) == NAMES == ("a", "b", "c", "d")
