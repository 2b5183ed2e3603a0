"""Emitted libraries against integers: ragged, tiny and empty shapes, strides, threads, targets."""

import ctypes
import shutil
import sys
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from codegen_library import SMALL, SQUARE_TILES, Library, built, check, inputs, template_of

SHAPES = [
    (1, 1, 1),
    (1, 1, 0),
    (5, 3, 0),
    (4, 24, 64),
    (7, 17, 9),
    (3, 100, 65),
    (49, 47, 129),
    (97, 101, 130),
    (13, 500, 3),
    (200, 25, 70),
]
CASES = {
    "packed": ("packed_gemm", SMALL, None, None),
    "wide_rows": ("packed_gemm", {**SMALL, "Mr": 6, "Nr": 16, "Ib": 1024}, None, None),
    "direct": ("direct_gemm", {"Mr": 3, "Nr": 32, "Jb": 2}, None, None),
    "ahead": (
        "packed_gemm_ahead",
        {**{k: v for k, v in SMALL.items() if k != "Nb"}, "Jb": 2},
        None,
        None,
    ),
    "plain": ("packed_gemm", {**SMALL, "Mr": 2, "Nr": 8}, "plain", None),
    "tiling": (
        "shared_memory_tiling",
        {"Tm": 16, "Tn": 16, "Tk": 8, "S": 3, "P": 2, "beta": 1},
        None,
        None,
    ),
    "clang": ("packed_gemm", SMALL, None, "clang"),
}


LATER = {"wide_rows", "plain", "direct", "clang"}
"""Other sizes, targets and compilers of a program that is here."""


@cache
def built_once(case: str, root: Path) -> Library:
    name, assignment, target, compiler = CASES[case]
    return built(name, assignment, root / case, target, compiler)


@pytest.fixture(
    scope="module",
    params=[pytest.param(c, marks=pytest.mark.slow) if c in LATER else c for c in CASES],
)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    compiler = CASES[request.param][3]
    if compiler is not None and shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    return built_once(request.param, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_products_of_integers_are_exact(library: Library, shape: tuple[int, int, int]) -> None:
    if shape[2] == 0 and library.call(*inputs(1, 1, 0)) == 1:
        pytest.skip("an empty reduction is outside the scope of this template")
    for threads in (1, 2, 3):
        check(library, *shape, threads)
        if hasattr(library.handle, "fw_prepare"):
            check(library, *shape, threads, ahead=True)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return built_once("packed", tmp_path_factory.getbasetemp())


def test_threads_do_not_change_a_bit(packed: Library) -> None:
    random = np.random.default_rng(1)
    a = random.standard_normal((150, 200)).astype(np.float32)
    b = random.standard_normal((200, 130)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        c = np.empty((150, 130), np.float32)
        assert packed.call(a, b, c, threads) == 0
        results.append(c)
    assert all(np.array_equal(results[0], other) for other in results)
    assert np.allclose(results[0], a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


def tasks_come_to(count: int) -> bool:
    """Joined threads stand in /proc for a moment longer."""
    end = time.monotonic() + 5
    while len(list(Path("/proc/self/task").iterdir())) != count:
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def test_a_large_enough_product_has_workers_and_shutdown_ends_them(packed: Library) -> None:
    packed.handle.fw_shutdown()
    threads = len(list(Path("/proc/self/task").iterdir()))
    a, b, out = inputs(100, 100, 100)
    packed.call(a, b, out[:, :100], 1)
    assert len(list(Path("/proc/self/task").iterdir())) == threads
    packed.call(a, b, out[:, :100], 3)
    assert len(list(Path("/proc/self/task").iterdir())) == threads + 2
    packed.handle.fw_shutdown()
    assert tasks_come_to(threads)
    packed.call(a, b, out[:, :100], 2)
    assert np.array_equal(out[:, :100], a @ b)


def test_two_callers_at_once_are_right(packed: Library) -> None:
    wrong = []

    def work(seed: int) -> None:
        a, b, out = inputs(90, 110, 120, seed)
        for _ in range(20):
            out[:] = np.nan
            packed.call(a, b, out[:, :110], 2)
            if not np.array_equal(out[:, :110], a @ b):
                wrong.append(seed)

    callers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_bad_calls_are_refused(packed: Library) -> None:
    a, b, out = inputs(5, 6, 7)
    assert packed.handle.fw_abi() == 1
    assert packed.handle.fw_cpu_ok() == 1
    assert packed.call(a, b, out[:, :6], less=1) == 4
    assert packed.call(a[:0], b, out[:0, :6]) == 1
    assert packed.call(a, b, out[:, :6], threads=0) == 2
    assert np.isnan(out).all()


def test_denormals_stay_after_loading(packed: Library) -> None:
    assert sys.float_info.min / 2 > 0
    a = np.full((1, 1), np.float32(2.0) ** -100, np.float32)
    b = np.full((1, 1), np.float32(2.0) ** -40, np.float32)
    c = np.empty((1, 1), np.float32)
    packed.call(a, b, c)
    assert c[0, 0] == np.float32(2.0) ** -140


@pytest.mark.slow
def test_nothing_is_left_when_the_library_is_closed(tmp_path: Path) -> None:
    library = built(template_of(SQUARE_TILES), {"T": 16}, tmp_path)
    check(library, 100, 90, 80, threads=3)
    before = len(list(Path("/proc/self/task").iterdir()))
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    assert close(library.handle._handle) == 0
    assert tasks_come_to(before - 2)
