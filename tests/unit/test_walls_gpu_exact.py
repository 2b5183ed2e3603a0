"""Three ways to the best chip of a part of gpu-layer: every chip, boxes, one program."""

from dataclasses import replace
from fractions import Fraction

import pytest

from formwright.chip.library import Library
from formwright.chip.library_files import load_library
from formwright.lang import parse
from formwright.lang.sources import load_source
from formwright.walls.bounds import branch_and_bound
from formwright.walls.counting import Counted
from formwright.walls.exact import enumerate_chips
from formwright.walls.inner import TemplateInner, build_inner
from formwright.walls.joint import joint_program
from formwright.walls.problem import CodesignProblem, Kernel, ScenarioSpec
from formwright.walls.work_tables import WorkTables

KEPT = {
    "sms": (0, 2, 4, 6),
    "threads": (1, 2, 3),
    "accumulators_per_thread": (1, 2, 4),
    "shared_bytes": (1, 3, 5, 7),
    "l2_bytes": (0, 4),
}
"""Places of the menus of `tiled-gpu` that are kept: 288 of its chips."""


def part(library: Library) -> Library:
    fields = tuple(
        replace(f, menu=tuple(f.menu[i] for i in KEPT.get(f.name, (f.start,))), start=0)
        for f in library.fields
    )
    return replace(library, fields=fields)


@pytest.fixture(scope="module")
def inner() -> TemplateInner:
    """A prompt and one token of a small product each, the worst of both."""
    forms = tuple(parse(load_source(n)) for n in ("tiled_gpu_gemm", "split_reduction_gemm"))
    prompt = Kernel("prompt", forms, {"M": 128, "N": 896, "K": 896})
    token = Kernel("token", forms, {"M": 1, "N": 896, "K": 896})
    scenarios = (ScenarioSpec("prefill", ((prompt, 2),)), ScenarioSpec("decode", ((token, 2),)))
    library = part(load_library("tiled-gpu"))
    top = tuple(len(f.menu) - 1 for f in library.fields)
    return build_inner(CodesignProblem(library, scenarios, "worst", top, None))


@pytest.mark.parametrize("budget", [10, 24, 60])
def test_joint_exact_of_a_part_agrees_with_its_bound(inner: TemplateInner, budget: int) -> None:
    exact = enumerate_chips(Counted(inner), Fraction(budget))
    boxes = branch_and_bound(Counted(inner), Fraction(budget))
    program = joint_program(Counted(inner), WorkTables(inner), Fraction(budget))
    assert exact.objective is not None
    assert boxes.objective == exact.objective
    assert boxes.area == exact.area
    assert boxes.gap is not None
    assert boxes.gap < Fraction(1, 10**8)
    assert boxes.solves < exact.solves / 4
    assert program.objective == exact.objective
    assert program.bound is not None
    assert float(program.bound) == pytest.approx(float(exact.objective), rel=1e-6)
