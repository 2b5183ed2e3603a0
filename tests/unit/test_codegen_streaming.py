"""Stores past the caches: the same bits wherever rows begin, and no other store goes there."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from operator_library import NUMPY, Array, Operator

from effort import thinned
from formwright.base.source import Source
from formwright.codegen import emit_c
from formwright.codegen.ring import ring_source
from formwright.codegen.target import TARGETS
from formwright.lang import load, parse

TENSORS = {"softmax_rows": ("X", "Y"), "rmsnorm_rows": ("X", "g", "Y")}
DESIGN = {"Rr": 1, "L": 8}
WIDE = {"Rr": 2, "L": 16}
SLOW_PLAIN = pytest.param("softmax_rows", "f16", "plain", marks=pytest.mark.slow)
COPY = """\
template t : operator -> mapping

scope
  workload  Y[R,C] = X[R,C]
  extents   R >= 1, C >= 1

decisions
  St in {0, 1}

program
  par grid i in R:
    if St = 1:
      hint stream Y[i, 0]
    Y[i, c] = X[i, c] over (c < C)
"""


def _placed(rows: int, columns: int, kind: npt.DTypeLike, offset: int) -> Array:
    """Zeros whose first cell is ``offset`` cells behind a line of 64 bytes."""
    size = np.dtype(kind).itemsize
    raw = np.zeros((rows * columns + offset) * size + 64, np.uint8)
    start = -raw.ctypes.data % 64 + offset * size
    return raw[start : start + rows * columns * size].view(kind).reshape(rows, columns)


@pytest.mark.parametrize(
    ("name", "dtype", "target"),
    [*thinned([("softmax_rows", "f32", None), ("rmsnorm_rows", "bf16", None)]), SLOW_PLAIN],
)
def test_streaming_gives_the_same_bits_wherever_a_row_begins(
    name: str, dtype: str, target: str | None, tmp_path: Path
) -> None:
    types = dict.fromkeys(TENSORS[name], dtype)
    plain, streaming = (
        Operator(load(name)[1], {**DESIGN, "St": st}, tmp_path / str(st), types, target)
        for st in (0, 1)
    )
    random = np.random.default_rng(11)
    for rows, columns, pad in ((1, 1, 0), (5, 64, 0), (7, 83, 0), (6, 77, 3), (301, 128, 16)):
        x = random.standard_normal((rows, columns)).astype(NUMPY[dtype])
        g = [random.standard_normal(columns).astype(NUMPY[dtype])] if "g" in types else []
        wanted = np.empty_like(x)
        assert plain.call(x.shape, (x, *g, wanted)) == 0
        for offset in (0, 1, 4, 8):
            for threads in (1, 3):
                whole = _placed(rows, columns + pad, NUMPY[dtype], offset)
                assert streaming.call(x.shape, (x, *g, whole[:, :columns]), threads) == 0
                assert whole[:, :columns].tobytes() == wanted.tobytes(), (offset, threads)
                assert not whole[:, columns:].any()


@pytest.mark.parametrize("name", TARGETS)
def test_only_the_output_is_streamed_and_a_fence_ends_the_phase(name: str) -> None:
    isa = TARGETS[name]
    template = load("softmax_rows")[1]
    kernel = emit_c(template, {**WIDE, "St": 1}, isa).kernel
    assert "fw_stream(t_Y" in kernel
    assert kernel.count("fw_stream(") == kernel.count("fw_stream(t_Y")
    assert "fw_store(t_Y" not in kernel
    phase = kernel[kernel.index("static void phase(") :]
    assert phase[: phase.index("\n}\n")].endswith("\n    fw_stream_end();")
    assert "fw_stream" not in emit_c(template, {**WIDE, "St": 0}, isa).source


@pytest.mark.slow
def test_an_apply_on_memory_streams_too_and_other_numbers_do_not(tmp_path: Path) -> None:
    template = parse(Source("t.fw", COPY))
    x = np.arange(7 * 45, dtype=np.float32).reshape(7, 45)
    operator, y = Operator(template, {"St": 1}, tmp_path), np.zeros_like(x)
    assert "fw_stream(t_Y" in operator.emitted.kernel
    assert operator.call(x.shape, (x, y), threads=2) == 0
    assert np.array_equal(x, y)
    assert "fw_stream_whole" in operator.emitted.source
    assert "fw_stream_whole" not in ring_source(operator.emitted)
