"""An emitted library called through its ABI, and the templates that the tests build."""

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from formwright.base.source import Source
from formwright.codegen import build, detect_target, emit_c, target_named
from formwright.ir.template import Template
from formwright.lang import load, parse

Array = npt.NDArray[np.float32]

SMALL = {"Mr": 4, "Nr": 24, "Kc": 64, "Mc": 48, "Nb": 48, "Ib": 2}

TEXT = """\
template t : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 0

decisions
  T in {2, 8, 16}

program
"""


SQUARE_TILES = """\
  par grid (i, j) in ceil(M/T), ceil(N/T):
    alloc acc[T,T] register
    acc[r,s] = 0
    for l in 0 .. K:
      acc[r,s] += A[i*T+r, l] * B[l, j*T+s] clip
    C[i*T+r, j*T+s] = acc[r,s] clip
"""


def template_of(program: str, head: str = TEXT) -> Template:
    """The template whose program is ``program``, indented by two."""
    return parse(Source("t.fw", head + program))


class Library:
    """``extents`` are read from the arrays: A is M x K, B is K x N."""

    def __init__(self, path: Path) -> None:
        self.handle = ctypes.CDLL(str(path))
        self.handle.fw_scratch_bytes.restype = ctypes.c_int64

    def call(
        self, a: Array, b: Array, c: Array, threads: int = 1, ahead: bool = False, less: int = 0
    ) -> int:
        """The code of ``fw_call``, or of ``fw_prepare`` and ``fw_call_ahead``."""
        extents = (ctypes.c_int64 * 3)(a.shape[0], b.shape[1], a.shape[1])
        tensors = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in (a, b, c)))
        strides = (ctypes.c_int64 * 3)(*(max(1, x.strides[0] // 4) for x in (a, b, c)))
        size = int(self.handle.fw_scratch_bytes(extents, threads))
        scratch = np.full(max(size, 1), 0xFF, np.uint8)
        rest = (
            ctypes.c_void_p(scratch.ctypes.data),
            ctypes.c_int64(size - less),
            ctypes.c_int32(threads),
        )
        if not ahead:
            return int(self.handle.fw_call(tensors, strides, extents, *rest))
        self.handle.fw_ahead_bytes.restype = ctypes.c_int64
        packed = np.full(int(self.handle.fw_ahead_bytes(extents)) + 64, 0xFF, np.uint8)
        where = ctypes.c_void_p((packed.ctypes.data + 63) // 64 * 64)
        code = int(self.handle.fw_prepare(tensors, strides, extents, *rest, where))
        return code or int(self.handle.fw_call_ahead(tensors, strides, extents, *rest, where))


def built(
    template: Template | str,
    assignment: Mapping[str, int],
    folder: Path,
    target: str | None = None,
    compiler: str | None = None,
) -> Library:
    chosen = load(template)[1] if isinstance(template, str) else template
    isa = detect_target() if target is None else target_named(target)
    return Library(build(emit_c(chosen, assignment, isa), folder, compiler).library)


def inputs(m: int, n: int, k: int, seed: int = 0, pad: int = 3) -> tuple[Array, Array, Array]:
    """Small integers, so that any order of summation is exact; rows ``pad`` apart; C is NaN."""
    random = np.random.default_rng([seed, m, n, k])
    a = random.integers(-4, 5, (m, k + pad)).astype(np.float32)[:, :k]
    b = random.integers(-4, 5, (k, n + pad)).astype(np.float32)[:, :n]
    return a, b, np.full((m, n + pad), np.nan, np.float32)


def check(library: Library, m: int, n: int, k: int, threads: int, ahead: bool = False) -> None:
    """A product of whole numbers is exact, and nothing else was written to."""
    a, b, out = inputs(m, n, k)
    c = out[:, :n]
    before = a.copy(), b.copy()
    assert library.call(a, b, c, threads, ahead) == 0
    assert np.array_equal(c, before[0] @ before[1])
    assert np.isnan(out[:, n:]).all(), "a cell beyond the row was written"
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])
