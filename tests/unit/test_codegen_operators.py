"""Emitted operators against float64: element types, ragged rows, NaN, guard pages, threads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from operator_library import NUMPY, Array, Guarded, Operator, survives

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.codegen import emit_c
from formwright.codegen.target import AVX2, AVX512, PLAIN, with_halves
from formwright.ir.types import with_dtypes
from formwright.lang import load, parse

SHAPES = ((1, 1), (3, 5), (4, 16), (5, 100), (2, 33))
GEMV = """\
template t : operator -> mapping

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  dtypes    W i8
  extents   N >= 1, K >= 0

decisions
  Rr in {4}
  L  in {16}

program
  par grid i in ceil(N/Rr):
    alloc acc[Rr,L], tot[Rr] register
    acc[r,l] = 0
    for q in 0 .. ceil(K/L):
      acc[r,l] += W[i*Rr+r, q*L+l] * x[q*L+l] clip
    tot[r] = 0
    tot[r] += acc[r,l]
    y[i*Rr+r] = tot[r] clip
"""


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    weights: Array = e / e.sum(-1, keepdims=True)
    return weights


def close(found: Array, wanted: Array, dtype: str) -> bool:
    tolerance = {"f32": 1e-5, "bf16": 5e-3, "f16": 2e-3}[dtype]
    return bool(np.allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance / 8))


SLOW_PLAIN = pytest.param("plain", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "target"),
    [("f32", None), ("bf16", None), pytest.param("f16", "plain", marks=pytest.mark.slow)],
)
def test_softmax_is_right_to_the_last_column_and_no_further(
    dtype: str, target: str | None, tmp_path: Path
) -> None:
    types = {"X": dtype, "Y": dtype}
    assignment = {"Rr": 2 if dtype == "f32" else 1, "L": 16 if dtype == "f32" else 8, "St": 0}
    operator = Operator(load("softmax_rows")[1], assignment, tmp_path, types, target)
    random = np.random.default_rng(7)
    for shape in SHAPES:
        x = (3 * random.standard_normal(shape)).astype(NUMPY[dtype])
        wanted = softmax(x.astype(np.float64))

        def at_the_guard(x: Array = x, wanted: Array = wanted) -> bool:
            guarded = Guarded()
            inner, out = guarded.copy(x), guarded.copy(np.full(x.shape, np.nan, x.dtype))
            return operator.call(x.shape, (inner, out)) == 0 and close(out, wanted, dtype)

        assert survives(at_the_guard), shape
        padded = np.full((shape[0], shape[1] + 3), np.nan, x.dtype)
        assert operator.call(shape, (x, padded[:, : shape[1]]), threads=2) == 0
        assert close(padded[:, : shape[1]], wanted, dtype)
        assert np.isnan(padded[:, shape[1] :].astype(np.float32)).all()


@pytest.mark.slow
def test_a_row_with_nan_is_nan_and_the_others_are_not(tmp_path: Path) -> None:
    operator = Operator(load("softmax_rows")[1], {"Rr": 1, "L": 8, "St": 0}, tmp_path)
    x = np.random.default_rng(1).standard_normal((4, 40)).astype(np.float32)
    for at in (0, 17, 39):
        y, hit = np.empty_like(x), x.copy()
        hit[1, at] = np.nan
        operator.call(x.shape, (hit, y))
        assert np.isnan(y[1]).all()
        assert close(y[[0, 2, 3]], softmax(x[[0, 2, 3]].astype(np.float64)), "f32")
    far = np.array([[0, -200, -90, -np.inf]], np.float32)
    y = np.empty_like(far)
    operator.call(far.shape, (far, y))
    assert y[0, 0] == 1
    assert y[0, 1] == y[0, 3] == 0
    assert y[0, 2] < 2e-38, "below 2^-125.5 exp may be zero"


@pytest.mark.parametrize("target", [None, SLOW_PLAIN])
def test_integer_products_are_exact_with_i8_weights(target: str | None, tmp_path: Path) -> None:
    template = parse(Source("t.fw", GEMV))
    operator = Operator(template, {"Rr": 4, "L": 16}, tmp_path, target=target)
    random = np.random.default_rng(3)
    for n, k in ((1, 1), (7, 5), (8, 0), (33, 130)):
        w = random.integers(-128, 128, (n, k)).astype(np.int8)
        x = random.integers(-8, 9, k).astype(np.float32)

        def at_the_guard(w: Array = w, x: Array = x) -> bool:
            guarded = Guarded()
            y = guarded.copy(np.full(len(w), np.nan, np.float32))
            code = operator.call(w.shape, (guarded.copy(w), guarded.copy(x), y))
            return code == 0 and np.array_equal(y, w.astype(np.float32) @ x)

        assert survives(at_the_guard), (n, k)


@pytest.mark.slow
def test_decode_attention_over_four_dimensions(tmp_path: Path) -> None:
    types = dict.fromkeys(("q", "kc", "vc"), "bf16")
    assignment = {"Gr": 2, "L": 8, "Lv": 8, "Ls": 8}
    operator = Operator(load("decode_attention_heads")[1], assignment, tmp_path, types)
    random = np.random.default_rng(5)
    for h, g, s, d in ((1, 1, 1, 1), (2, 4, 33, 20)):
        q, k, v = (
            random.standard_normal(shape).astype(NUMPY["bf16"])
            for shape in ((h, g, d), (h, s, d), (h, s, d))
        )
        out = np.full((h, g, d), np.nan, np.float32)
        assert operator.call((h, g, s, d), (q, k, v, out)) == 0
        wide = [a.astype(np.float64) for a in (q, k, v)]
        scores = softmax(np.einsum("hgd,hsd->hgs", *wide[:2]) / np.sqrt(d))
        assert close(out, np.einsum("hgs,hsd->hgd", scores, wide[2]), "f32")


ROWS = """\
template t : operator -> mapping

scope
  workload  Y[R,C] = {workload}
  extents   R >= 1, C >= 1

decisions
  T in {{4}}

program
"""
PROGRAMS: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "a sum along rows of any length": (
        "sum(k < C) X[R,k] * X[R,k]",
        "  par grid i in R:\n    alloc t[1] register\n    t[x] = 0\n"
        "    t[0] += X[i,c] * X[i,c] over (c < C)\n    Y[i,c] = t[0] over (c < C)\n",
        lambda x: np.repeat((x * x).sum(1, keepdims=True), x.shape[1], 1),
    ),
    "a choice along the row": (
        "select(c <= r, X[R,C], 0)",
        "  par grid i in R:\n    alloc t[1] register\n    t[x] = 1\n"
        "    Y[i,c] = select(c <= i, t[0] * X[i,c], 0) over (c < C)\n",
        np.tril,
    ),
    "a side of a choice that leaves the row": (
        "select(c >= 1, X[R,C], 0)",
        "  par grid i in R:\n    alloc t[1] register\n    t[x] = 1\n"
        "    Y[i,c] = select(c + 1 < C, t[0] * X[i,c+1], index(c)) over (c < C)\n",
        lambda x: np.concatenate([x[:, 1:], np.full((len(x), 1), x.shape[1] - 1)], 1),
    ),
    "a stored column of costly values": (
        "exp(X[R,C])",
        "  alloc turned[C,R] scratch\n  turned[c,r] = exp(X[r,c])\n"
        "  par grid i in R:\n    Y[i,c] = turned[c,i] over (c < C)\n",
        np.exp,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_rows(name: str, tmp_path: Path) -> None:
    workload, program, meaning = PROGRAMS[name]
    template = parse(Source("t.fw", ROWS.format(workload=workload) + program))
    operator = Operator(template, {"T": 4}, tmp_path)
    for shape in ((1, 1), (4, 7), (3, 50)):
        x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)

        def at_the_guard(x: Array = x) -> bool:
            guarded = Guarded()
            inner, y = guarded.copy(x), guarded.copy(np.full(x.shape, np.nan, np.float32))
            code = operator.call(x.shape, (inner, y))
            return code == 0 and close(y, meaning(x.astype(np.float64)), "f32")

        assert survives(at_the_guard), shape


@pytest.mark.parametrize(
    ("name", "design"),
    [("gemv_rows", {"Rr": 2, "L": 16, "Pf": 0}), ("gemv_rows_apart", {"Rr": 4, "L": 16})],
)
def test_the_main_part_of_a_loop_has_no_test(name: str, design: dict[str, int]) -> None:
    kernel = emit_c(load(name)[1], design, AVX2).kernel
    main = kernel[kernel.index("for (; i_q < main_i_q;") :]
    main = main[: main.index("for (; i_q < end_i_q;")]
    assert "fw_load_part" not in main
    assert "?" not in main


def test_what_is_not_written_is_said() -> None:
    narrow = GEMV.replace("dtypes    W i8", "dtypes    y i8")
    with pytest.raises(InputError, match="reads i8 and does not write it"):
        emit_c(parse(Source("t.fw", narrow)), {"Rr": 4, "L": 16}, PLAIN)


def test_f16_asks_for_its_instructions() -> None:
    half = with_dtypes(load("softmax_rows")[1], {"X": "f16", "Y": "f16"})
    emitted = emit_c(half, {"Rr": 2, "L": 16, "St": 0}, AVX2)
    assert "-mf16c" in emitted.target.flags
    assert "fw_has_f16c()" in emitted.source[emitted.source.index("fw_cpu_ok") :]
    assert with_halves(AVX2, ["f32", "bf16"]) == AVX2
    assert with_halves(AVX512, ["f16"]) == AVX512


@pytest.mark.parametrize(
    ("lanes", "wanted"), [(8, 8), (16, 16), (24, 8), (32, 16), (40, 8)], ids=lambda n: str(n)
)
def test_a_tile_that_is_no_whole_wide_vectors_is_narrow_ones(lanes: int, wanted: int) -> None:
    text = GEMV.replace("L  in {16}", f"L  in {{{lanes}}}")
    template = parse(Source("t", text))
    design = {"Rr": 4, "L": lanes}
    assert emit_c(template, design, AVX512).target.lanes == wanted
    assert f"#define FW_LANES {wanted}\n" in emit_c(template, design, AVX512).source
    assert emit_c(template, design, AVX2).target == AVX2
    assert emit_c(template, design, PLAIN).target == PLAIN


def test_narrow_vectors_of_a_wide_target_convert_halves_by_its_instruction() -> None:
    text = GEMV.replace("L  in {16}", "L  in {24}").replace("W i8", "W f16")
    emitted = emit_c(parse(Source("t", text)), {"Rr": 4, "L": 24}, AVX512)
    assert "-mf16c" in emitted.target.flags
    assert "f16c" in emitted.target.features
    assert set(AVX512.flags) < set(emitted.target.flags)
