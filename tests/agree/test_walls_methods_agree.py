"""Every way to choose a chip against asking all chips, on drawn problems."""

from fractions import Fraction
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies_walls import budgets, finite_inners, libraries

from effort import examples
from formwright.chip.library import Library, Point
from formwright.walls.areas import Areas
from formwright.walls.baselines import (
    fixed_hardware,
    hardware_only,
    random_search,
    sequential,
    software_only,
)
from formwright.walls.bounds import branch_and_bound
from formwright.walls.counting import Counted
from formwright.walls.exact import enumerate_chips
from formwright.walls.finite import FiniteInner
from formwright.walls.finite_tables import FiniteTables
from formwright.walls.front import FrontPoint, pareto_front, undominated
from formwright.walls.joint import joint_program


def all_chips(library: Library) -> list[Point]:
    return list(product(*(range(low, high + 1) for low, high in library.whole)))


def admitted(library: Library, budget: Fraction | None) -> list[Point]:
    """By the library's own words, not by those of the searches."""
    return [
        p
        for p in all_chips(library)
        if not library.broken(p) and (budget is None or library.area(p) <= budget)
    ]


def best_of(inner: FiniteInner, budget: Fraction | None) -> Fraction | None:
    found = [inner.solve(p).objective for p in admitted(inner.library, budget)]
    return min((o for o in found if o is not None), default=None)


@given(finite_inners(), budgets())
@settings(max_examples=examples(30), deadline=None)
def test_branch_and_bound_finds_the_best_chip_and_its_bound_holds(
    inner: FiniteInner, budget: Fraction | None
) -> None:
    expected = best_of(inner, budget)
    outcome = branch_and_bound(Counted(inner), budget)
    assert outcome.objective == expected
    if expected is None:
        assert outcome.bound is None
        return
    assert outcome.bound is not None
    assert outcome.bound <= expected
    assert outcome.gap is not None
    assert outcome.gap <= 1e-9
    assert outcome.point in admitted(inner.library, budget)
    assert inner.solve(outcome.point).objective == expected


@given(finite_inners(), budgets())
@settings(max_examples=examples(20), deadline=None)
def test_enumeration_finds_the_best_chip_of_least_area(
    inner: FiniteInner, budget: Fraction | None
) -> None:
    outcome = enumerate_chips(Counted(inner), budget)
    assert outcome.objective == best_of(inner, budget)
    if outcome.objective is not None:
        assert outcome.solves == len(admitted(inner.library, budget))
        assert outcome.area == min(
            inner.library.area(p)
            for p in admitted(inner.library, budget)
            if inner.solve(p).objective == outcome.objective
        )


@given(finite_inners(), budgets())
@settings(max_examples=examples(20), deadline=None)
def test_one_program_over_both_sides_finds_the_best_chip(
    inner: FiniteInner, budget: Fraction | None
) -> None:
    expected = best_of(inner, budget)
    outcome = joint_program(Counted(inner), FiniteTables(inner), budget)
    assert outcome.objective == expected
    if expected is not None:
        assert outcome.bound is not None
        assert float(outcome.bound) == pytest.approx(float(expected), rel=1e-7)


@given(finite_inners(), budgets(), st.integers(0, 3))
@settings(max_examples=examples(20), deadline=None)
def test_no_method_is_better_than_the_joint_optimum(
    inner: FiniteInner, budget: Fraction | None, seed: int
) -> None:
    library = inner.library
    start = next(iter(admitted(library, budget)), None)
    if start is None:
        return
    best = best_of(inner, budget)
    reference = inner.solve(start)
    outcomes = [
        fixed_hardware(Counted(inner), start, reference),
        software_only(Counted(inner), start),
        hardware_only(Counted(inner), start, reference, budget),
        sequential(Counted(inner), start, budget),
        random_search(Counted(inner), budget, 5, seed),
    ]
    for outcome in outcomes:
        if outcome.objective is None:
            continue
        assert best is not None
        assert outcome.objective >= best
        assert outcome.point in admitted(library, budget)
        falling = [r.objective for r in outcome.trajectory]
        assert falling == sorted(falling, reverse=True)
        assert falling[-1] == outcome.objective


@given(finite_inners(), budgets())
@settings(max_examples=examples(20), deadline=None)
def test_the_best_chip_for_fixed_software_is_the_best_of_all_chips(
    inner: FiniteInner, budget: Fraction | None
) -> None:
    chips = admitted(inner.library, budget)
    software = next((a for a in map(inner.solve, chips) if a.objective is not None), None)
    if software is None:
        return
    costs = [inner.keep(p, software).objective for p in chips]
    outcome = hardware_only(Counted(inner), chips[0], software, budget)
    assert outcome.objective == min(c for c in costs if c is not None)


@given(finite_inners(), budgets())
@settings(max_examples=examples(20), deadline=None)
def test_the_front_is_that_of_all_chips(inner: FiniteInner, budget: Fraction | None) -> None:
    library = inner.library
    front = pareto_front(Counted(inner), budget)
    solved = [(p, inner.solve(p).objective) for p in admitted(library, budget)]
    expected = undominated(FrontPoint(p, o, library.area(p)) for p, o in solved if o is not None)
    assert front.complete_to is None
    assert [(p.objective, p.area) for p in front.points] == [
        (p.objective, p.area) for p in expected
    ]


@given(libraries(), st.data())
@settings(max_examples=examples(30), deadline=None)
def test_areas_of_boxes_are_below_those_of_their_chips(
    library: Library, data: st.DataObject
) -> None:
    areas = Areas(library)
    box = []
    for low, high in library.whole:
        first = data.draw(st.integers(low, high))
        box.append((first, data.draw(st.integers(first, high))))
    inside = [
        p
        for p in all_chips(library)
        if all(lo <= x <= hi for x, (lo, hi) in zip(p, box, strict=True))
    ]
    least = areas.least(tuple(box))
    for point in inside:
        assert areas.of(point) == library.area(point)
        assert areas.legal(point) == (not library.broken(point))
        assert not areas.legal(point) or least <= areas.of(point)
    budget = Fraction(data.draw(st.integers(3, 120)))
    cut = areas.cut(tuple(box), budget)
    for point in inside:
        if areas.admits(point, budget):
            assert cut is not None
            assert all(lo <= x <= hi for x, (lo, hi) in zip(point, cut, strict=True))
    if least == inf:
        assert cut is None
