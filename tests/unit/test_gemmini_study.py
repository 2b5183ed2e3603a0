"""The study ``gemmini-bert`` by the real engine: the source's rows, the best chip, the front."""

import time
from fractions import Fraction
from functools import cache

import pytest
from gemmini_oracle import best

from formwright.walls.bounds import Until, branch_and_bound
from formwright.walls.counting import Counted
from formwright.walls.front import pareto_front
from formwright.walls.inner import TemplateInner, build_inner
from formwright.walls.study import Study
from formwright.walls.study_reader import load_study

PUBLISHED = {"dosa": "14.088", "paper": "10.043", "default": "0.708"}
"""Areas by Timeloop and Accelergy, in mm2."""


@cache
def study() -> Study:
    return load_study("gemmini-bert")


@cache
def inner() -> TemplateInner:
    return build_inner(study().problem(None))


def kib(name: str) -> tuple[int, int, int]:
    """Array, scratchpad and accumulator of a chip of the study."""
    chip = next(c for c in study().chips if c.name == name)
    shown = study().library.shown(chip.point)
    return int(shown["array"]), int(shown["scratchpad"]) // 1024, int(shown["accumulator"]) // 1024


def test_the_area_of_published_chips_is_within_the_error_of_the_fit() -> None:
    library = study().library
    assert any("18 % at most" in term.error for term in library.area_terms)
    for chip in study().chips:
        published = Fraction(PUBLISHED[chip.name])
        assert abs(library.area(chip.point) / published - 1) <= Fraction(18, 100)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "energy", "latency", "product"),
    [
        ("dosa", 1983.05, 917504, 1.8195e9),
        ("paper", 1655.19, 917504, 1.5186e9),
        ("default", 2014.60, 2966528, 5.976e9),
    ],
)
def test_rows_of_the_source_come_out(
    name: str, energy: float, latency: float, product: float
) -> None:
    chip = next(c for c in study().chips if c.name == name)
    answer = inner().solve(chip.point)
    (bert,) = answer.scenarios
    assert float(answer.objective or 0) == pytest.approx(product, rel=1e-4)
    assert float(bert.energy or 0) == pytest.approx(energy, rel=1e-4)
    assert float(bert.time) == pytest.approx(latency, rel=1e-4)
    assert float(answer.objective or 0) == pytest.approx(best(*kib(name))[2], rel=1e-12)


@pytest.mark.slow
def test_the_best_of_all_134_million_chips_is_known_in_two_minutes() -> None:
    began = time.process_time()
    found = branch_and_bound(Counted(inner()), until=Until(gap=1e-9))
    assert time.process_time() - began < 120
    library = study().library
    assert library.size == 128 * 1024 * 1024
    shown = {"array": 128, "scratchpad": 132 * 1024, "accumulator": 384 * 1024}
    assert found.point is not None
    assert library.shown(found.point) == shown
    assert found.objective is not None
    assert found.objective <= Fraction("1.506832e9")
    assert found.bound is not None
    assert found.bound >= found.objective * (1 - Fraction(1, 10**9))
    for name in ("dosa", "paper"):
        chip = next(c for c in study().chips if c.name == name)
        assert library.area(found.point) < library.area(chip.point)
        other = inner().solve(chip.point).objective
        assert other is not None
        assert found.objective < other


@pytest.mark.slow
def test_chips_that_were_published_are_dominated_on_the_front() -> None:
    """From half a square millimetre on, within 1 %: the fronts of smaller chips take longest."""
    front = pareto_front(Counted(inner()), until=Until(gap=0.01), smallest=Fraction(1, 2))
    assert front.complete_to is None
    areas, objectives = ([getattr(p, n) for p in front.points] for n in ("area", "objective"))
    assert areas == sorted(set(areas))
    assert objectives == sorted(set(objectives), reverse=True)
    library = study().library
    for chip in study().chips:
        objective = inner().solve(chip.point).objective
        assert objective is not None
        beating = front.beating(objective, library.area(chip.point))
        assert beating is not None
        assert beating.area < library.area(chip.point)
        assert beating.objective < objective
