"""The study of one layer on a tiled GPU: its templates, its products, its model's ranking."""

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy.stats import spearmanr

from formwright.chip.library import Library, Point
from formwright.chip.library_files import load_library
from formwright.chip.library_points import point_of
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load_source, parse
from formwright.milp.check import check, objective_of
from formwright.milp.solve import solve
from formwright.simulate.tiled_gpu import TiledGpu
from formwright.walls.bounds import branch_and_bound
from formwright.walls.counting import Counted
from formwright.walls.exact import enumerate_chips
from formwright.walls.inner import build_inner
from formwright.walls.problem import CodesignProblem
from formwright.walls.relax import run
from formwright.walls.state import Options
from formwright.walls.study_reader import load_study

NAMES = ("tiled_gpu_gemm", "split_reduction_gemm")
LIBRARY = load_library("tiled-gpu")
PAPER = {
    "sms": 128,
    "threads": 256,
    "accumulators_per_thread": 128,
    "shared_bytes": 96 * 1024,
    "l2_bytes": 4 << 20,
}
SIZES = ((1, 896, 896), (1, 896, 4864), (128, 256, 896), (128, 896, 896), (512, 896, 896))


def template(name: str) -> Template:
    return inlined(parse(load_source(name)))


def values(one: Template, library: Library, point: Point, size: tuple[int, int, int]) -> dict:
    wanted = {p.name for p in one.scope.chip}
    chip = {n: v for n, v in library.values(point).items() if n in wanted}
    return dict(zip("MNK", size, strict=True)) | chip


def test_the_products_are_those_of_the_models() -> None:
    layers = {"small": (896, 14, 2, 64, 4864), "large": (4096, 32, 8, 128, 12288)}
    found = {}
    for scenario in load_study("gpu-layer").scenarios:
        for kernel, count in scenario.works:
            found[kernel.name] = (*kernel.extents.values(), count)
    wanted = {}
    for model, (hidden, heads, shared, width, inner) in layers.items():
        for name, rows in (("p128", 128), ("p512", 512), ("p2048", 2048), ("decode", 1)):
            wanted[f"{model}-qo-{name}"] = (rows, heads * width, hidden, 2)
            wanted[f"{model}-kv-{name}"] = (rows, 2 * shared * width, hidden, 1)
            wanted[f"{model}-gate-up-{name}"] = (rows, 2 * inner, hidden, 1)
            wanted[f"{model}-down-{name}"] = (rows, hidden, inner, 1)
    assert found == wanted


def test_every_field_of_the_library_with_a_menu_is_a_wall() -> None:
    named = {c.wall for name in NAMES for c in template(name).constraints if c.wall}
    assert named == {f.name for f in LIBRARY.fields if len(f.menu) > 1}
    assert LIBRARY.size >= 10_000


def feasible(seed: int, name: str) -> Iterator[tuple[dict, dict]]:
    """Parameters and designs that they admit, drawn alike."""
    draw, one = random.Random(seed), template(name)
    while True:
        point = tuple(draw.randrange(len(f.menu)) for f in LIBRARY.fields)
        given = values(one, LIBRARY, point, draw.choice(SIZES))
        design = {d.name: draw.choice(d.menu) for d in one.decisions}
        if not LIBRARY.broken(point) and check(one, given, design).ok:
            yield given | LIBRARY.values(point), design


@pytest.mark.parametrize("name", NAMES)
def test_the_model_ranks_designs_as_their_events_do(name: str) -> None:
    one, gpu = template(name), TiledGpu()
    wanted = {p.name for p in one.scope.parameters}
    model, events = [], []
    for (given, design), _ in zip(feasible(3, name), range(40), strict=False):
        known = {n: v for n, v in given.items() if n in wanted}
        model.append(float(objective_of(one, known, design)))
        events.append(float(gpu.evaluate(name, given, design, given).time))
    assert spearmanr(model, events).statistic > 0.98


@pytest.mark.parametrize("name", NAMES)
def test_the_best_design_takes_what_the_model_says(name: str) -> None:
    one = template(name)
    point = point_of(LIBRARY, PAPER | {"sms": 32, "l2_bytes": 1 << 20})
    given = values(one, LIBRARY, point, (128, 896, 896))
    best = solve(one, given)
    assert best.objective is not None
    found = TiledGpu().evaluate(name, given, best.assignment, LIBRARY.values(point))
    assert abs(found.time / best.objective - 1) < Fraction(1, 10)


@pytest.mark.slow
def test_a_product_with_one_row_is_split_and_one_with_many_is_not() -> None:
    one, other = (template(name) for name in NAMES)
    point = point_of(LIBRARY, PAPER)

    def best(which: Template, size: tuple[int, int, int]) -> Fraction:
        found = solve(which, values(which, LIBRARY, point, size)).objective
        assert found is not None
        return found

    assert best(other, (1, 896, 896)) < best(one, (1, 896, 896)) / 2
    assert best(one, (2048, 896, 896)) < best(other, (2048, 896, 896))


def small_problem() -> tuple[CodesignProblem, Point]:
    """Two scenarios of the study over every third value of the menus, and where to start."""
    study = load_study("gpu-layer")
    thinned = []
    for f in LIBRARY.fields:
        menu = f.menu if len(f.menu) == 1 else f.menu[1 : 1 + 3 * 4 : 3]
        thinned.append(replace(f, menu=menu, start=0))
    library = replace(LIBRARY, fields=tuple(thinned))
    wanted = ("qwen2_5-0_5b-p128", "qwen2_5-0_5b-decode")
    scenarios = tuple(s for s in study.scenarios if s.name in wanted)
    start = library.start
    return CodesignProblem(library, scenarios, "worst", start, None), start


@pytest.mark.slow
def test_on_a_sub_domain_the_bound_is_the_best_of_all_chips_and_relaxation_finds_it() -> None:
    problem, start = small_problem()
    inner = build_inner(problem)
    for budget in (Fraction(20), Fraction(40)):
        every = enumerate_chips(Counted(inner), budget)
        closed = branch_and_bound(Counted(inner), budget)
        assert every.objective == closed.objective
        assert closed.gap is not None
        assert closed.gap < 1e-6
        state = run(Counted(inner), Options("sets", budget=budget), start)
        assert every.objective is not None
        assert state.objective is not None
        assert every.objective <= state.objective <= every.objective * Fraction(101, 100)
        assert state.spent.solves < every.solves / 2
