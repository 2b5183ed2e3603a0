"""Enumeration, elimination and MILP against ``evaluate`` on random templates."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies_expr import (
    MENUS,
    NAMES,
    conditions,
    numbers,
    plain_constants,
    template,
    templates,
)

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.ir.evaluate import EvaluationError, number, truth
from formwright.ir.expr import TRUE, Arith, Compare, Expr, Var, num
from formwright.ir.expr import Truth as Verdict
from formwright.ir.template import Template
from formwright.milp import exact, program
from formwright.milp import solve as solving
from formwright.milp.check import check, objective_of
from formwright.milp.conflict import smallest_conflict
from formwright.milp.problem import build, objective_expression
from formwright.milp.solve import solve

FALSE = Verdict(False)
POINTS = [dict(zip(MENUS, p, strict=True)) for p in product(*MENUS.values())]

relaxed = settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


@dataclass(frozen=True)
class Truth:
    """Brute force: the feasible designs in the order of the rule, and who errs."""

    ordered: list[tuple[dict[str, int], Fraction]]
    errs: bool


def brute(template: Template) -> Truth:
    assert template.cost is not None
    cost = objective_expression(template.cost.bounds)
    found = []
    errs = False
    for point in POINTS:
        try:
            # An earlier constraint that fails guards the later ones.
            if not all(truth(c.condition, point) for c in template.constraints):
                continue
        except EvaluationError:
            errs = True
            continue
        try:
            value = Fraction(number(cost, point))
            keys = tuple(number(p, point) for p in template.cost.prefer)
        except EvaluationError:
            errs = True
            continue
        found.append((value, keys, tuple(point.values()), point))
    found.sort(key=lambda f: f[:3])
    return Truth([(f[3], f[0]) for f in found], errs)


@relaxed
@given(templates())
def test_enumeration_is_brute_force(random: Template) -> None:
    expected = brute(random)
    try:
        solution = solve(random, {}, ties=True, limit=3)
    except InputError:
        assert expected.errs
        return
    assert not expected.errs
    if not expected.ordered:
        assert solution.status == "infeasible"
        assert solution.conflict
        return
    best = expected.ordered[0][1]
    assert solution.objective == best
    assert solution.feasible == len(expected.ordered)
    assert solution.assignment == expected.ordered[0][0]
    assert list(solution.ties) == [a for a, v in expected.ordered if v == best]
    assert list(solution.best) == expected.ordered[:3]
    assert (solution.bound_kind, solution.gap) == ("exact", 0.0)


@relaxed
@given(templates())
def test_elimination_is_brute_force(random: Template) -> None:
    expected = brute(random)
    assume(not expected.errs)
    with mock.patch.object(exact, "_DIRECT", 0):
        solution = solve(random, {}, ties=True, limit=2)
    if not expected.ordered:
        assert solution.status == "infeasible"
        return
    assert solution.feasible == len(expected.ordered)
    assert list(solution.best) == expected.ordered[:2]
    best = expected.ordered[0][1]
    assert list(solution.ties) == [a for a, v in expected.ordered if v == best]


@relaxed
@given(templates())
def test_elimination_brings_back_as_many_as_are_wanted(random: Template) -> None:
    """More than the points that are left when decisions are settled."""
    expected = brute(random)
    assume(not expected.errs)
    with mock.patch.object(exact, "_DIRECT", 0):
        solution = solve(random, {}, limit=40)
    assert list(solution.best) == expected.ordered[:40]


@relaxed
@given(templates(plain_constants))
def test_milp_is_brute_force(random: Template) -> None:
    expected = brute(random)
    assume(not expected.errs)
    solution = solve(random, {}, "milp")
    if solution.status == "unresolved":
        # A table may hold combinations that no design reaches, where a divisor is 0.
        assert "no value" in solution.note
        return
    if not expected.ordered:
        assert solution.status == "infeasible"
        return
    best = expected.ordered[0][1]
    assert solution.objective == pytest.approx(best, rel=1e-8, abs=1e-8)
    if solution.objective == best:
        assert solution.assignment == expected.ordered[0][0]
    assert solution.bound_kind == "solver bound"
    assert solution.bound == pytest.approx(float(best), rel=1e-6, abs=1e-6)
    assert check(random, {}, solution.assignment).ok
    assert objective_of(random, {}, solution.assignment) == solution.objective


magnitudes = st.builds(
    lambda digits, power: Fraction(digits) * Fraction(10) ** power,
    st.integers(-9, 9),
    st.integers(-9, 12),
)


@st.composite
def stretched(draw: st.DrawFn) -> Template:
    """Costs whose bounds differ by many powers of ten; some guards never hold."""
    bounds: list[tuple[Expr, Expr | None]] = []
    for _ in range(draw(st.integers(1, 4))):
        value = Arith("*", num(draw(magnitudes)), draw(numbers(1, NAMES, plain_constants)))
        if draw(st.booleans()):
            other = Arith("*", num(draw(magnitudes)), draw(numbers(1, NAMES, plain_constants)))
            value = Arith("+", value, other)
        guard = st.one_of(st.none(), st.just(FALSE), conditions(1, NAMES, plain_constants))
        bounds.append((value, draw(guard) if bounds else None))
    named = {"C": draw(conditions(1, NAMES, plain_constants))} if draw(st.booleans()) else {}
    return template(MENUS, named, tuple(bounds))


@pytest.mark.parametrize("drawn", [False, True])
@settings(relaxed, max_examples=examples(50))
@given(random=stretched())
def test_milp_alone_is_never_wrong_about_costs_of_any_size(drawn: bool, random: Template) -> None:
    """Without the enumeration that confirms it, and with or without a design to begin with."""
    expected = brute(random)
    assume(not expected.errs)
    sampled = program._sampled if drawn else lambda *_: None
    with mock.patch.object(solving, "_COUNTED", 0), mock.patch.object(program, "_sampled", sampled):
        solution = solve(random, {}, "milp")
    if not expected.ordered:
        assert solution.status in ("infeasible", "unresolved")
        return
    best = expected.ordered[0][1]
    if solution.status == "optimal":
        assert solution.objective is not None
        assert solution.objective - best <= abs(best) * Fraction(1, 10**7)
        if solution.objective == best:
            assert solution.assignment == expected.ordered[0][0]
    else:
        assert solution.status == "unresolved"
        assert solution.note
        assert solution.bound is None or solution.bound <= best
    confirmed = solve(random, {}, "milp")
    if confirmed.status == "optimal":
        assert (confirmed.objective, confirmed.assignment) == (best, expected.ordered[0][0])
    else:
        assert "no value" in confirmed.note


borders = st.builds(
    Compare,
    st.sampled_from(["<", ">=", "="]),
    st.one_of(
        st.sampled_from(list(MENUS)).map(Var),
        st.builds(Arith, st.just("+"), st.just(Var("a")), st.just(Var("b"))),
    ),
    st.sampled_from([-3, 0, 1, 2, 5, 8, 1000]).map(num),
)
"""Comparisons of names with constants, of which a few are soon in conflict."""


@relaxed
@given(st.lists(borders, min_size=4, max_size=9))
def test_conflicts_are_smallest(conditions: list[Expr]) -> None:
    named = {f"C{i}": c for i, c in enumerate(conditions)}
    solution = solve(template(MENUS, named, ((num(1), None),)), {})
    rows = {
        name: {i for i, p in enumerate(POINTS) if truth(condition, p)}
        for name, condition in named.items()
    }
    everything = set(range(len(POINTS)))

    def holds_together(names: tuple[str, ...]) -> bool:
        return bool(everything.intersection(*(rows[n] for n in names)))

    assert (solution.status == "optimal") == holds_together(tuple(rows))
    if solution.status == "infeasible":
        assert not holds_together(solution.conflict)
        for size in range(len(solution.conflict)):
            assert all(holds_together(names) for names in combinations(rows, size))


def test_conflict_of_a_feasible_problem_is_refused() -> None:
    problem = build(template(MENUS, {"C": TRUE}, ((num(1), None),)), {})
    with pytest.raises(AssertionError, match="has a design"):
        smallest_conflict(problem, lambda _: dict.fromkeys(MENUS, 1))
