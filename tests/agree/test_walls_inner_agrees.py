"""The inner problem over templates against the solver, design by design and chip by chip."""

from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies_formulations import EXTENTS, LIBRARY, boxes, points, templates

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.chip.library import Box, Library, Point
from formwright.ir.evaluate import evaluate
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.milp.check import check
from formwright.milp.solve import Solution, solve
from formwright.walls.core import Answer
from formwright.walls.inner import TemplateInner, build_inner
from formwright.walls.problem import CodesignProblem, Kernel, Objective, ScenarioSpec

EXAMPLES = settings(max_examples=examples(30), deadline=None)


def problem_of(kernels: list[Kernel], objective: Objective = "weighted") -> CodesignProblem:
    works = tuple((k, i + 1) for i, k in enumerate(kernels))
    return CodesignProblem(LIBRARY, (ScenarioSpec("only", works),), objective, (0, 0, 0, 0), None)


def built(template: Template, objective: Objective = "weighted") -> TemplateInner:
    inner = build_inner(problem_of([Kernel("k", (template,), EXTENTS)], objective))
    # A drawn reference chip may have no program, and a drawn time may be none: ratios to 1.
    inner.measured_by({"only": Fraction(1)})
    return inner


def solved(template: Template, point: Point, without: frozenset[str]) -> Solution | None:
    """By the solver; ``None`` where the scope excludes the chip."""
    try:
        return solve(template, {**EXTENTS, **LIBRARY.values(point)}, without=without)
    except InputError as error:
        if "outside the scope" in str(error):
            return None
        raise


def every_point(box: Box) -> list[Point]:
    return list(product(*(range(lo, hi + 1) for lo, hi in box)))


def dropped(template: Template, removed: frozenset[str], library: Library) -> frozenset[str]:
    return frozenset(
        c.name
        for c in template.constraints
        if c.wall is not None and removed & set(library.reads(c.wall)) - {"s"}
    )


@given(templates(), st.lists(points, min_size=1, max_size=4), st.sets(st.sampled_from("pqr")))
@EXAMPLES
def test_the_best_design_is_the_solver_s_ties_included(
    template: Template, chips: list[Point], gone: set[str]
) -> None:
    inner = _or_nothing(template)
    for point, removed in product(chips, (frozenset[str](), frozenset(gone))):
        expected = solved(template, point, dropped(template, removed, LIBRARY))
        answer = inner.solve(point, removed)
        if expected is None or expected.objective is None:
            assert answer.objective is None
            assert "no program" in answer.reason
            continue
        (chosen,) = answer.scenarios[0].chosen
        assert chosen.time == expected.objective
        assert dict(chosen.assignment) == expected.assignment
        assert answer.objective == expected.objective


@given(templates(), boxes())
@EXAMPLES
def test_no_chip_of_a_box_is_below_its_bound(template: Template, box: Box) -> None:
    inner = _or_nothing(template)
    found = [inner.solve(p).objective for p in every_point(box)]
    best = min((o for o in found if o is not None), default=None)
    bound = inner.lower(box)
    if best is None:
        return
    assert Fraction(bound) <= best
    for point in every_point(box)[:3]:
        alone = tuple((i, i) for i in point)
        if not clear_walls(inner, alone):
            continue
        objective, least = inner.solve(point).objective, inner.lower(alone)
        if objective is None:
            assert least == inf
        else:
            assert abs(Fraction(least) - objective) <= abs(objective) / 10**9 + Fraction(1, 10**9)


def clear_walls(inner: TemplateInner, chip: Box) -> bool:
    """Whether floats tell of every row of one chip if its walls admit it, and what it costs: a
    rounding at a step of ``floor`` leaves a bound that holds and is a step too low."""
    menus = [(f.name, f.menu[i]) for f, (i, _) in zip(LIBRARY.fields, chip, strict=True)]
    span = {f"chip.{name}": (value, value) for name, value in menus}
    priced = [t.priced(span, frozenset()) for t in inner.works["k"].tables]
    return all(
        p is None
        or (np.array_equal(p.open, p.sure) and np.allclose(p.time.lo, p.time.hi, rtol=1e-10))
        for p in priced
    )


@given(templates(), points, points)
@EXAMPLES
def test_designs_that_are_kept_cost_what_the_formulas_say(
    template: Template, here: Point, there: Point
) -> None:
    inner = _or_nothing(template)
    software = inner.solve(here)
    assume(software.objective is not None)
    assert inner.keep(here, software) == software
    assert inner.only(software).solve(here) == software
    (chosen,) = software.scenarios[0].chosen
    values = {**EXTENTS, **LIBRARY.values(there)}
    kept = inner.keep(there, software)
    if not check(template, values, chosen.assignment).ok:
        assert kept.objective is None
    else:
        cost = inlined(template).cost
        assert cost is not None
        assert cost.energy is not None
        named = {c.name: c.default for c in cost.coefficients}
        energy = evaluate(cost.energy, {**values, **named, **chosen.assignment})
        assert kept.scenarios[0].energy == energy
    assert inner.only(software).solve(there).objective == kept.objective


@given(templates("one"), templates("two"), points)
@settings(max_examples=examples(30), deadline=None)
def test_energy_times_delay_is_least_over_all_combinations(
    one: Template, two: Template, point: Point
) -> None:
    kernels = [Kernel("a", (one,), EXTENTS), Kernel("b", (two,), EXTENTS)]
    costs = [_designs(t, point) for t in (one, two)]
    # The product of sums has its least value at a vertex where no number is negative.
    assume(all(t >= 0 and e >= 0 for c in costs for t, e in c))
    try:
        inner = build_inner(problem_of(kernels, "energy-delay"))
    except InputError:
        assume(False)
    inner.measured_by({"only": Fraction(1)})
    answer: Answer = inner.solve(point)
    sums = [(t + 2 * u) * (e + 2 * f) for (t, e), (u, f) in product(*costs)]
    assert answer.objective == min(sums, default=None)
    if answer.objective is not None:
        assert Fraction(inner.lower(tuple((i, i) for i in point))) <= answer.objective


def _designs(template: Template, point: Point) -> list[tuple[Fraction, Fraction]]:
    """Time and energy of every design that the chip admits, by the text's own words."""
    values = {**EXTENTS, **LIBRARY.values(point)}
    closed = inlined(template).cost
    assert closed is not None
    assert closed.energy is not None
    named = {c.name: c.default for c in closed.coefficients}
    found = []
    for choice in product(*(d.menu for d in template.decisions)):
        design = dict(zip((d.name for d in template.decisions), choice, strict=True))
        if not check(template, values, design).ok:
            continue
        here = {**values, **named, **design}
        times = [
            Fraction(evaluate(b.value, here))
            for b in closed.bounds
            if b.guard is None or evaluate(b.guard, here)
        ]
        found.append((max(times), Fraction(evaluate(closed.energy, here))))
    return found


def _or_nothing(template: Template) -> TemplateInner:
    """The inner problem; a template without a design on any chip is refused, and passed over."""
    try:
        return built(template)
    except InputError as error:
        if "no template takes" not in str(error):
            raise
    assume(False)
    raise AssertionError("not reached")
