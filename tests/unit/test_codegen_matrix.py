"""Products of bf16 by tiles or pairs: which applies they are, what is copied into panels, and that
no denormal, no NaN of a cell that is left out and no rounding is lost on the way."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from codegen_library import SMALL
from operator_library import Guarded, Operator, survives
from test_operator_templates import call

from formwright.base.source import Source
from formwright.codegen import build, detect_target, emit_c, target_named
from formwright.codegen.target import AMX, AVX512, BF16, Target
from formwright.codegen.words import of_floats
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.matching import matches, typed_for
from formwright.contract.operators import operator
from formwright.ir.template import Template
from formwright.lang import load, parse

UNITS = [
    pytest.param(
        target.name,
        marks=pytest.mark.skipif(
            not set(target.units) <= set(detect_target().units), reason="this CPU has none"
        ),
    )
    for target in (AMX, BF16)
]

DESIGN = {"Mr": 32, "Jb": 2, "Tb": 2, "Kb": 16}
NARROW = {"A": "bf16", "B": "bf16", "C": "bf16"}
GUARD = "x > 0 && y > 0 && x + y - 2 * 127 - 14 >= -126"

TEXT = """template t : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[N,k]
  extents   M >= 1, N >= 1, K >= 1
  dtypes    A bf16, B bf16

decisions
  R in {16, 32, 48}   W in {16, 32, 48}

program
  alloc Bp[ceil(N/W), ceil(K/32), 16, W, 2], Ap[ceil(M/R), ceil(K/32), R, 32] scratch bf16
  par grid (j, kb) in ceil(N/W), ceil(K/32):
    Bp[j,kb,q,s,e] = B[j*W+s, kb*32+2*q+e] clip
  par grid (i, kb) in ceil(M/R), ceil(K/32):
    Ap[i,kb,r,c] = A[i*R+r, kb*32+c] clip
  par grid (i, j) in ceil(M/R), ceil(N/W):
    alloc acc[R,W] scratch
    acc[r,s] = 0
    PRODUCT
    C[i*R+r, j*W+s] = acc[r,s] clip
"""
PRODUCT = (
    "acc[r,s] += Ap[i,kb,r,2*q+e] * Bp[j,kb,q,s,e] "
    "over (r < R, s < W, kb < ceil(K/32), q < 16, e < 2)"
)


def text(product: str = PRODUCT) -> Template:
    return parse(Source("t.fw", TEXT.replace("PRODUCT", product)))


@pytest.mark.parametrize(
    ("target", "asked"),
    [(AMX, "&& fw_has_bf16() && fw_has_tiles();"), (BF16, "&& fw_has_bf16();")],
)
def test_the_units_are_asked_for_by_programs_that_use_them(target: Target, asked: str) -> None:
    emitted = emit_c(text(), {"R": 32, "W": 32}, target)
    assert emitted.kernel.count("fw_multiply(") == 1
    assert emitted.kernel.count("fw_units_begin();") == 1
    assert set(target.units) < set(emitted.target.features)
    assert len(emitted.target.flags) == len(target.flags) + len(target.units)
    assert asked in emitted.source
    others = [emit_c(load("packed_gemm")[1], SMALL, each) for each in (target, AVX512)]
    assert others[0] == others[1]


OTHERS = {
    "a product of rows": PRODUCT.replace("2*q+e] *", "q+16*e] *"),
    "pairs the other way": PRODUCT.replace("q,s,e]", "q,s,1-e]"),
    "half of a block": PRODUCT.replace("q < 16", "q < 8"),
    "ragged rows": PRODUCT.replace("r < R", "r < min(R, M - i*R)"),
    "another sum": PRODUCT.replace(" * Bp", " + Bp"),
    "a factor more": PRODUCT.replace(" over", " * 2 over"),
    "from some cell on": PRODUCT.replace("+= Ap", "+= select(2*q + e >= r, Ap").replace(
        " over", ", 0) over"
    ),
    "something for the rest": PRODUCT.replace("+= Ap", "+= select(2*q + e <= r, Ap").replace(
        " over", ", 1) over"
    ),
    "a limit over all blocks": PRODUCT.replace("+= Ap", "+= select(2*q + e <= r, Ap").replace(
        " over", ", 0) over"
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_tiles_do_not_do_is_written_as_ever(name: str) -> None:
    assert "fw_multiply(" not in emit_c(text(OTHERS[name]), {"R": 16, "W": 16}, AMX).kernel


def test_a_sum_that_begins_at_zero_is_stored() -> None:
    def adds(template: Template) -> list[str]:
        kernel = emit_c(template, {"R": 16, "W": 16}, AMX).kernel
        lines = [line for line in kernel.splitlines() if "fw_multiply(" in line]
        return [line.rsplit(", ", 1)[1] for line in lines]

    assert adds(text()) == ["0);"]
    assert adds(text(f"{PRODUCT}\n    {PRODUCT}")) == ["0);", "1);"]
    sometimes = TEXT.replace("    acc[r,s] = 0\n", "    if j = 0:\n      acc[r,s] = 0\n")
    assert adds(parse(Source("t.fw", sometimes.replace("PRODUCT", PRODUCT)))) == ["!((i_j == 0)));"]
    fewer = TEXT.replace("    acc[r,s] = 0\n", "    acc[r,s] = 0 over (r < 8, s < W)\n")
    assert adds(parse(Source("t.fw", fewer.replace("PRODUCT", PRODUCT)))) == ["1);"]


def test_words_take_the_place_of_every_type_of_a_program() -> None:
    kernel = emit_c(of_floats(text()), {"R": 16, "W": 16}, AMX).kernel
    assert "uint16_t" not in kernel
    assert "fw_multiply" not in kernel


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-4, 5, shape).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize(
    "design",
    [(16, 48), *(pytest.param(d, marks=pytest.mark.slow) for d in ((16, 16), (48, 48), (32, 48)))],
)
def test_tiles_of_every_shape_up_to_a_guard_page(
    design: tuple[int, int], target: str, tmp_path: Path
) -> None:
    rows, columns = design
    lib = Operator(text(), {"R": rows, "W": columns}, tmp_path, {}, target)
    rng, guarded = np.random.default_rng(1), Guarded()
    for m, n, k in ((1, 1, 1), (37, 53, 31), (64, 96, 64), (50, 49, 97)):
        a, b = _floats(rng, m, k), _floats(rng, n, k)
        c = np.full((m, n), np.nan, np.float32)
        given = [guarded.copy(x) for x in (a, b, c)]
        wanted = a.astype(np.float32) @ b.astype(np.float32).T

        def right(given: list[np.ndarray] = given, wanted: np.ndarray = wanted) -> bool:
            m, n, k = wanted.shape[0], wanted.shape[1], given[0].shape[1]
            return lib.call((m, n, k), given, 2) == 0 and bool((given[2] == wanted).all())

        assert survives(right)


def _faults(target: str, change: Callable[[str], str], folder: Path) -> dict[str, str]:
    """What the contract of GEMM says of the kernel with a changed source, by the clause."""
    contract = operator("gemm").contract(dtypes={"A": "bf16", "B": "bf16", "C": "f32"})
    template = load("gemm_matrix_ahead")[1]
    assert matches(template, contract) == ()
    emitted = emit_c(typed_for(template, contract), DESIGN, target_named(target))
    library = build(replace(emitted, source=change(emitted.source)), folder).library
    found = {}
    for kind in operator("gemm").kinds(contract):
        for values in ({"M": 37, "N": 41, "K": 67}, {"M": 5, "N": 70, "K": 600}):
            arrays = inputs(contract, kind, values, seed=5)
            fault = judge(contract, kind, arrays, call(library, contract, values, arrays))
            if fault is not None:
                found[kind] = fault.clause
    return found


@pytest.mark.parametrize("target", UNITS)
def test_the_units_keep_the_whole_contract(target: str, tmp_path: Path) -> None:
    assert _faults(target, lambda source: source, tmp_path) == {}


@pytest.mark.parametrize("target", UNITS[:1])
def test_vectors_keep_it_too(target: str, tmp_path: Path) -> None:
    assert _faults(target, lambda source: source.replace(GUARD, "0"), tmp_path) == {}


@pytest.mark.parametrize("target", UNITS)
def test_without_the_look_at_magnitudes_denormals_are_lost(target: str, tmp_path: Path) -> None:
    def unguarded(source: str) -> str:
        assert source.count(GUARD) == 1
        return source.replace(GUARD, "1")

    assert _faults(target, unguarded, tmp_path)["denormal"] == "denormals"


@pytest.mark.parametrize("target", UNITS[:1])
def test_a_system_that_does_not_lend_the_tiles_is_told(target: str, tmp_path: Path) -> None:
    emitted = emit_c(text(), {"R": 16, "W": 16}, target_named(target))
    asked = "#define FW_PERMISSION 0x1023\n"
    assert emitted.source.count(asked) == 1
    source = emitted.source.replace(asked, "#define FW_PERMISSION 0x1fff\n")
    library = ctypes.CDLL(str(build(replace(emitted, source=source), tmp_path).library))
    assert library.fw_cpu_ok() == 0


VALUES = (
    [1.0, 0.0, -0.0, 3.0],
    [2.0**-130, 2.0**-133, 2.0**-134, 1.0],
    [np.nan, 1.0, np.inf, -np.inf],
    [3.4e38, -3.4e38, 1.0, 2.0],
    [1.00390625, 1.01171875, -1.00390625, 1.0 + 2.0**-9 + 2.0**-20],
)


@pytest.mark.parametrize("target", UNITS[:1])
def test_a_panel_is_rounded_as_any_bf16(target: str, tmp_path: Path) -> None:
    """Exact sums of one cell each: what a panel holds is what ml_dtypes rounds to."""
    source = TEXT.replace("dtypes    A bf16, B bf16", "dtypes    A f32, B bf16")
    template = parse(Source("t.fw", source.replace("PRODUCT", PRODUCT)))
    lib = Operator(template, {"R": 16, "W": 16}, tmp_path, {}, target)
    assert "fw_store_watched" in lib.emitted.kernel
    count = 40
    b = np.eye(count).astype(ml_dtypes.bfloat16)
    for values in VALUES:
        a = np.zeros((count, count), np.float32)
        np.fill_diagonal(a, np.resize(values, count))
        c = np.full((count, count), 7, np.float32)
        assert lib.call((count, count, count), [a, b, c]) == 0
        rounded = a.astype(ml_dtypes.bfloat16).astype(np.float32)
        with np.errstate(invalid="ignore"):
            wanted = rounded @ b.astype(np.float32).T
        np.testing.assert_array_equal(c, wanted)
