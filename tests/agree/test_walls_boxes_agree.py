"""Bounds of parts of a box, over the designs that matter there, and what rests on them."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.chip.library import Box, Point
from formwright.chip.library_files import load_library
from formwright.lang import parse
from formwright.lang.sources import load_source
from formwright.walls.baselines import sequential
from formwright.walls.bounds import branch_and_bound
from formwright.walls.counting import Counted
from formwright.walls.exact import enumerate_chips
from formwright.walls.floors import menus_of
from formwright.walls.front import FrontPoint, pareto_front, undominated
from formwright.walls.inner import Store, TemplateInner, build_inner
from formwright.walls.joint import joint_program
from formwright.walls.narrow import narrowed
from formwright.walls.problem import CodesignProblem, Kernel, Objective, ScenarioSpec
from formwright.walls.work_tables import WorkTables


def chips_of(box: Box) -> list[Point]:
    return list(product(*(range(lo, hi + 1) for lo, hi in box)))


KIB = 1024
STORE = Store()
"""Tables are built once for all objectives."""


@cache
def gemmini(objective: Objective = "energy-delay") -> TemplateInner:
    """Two small products on a hundred chips, one of them in both scenarios."""
    library = load_library("gemmini")
    menus: dict[str, tuple[int, ...]] = {
        "array": (1, 2, 3, 4, 8),
        "scratchpad": tuple(KIB * n for n in (1, 2, 3, 8, 64)),
        "accumulator": tuple(KIB * n for n in (1, 2, 5, 32)),
    }
    fields = tuple(replace(f, menu=menus.get(f.name, f.menu), start=0) for f in library.fields)
    names = ("gemmini_hold_weights", "gemmini_hold_inputs", "gemmini_hold_outputs")
    forms = tuple(parse(load_source(n)) for n in names)
    one = Kernel("one", forms, {"M": 32, "N": 24, "K": 64})
    two = Kernel("two", forms, {"M": 32, "N": 128, "K": 40})
    scenarios = (
        ScenarioSpec("both", ((one, 2), (two, 1))),
        ScenarioSpec("alone", ((two, 1),), Fraction(3, 2)),
    )
    small = replace(library, fields=fields)
    problem = CodesignProblem(small, scenarios, objective, (0, 0, 0), None)
    return build_inner(problem, STORE)


@cache
def best(objective: Objective) -> float:
    found = enumerate_chips(Counted(gemmini(objective))).objective
    assert found is not None
    return float(found)


ENDS = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3))


def ordered(one: Point, other: Point) -> Box:
    return tuple((min(a, b), max(a, b)) for a, b in zip(one, other, strict=True))


@given(
    st.sampled_from(("energy-delay", "worst", "weighted")),
    ENDS,
    ENDS,
    ENDS,
    st.sampled_from((0.5, 1.0, 1.3, 4.0)),
)
@settings(max_examples=examples(15), deadline=None)
@pytest.mark.slow
def test_bounds_hold_in_boxes_and_over_what_matters_in_their_parts(
    objective: Objective, one: Point, other: Point, third: Point, scale: float
) -> None:
    inner = gemmini(objective)
    box = ordered(one, other)
    cutoff = best(objective) * scale
    times = {name: float(time) for name, time in inner.reference.items()}
    fields = zip(inner.library.fields, box, strict=True)
    span = {f"chip.{f.name}": (f.menu[lo], f.menu[hi]) for f, (lo, hi) in fields}
    menus = menus_of(inner.library)
    works = narrowed(inner.works, inner.problem, times, span, menus, cutoff)
    left = TemplateInner(inner.problem, works, STORE)
    left.measured_by(inner.reference)
    part = tuple((lo, max(lo, min(hi, t))) for (lo, hi), t in zip(box, third, strict=True))
    whole, some = inner.lower(part), left.lower(part)
    for point in chips_of(part):
        found = inner.solve(point).objective
        if found is None:
            continue
        assert whole <= found
        assert found >= cutoff or some <= found


def test_narrowing_leaves_out_most_designs() -> None:
    inner = gemmini()
    left = inner.narrowed(((4, 4), (0, 4), (0, 3)), best("energy-delay") * 1.001)
    before = sum(t.count for w in inner.works.values() for t in w.tables)
    after = sum(t.count for w in left.works.values() for t in w.tables)
    assert 0 < after < before / 10


@pytest.mark.parametrize("budget", [None, Fraction(1, 10), Fraction(6, 100)])
def test_branch_and_bound_and_enumeration_agree_on_templates(budget: Fraction | None) -> None:
    exact = enumerate_chips(Counted(gemmini()), budget)
    found = branch_and_bound(Counted(gemmini()), budget)
    assert exact.objective is not None
    assert found.objective == exact.objective
    assert found.bound is not None
    assert found.bound <= exact.objective
    assert found.solves < exact.solves
    after = sequential(Counted(gemmini()), (0, 0, 0), budget)
    assert after.objective is not None
    assert after.objective >= exact.objective


def test_the_front_of_templates_is_that_of_all_chips() -> None:
    inner = gemmini()
    front = pareto_front(Counted(inner))
    solved = [(p, inner.solve(p).objective) for p in chips_of(inner.library.whole)]
    every = [FrontPoint(p, o, inner.library.area(p)) for p, o in solved if o is not None]
    assert [(p.objective, p.area) for p in front.points] == [
        (p.objective, p.area) for p in undominated(every)
    ]
    later = pareto_front(Counted(inner), smallest=front.points[2].area)
    assert later.points == front.points[2:]


@pytest.mark.parametrize("objective", ["worst", "weighted"])
@pytest.mark.parametrize("budget", [None, Fraction(1, 10), Fraction(6, 100)])
def test_one_program_over_both_sides_agrees_on_templates(
    objective: Objective, budget: Fraction | None
) -> None:
    inner = gemmini(objective)
    expected = branch_and_bound(Counted(inner), budget)
    found = joint_program(Counted(inner), WorkTables(inner), budget)
    assert expected.objective is not None
    assert found.objective == expected.objective
    assert found.bound is not None
    assert float(found.bound) == pytest.approx(float(expected.objective), rel=1e-7)


def test_a_product_of_energy_and_time_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="not linear"):
        WorkTables(gemmini("energy-delay"))
