"""Weights kept in fewer bits: which buffers, every cell bit for bit, the same sums as without."""

import ctypes
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from operator_library import Guarded, Operator, survives

from effort import thinned
from formwright.base.source import Source
from formwright.codegen import detect_target, emit_c, target_named
from formwright.codegen.words import of_floats
from formwright.ir.template import Template
from formwright.lang import load, parse

TARGETS = [
    t for t in ("avx512", "avx2") if set(target_named(t).features) <= set(detect_target().features)
]
NUMPY = {"bf16": ml_dtypes.bfloat16, "f32": np.float32}
BITS = {"bf16": np.uint16, "f32": np.uint32}
HEAD = 64


def template(dtype: str) -> Template:
    return load(f"gemv_{dtype}_coded_ahead")[1]


def changed(old: str, new: str, dtype: str = "bf16") -> Template:
    text = load(f"gemv_{dtype}_coded_ahead")[0].text
    assert old in text, old
    return parse(Source("t.fw", text.replace(old, new)))


def codes(of: Template, target: str = "avx512", **more: bool) -> int:
    """How many buffers the emitted code puts into fewer bits."""
    kernel = emit_c(of, {"Rr": 4}, target_named(target), **more).source
    return kernel.count("    fw_code_rows") - kernel.count("    fw_code_rows_of(")


def test_rows_that_are_only_multiplied_are_kept_in_fewer_bits() -> None:
    for dtype in NUMPY:
        assert codes(template(dtype)) == codes(template(dtype), "avx2") == 1
        assert codes(template(dtype), "plain") == 0
        assert codes(template(dtype), coded=False) == codes(template(dtype), calls=True) == 0
    assert (
        "coded"
        not in emit_c(
            load("gemv_rows")[1], {"Rr": 4, "L": 16, "Pf": 0}, target_named("avx512")
        ).source
    )
    assert codes(of_floats(template("bf16")), coded=False) == 0


OTHERS = {
    "another reader": ("    y[", "    tot[r] += Wp[r,i,0,0] over (r < Rr)\n    y["),
    "a hint that names it": ("    tot[r] = 0\n", "    hint prefetch Wp[0,i,0,0]\n    tot[r] = 0\n"),
    "another block": ("128", "64"),
    "not ahead of the call": ("  alloc Wp", "  alloc none[1] scratch\n  none[0] = 0\n  alloc Wp"),
    "some of the blocks": (
        "Wp[r,i,q,l] * xp[q,l]",
        "Wp[r,i,q,l] * xp[q,l] over (r < Rr, q < 1, l < 128)",
    ),
    "sums in registers": ("alloc tot[Rr] scratch", "alloc tot[Rr] register"),
    "one more factor": ("Wp[r,i,q,l] * xp[q,l]", "2 * Wp[r,i,q,l] * xp[q,l]"),
    "a square": ("Wp[r,i,q,l] * xp[q,l]", "Wp[r,i,q,l] * Wp[r,i,q,l]"),
    "halves": ("128] bf16 scratch", "128] f16 scratch"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_have_the_storage_of_their_type(name: str) -> None:
    assert codes(changed(*OTHERS[name])) == 0


class Rows(Operator):
    """``y = W x`` by the coded template, called with what was packed ahead, or packing itself."""

    def __init__(self, dtype: str, rows: int, target: str, folder: Path) -> None:
        super().__init__(template(dtype), {"Rr": rows}, folder, None, target)
        self.handle.fw_ahead_bytes.restype = ctypes.c_int64

    def ahead(self, w: np.ndarray, x: np.ndarray, guarded: Guarded) -> tuple[np.ndarray, bool]:
        """The product, and whether the rows were put into fewer bits."""
        n, k = w.shape
        y = np.full(n, np.nan, np.float32)
        given = (ctypes.c_int64 * 2)(n, k)
        tensors = (ctypes.c_void_p * 3)(*(a.ctypes.data for a in (w, x, y)))
        strides = (ctypes.c_int64 * 3)(k, k, n)
        size = int(self.handle.fw_scratch_bytes(given, 2))
        scratch = np.full(size, 0xFF, np.uint8)
        bytes_ahead = int(self.handle.fw_ahead_bytes(given))
        kept = guarded.copy(np.full(-(-bytes_ahead // 64) * 64, 0xFF, np.uint8))
        rest = [ctypes.c_void_p(scratch.ctypes.data), ctypes.c_int64(size), 2]
        rest.append(ctypes.c_void_p(kept.ctypes.data))
        assert self.handle.fw_prepare(tensors, strides, given, *rest) == 0
        assert self.handle.fw_call_ahead(tensors, strides, given, *rest) == 0
        # Before the rows: 16 upper bytes, then whether there are codes.
        return y, bool(kept[16:20].view(np.uint32)[0])

    def packing(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = np.full(w.shape[0], np.nan, np.float32)
        assert self.call(w.shape, [w, x, y], 2) == 0
        return y


def odd_cells(dtype: str, rng: np.random.Generator, n: int, k: int, share: float) -> np.ndarray:
    """Normal weights, some with any bits at all: NaN, infinities, denormals, both zeros."""
    w = rng.standard_normal((n, k)).astype(NUMPY[dtype])
    bits = w.view(BITS[dtype])
    odd = rng.random((n, k)) < share
    drawn = rng.integers(0, np.iinfo(BITS[dtype]).max, (n, k), BITS[dtype], endpoint=True)
    bits[odd] = drawn[odd]
    return w


SHAPES = ((1, 1), (3, 128), (37, 131), (64, 640), (130, 257))
CASES = [(d, r, t) for d in NUMPY for r in (2, 4, 8) for t in TARGETS]


@pytest.mark.parametrize(("dtype", "rows", "target"), thinned(CASES, 4))
def test_sums_are_the_same_bits_as_of_plain_rows(
    dtype: str, rows: int, target: str, tmp_path: Path
) -> None:
    """Up to a guard page behind what is kept; with none, few and many cells that have no code."""
    lib, rng, guarded = Rows(dtype, rows, target, tmp_path), np.random.default_rng(1), Guarded()
    seen = set[bool]()
    for n, k in SHAPES:
        for share in (0.0, 1e-4, 5e-4, 0.2):
            w = odd_cells(dtype, rng, n, k, share)
            for x in (rng.standard_normal(k), np.full(k, np.inf), np.full(k, 2.0**-140)):
                given = [w, x.astype(np.float32)]
                plain = lib.packing(*given)
                sums, coded = lib.ahead(*given, guarded)
                seen.add(coded)
                assert np.array_equal(sums, plain, equal_nan=True)
    assert seen == {False, True}


@pytest.mark.parametrize(
    ("dtype", "target"), thinned([(d, t) for t in TARGETS for d in sorted(NUMPY)], 3)
)
def test_every_cell_reads_back(dtype: str, target: str, tmp_path: Path) -> None:
    """One cell of x is 1: each row gives the cell of its own, codes or not."""
    lib, rng, guarded = Rows(dtype, 8, target, tmp_path), np.random.default_rng(2), Guarded()
    w = odd_cells(dtype, rng, 48, 256, 2e-4)
    w[~np.isfinite(w.astype(np.float32))] = 0
    w[3, 7], w[40, 255] = 2.0**-133, -3e38
    for k in range(256):
        x = np.zeros(256, np.float32)
        x[k] = 1
        sums, coded = lib.ahead(w, x, guarded)
        assert coded
        assert np.array_equal(sums, w[:, k].astype(np.float32))


@pytest.mark.parametrize("dtype", thinned(sorted(NUMPY), 2))
def test_codes_are_few_bytes_for_many_weights(dtype: str, tmp_path: Path) -> None:
    """What is read of the rows lies in the first part of their room: the rest may hold anything."""
    lib, rng = Rows(dtype, 4, TARGETS[0], tmp_path), np.random.default_rng(3)
    w = rng.integers(1, 3, (256, 1024)).astype(NUMPY[dtype])
    x = rng.integers(-2, 3, 1024).astype(np.float32)
    share = {"bf16": 0.75, "f32": 0.875}[dtype]

    class Spoiled(Guarded):
        def copy(self, array: np.ndarray) -> np.ndarray:
            self.memory = super().copy(array)
            return self.memory

    guarded = Spoiled()
    sums, coded = lib.ahead(w, x, guarded)
    assert coded
    assert np.array_equal(sums, w.astype(np.float32) @ x)
    kept = guarded.memory[HEAD : HEAD + w.nbytes]
    behind = kept[int(w.nbytes * share) :]
    # A byte for each block of a group, and where the cells of each group begin: all 0 here.
    assert not behind[: 64 * 8].any()


@pytest.mark.parametrize("target", thinned(TARGETS, 2))
def test_nothing_behind_the_tensors_is_touched(target: str, tmp_path: Path) -> None:
    lib, rng, guarded = Rows("bf16", 8, target, tmp_path), np.random.default_rng(4), Guarded()
    w = guarded.copy(rng.standard_normal((21, 131)).astype(ml_dtypes.bfloat16))
    x = guarded.copy(rng.standard_normal(131).astype(np.float32))

    def same() -> bool:
        return np.array_equal(lib.ahead(w, x, Guarded())[0], lib.packing(w, x))

    assert survives(same)


@pytest.mark.parametrize("dtype", thinned(sorted(NUMPY), 2))
def test_one_block_of_eight_may_keep_its_cells_and_no_more(dtype: str, tmp_path: Path) -> None:
    """16 rows of 4 blocks: of bf16 8 may have a cell without a code, of f32 there is room for 7."""
    most = {"bf16": 8, "f32": 7}[dtype]
    lib, rng, guarded = Rows(dtype, 2, TARGETS[0], tmp_path), np.random.default_rng(5), Guarded()
    for count in (7, 8, 9, 64):
        w = rng.integers(1, 3, (16, 512)).astype(NUMPY[dtype])
        # With those of 1 and 2 these are 16 upper bytes: there is no code for another.
        w[:, ::16] = 2.0 ** (4 + 2 * np.arange(32) % 28)
        w.reshape(64, 128)[rng.permutation(64)[:count], 1] = -3e38
        x = rng.integers(-2, 3, 512).astype(np.float32)
        sums, coded = lib.ahead(w, x, guarded)
        assert coded == (count <= most), count
        assert np.array_equal(sums, lib.packing(w, x))
