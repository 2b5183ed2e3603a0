"""Every template that ships declares structures that lessen the work and change no answer."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from effort import examples, thinned
from formwright.ir.evaluate import truth
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.structures import TITLES, title_of
from formwright.ir.template import Parameter, Template
from formwright.lang import load
from formwright.lang.sources import shipped
from formwright.milp.solve import Solution, solve

NAMES = sorted(shipped())

CPU: dict[str, tuple[Scalar, ...]] = {
    "cores": (1, 2, 4, 8),
    "vector_lanes": (4, 8, 16),
    "vector_registers": (16, 32),
    "accumulators": (128, 256),
    "l1_bytes": (32768, 49152),
    "l2_bytes": (262144, 1 << 20, 1 << 21),
    "l3_bytes": (8 << 20, 32 << 20),
    "tlb_entries": (512, 1536),
    "clock": (2 * 10**9, 3 * 10**9),
    "core_flops": (64 * 10**9, 96 * 10**9),
    "core_matrix_flops": (600 * 10**9, 2700 * 10**9),
    "dram_bandwidth": (20 * 10**9, 90 * 10**9),
    "core_dram_bandwidth": (12 * 10**9,),
    "l3_bandwidth": (30 * 10**9,),
    "l2_bandwidth": (90 * 10**9,),
    "l1_bandwidth": (180 * 10**9,),
}
TILES: dict[str, tuple[Scalar, ...]] = {
    "sms": (8, 16, 128),
    "threads": (128, 256),
    "shared_bytes": (65536, 98304),
    "l2_bytes": (1 << 20, 4 << 20),
    "accumulators": (16384, 32768),
    "accumulators_per_thread": (64, 128),
    "flops": (20 * 10**12, 80 * 10**12),
    "sm_flops": (256 * 10**9,),
    "sm_bandwidth": (64 * 10**9,),
    "shared_bandwidth": (256 * 10**9,),
    "dram_bandwidth": (400 * 10**9, 1800 * 10**9),
    "clock": (10**9, 1800 * 10**6),
    "barrier_cycles": (20, 40),
    "fma_cycles": (4,),
    "latency_cycles": (400, 800),
}
ARRAYS: dict[str, tuple[Scalar, ...]] = {
    "array": (8, 16, 32),
    "scratchpad": (65536, 262144),
    "accumulator": (16384, 65536),
    "column_words": (16,),
    "scratchpad_words": (32, 64),
    "dram_words": (8, 16),
}
EXTENTS = {
    "B": (1, 4, 8),
    "D": (64, 128, 896),
    "F": (1024, 4864),
    "G": (1, 4, 7),
    "H": (64, 128),
    "K": (64, 896, 1000),
    "M": (8, 16, 384),
    "N": (14, 32, 896),
    "R": (1, 64),
    "S": (512, 1000, 4096),
    "T": (1, 16, 256),
    "C": (128, 1024),
}


def drawn(template: Template, random: Random) -> dict[str, Scalar]:
    """A value for every name of the scope."""
    chip = TILES if "flops" in _fields(template) or "sm_flops" in _fields(template) else CPU
    chip = ARRAYS if "array" in _fields(template) else chip
    values: dict[str, Scalar] = {}
    for parameter in template.scope.extents:
        values[parameter.name] = random.choice(EXTENTS[parameter.name])
    for parameter in template.scope.chip:
        field = parameter.name.removeprefix("chip.")
        some = chip.get(field, (Fraction(3, 10**12),))
        fitting = [v for v in some if parameter.condition is None or _holds(parameter, v)]
        values[parameter.name] = random.choice(fitting)
    values |= {p.name: random.choice((2, 4)) for p in template.scope.sizes}
    return values | {p.name: 4 for p in template.scope.agents}


def _holds(parameter: Parameter, value: Scalar) -> bool:
    assert parameter.condition is not None
    return truth(parameter.condition, {parameter.name: value})


def _fields(template: Template) -> set[str]:
    return {p.name.removeprefix("chip.") for p in template.scope.chip}


def both(template: Template, values: Mapping[str, Scalar]) -> tuple[Solution, Solution]:
    """With what is declared and without: the same answer."""
    found = solve(template, values)
    plain = solve(template, values, structures=False)
    for field in ("status", "assignment", "objective", "feasible", "best", "bound_kind"):
        assert getattr(found, field) == getattr(plain, field), field
    assert found.evaluations is not None
    assert plain.evaluations is not None
    assert found.evaluations <= plain.evaluations
    return found, plain


@pytest.mark.parametrize("name", thinned(NAMES))
def test_a_template_that_ships_is_solved_with_less_and_the_same_answer(name: str) -> None:
    template = load(name)[1]
    assert template.structures
    random = Random(name)
    less: list[bool] = []
    for _ in range(1 if examples(30) < 30 else 8):
        found, plain = both(template, drawn(template, random))
        assert not found.reopened
        assert any(u.verdict == "held" for u in found.structures) or found.status == "infeasible"
        less.append((found.evaluations or 0) < (plain.evaluations or 0))
    assert any(less)


@pytest.mark.parametrize("name", ["decode_attention_heads", "gemm_bias_panels_ahead", "rope_heads"])
def test_the_pool_of_a_run_is_the_same(name: str) -> None:
    """As a run asks: many designs, more of them than some templates have."""
    template = load(name)[1]
    values = drawn(template, Random(name))
    found = solve(template, values, limit=256, ties=True)
    plain = solve(template, values, limit=256, ties=True, structures=False)
    assert (found.best, found.ties) == (plain.best, plain.ties)
    assert len(found.best) == min(256, plain.feasible or 0)


def test_what_ships_declares_all_nine_structures() -> None:
    found = {title_of(s) for n in NAMES for s in load(n)[1].structures}
    assert found == set(TITLES.values())


def test_definitions_stand_in_their_places_once_inlined() -> None:
    template = inlined(load("packed_gemm_ahead")[1])
    assert "kb" not in repr(template.structures)


def test_every_file_that_ships_is_looked_at() -> None:
    folder = Path(__file__).parents[2] / "src/formwright/templates"
    assert sorted(p.stem for p in folder.glob("*.fw")) == NAMES
