"""The helpers of emitted code, compiled alone: exp within an ulp, conversions, maxima with NaN."""

import ctypes
import subprocess
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from formwright.codegen.build import FLAGS, find_compiler
from formwright.codegen.driver import runtime_text
from formwright.codegen.target import AVX2, AVX512, PLAIN, Target, detect_target, with_halves

Array = npt.NDArray[Any]

SOURCE = """
void exps(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES)
        fw_store(y + i, fw_vec_exp(fw_load(x + i)));
}
void exps_1(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = fw_exp(x[i]);
}
void larger(const float *a, const float *b, float *y, int64_t n) {
    for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES)
        fw_store(y + i, fw_vec_max(fw_load(a + i), fw_load(b + i)));
}
void smaller(const float *a, const float *b, float *y, int64_t n) {
    for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES)
        fw_store(y + i, fw_vec_min(fw_load(a + i), fw_load(b + i)));
}
void greatest(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES) {
        const float most = fw_greatest(fw_load(x + i));
        for (int64_t l = 0; l < FW_LANES; l++) y[i + l] = most;
    }
}
void sums(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i + 4 * FW_LANES <= n; i += 4 * FW_LANES) {
        const fw_vec a = fw_load(x + i), b = fw_load(x + i + FW_LANES);
        const fw_vec c = fw_load(x + i + 2 * FW_LANES), d = fw_load(x + i + 3 * FW_LANES);
        const fw_four four = fw_sum_of_4(a, b, c, d);
        for (int64_t row = 0; row < 4; row++) y[i / FW_LANES + row] = four[row];
    }
}
void sums_1(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES) y[i / FW_LANES] = fw_sum(fw_load(x + i));
}
int64_t lanes(void) { return FW_LANES; }
#define BOTH(kind)                                                            \\
    void put_##kind(const float *x, uint16_t *y, int64_t n) {                 \\
        for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES)                 \\
            fw_store_##kind(y + i, fw_load(x + i));                           \\
    }                                                                         \\
    void put_1_##kind(const float *x, uint16_t *y, int64_t n) {               \\
        for (int64_t i = 0; i < n; i++) fw_put_##kind(y + i, x[i]);           \\
    }                                                                         \\
    void get_##kind(const uint16_t *x, float *y, int64_t n) {                 \\
        for (int64_t i = 0; i + FW_LANES <= n; i += FW_LANES)                 \\
            fw_store(y + i, fw_load_##kind(x + i));                           \\
    }
BOTH(bf16)
BOTH(f16)
"""


@pytest.fixture(scope="module", params=["here", "avx2", "plain"])
def helpers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    found: Target = PLAIN if request.param == "plain" else detect_target()
    if request.param == "avx2":
        if found != AVX512:
            pytest.skip("this machine has no AVX2, or it is what is tested as it is")
        found = AVX2
    target = with_halves(found, ["f16"]) if found == AVX2 else found
    folder = tmp_path_factory.mktemp(request.param)
    parts = ("integers.h", "vectors.h", "lanes.h", "elements.h", "exponential.h")
    head = f"#include <math.h>\n#include <stdint.h>\n#define FW_LANES {target.lanes}\n"
    text = head + "".join(map(runtime_text, parts)) + SOURCE
    (folder / "helpers.c").write_text(text)
    command = [*find_compiler(), *FLAGS, *target.flags, "-o", "helpers.so", "helpers.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "helpers.so"))


FLUSHED = 2.0**-125.49
"""Results below it may be zero: the contract allows it, and another factor would cost time."""


def applied(function: Any, *arrays: Array, out: Any) -> Array:
    result = np.empty(len(arrays[0]), out)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)]
    function(*pointers, ctypes.c_int64(len(result)))
    return result


def sampled(step: int) -> Array:
    """Every ``step``-th bit pattern of f32, a multiple of 16 of them."""
    bits: Array = np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32)
    found: Array = bits[: len(bits) // 16 * 16].view(np.float32)
    return found


def test_exp_is_within_two_units_in_the_last_place(helpers: ctypes.CDLL) -> None:
    x = sampled(4093)
    y = applied(helpers.exps, x, out=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.exp(x.astype(np.float64))
        nearest = exact.astype(np.float32)
    assert np.array_equal(np.isnan(x), np.isnan(y))
    assert np.array_equal(np.isinf(nearest), np.isinf(y))
    gone = exact < 2.0**-125.5 * (1 - 1e-6)
    assert (y[gone] == 0).all()
    assert (y[exact > 2.0**-125.5 * (1 + 1e-6)] > 0).all()
    finite = np.isfinite(nearest) & ~gone & (y > 0)
    _, exponent = np.frexp(exact[finite])
    unit = np.ldexp(1.0, np.maximum(exponent, -125) - 24)
    assert (np.abs(y[finite] - exact[finite]) <= 1.2 * unit).all()
    some = np.ascontiguousarray(x[:: len(x) // 40000])
    assert np.array_equal(
        applied(helpers.exps_1, some, out=np.float32).view(np.uint32),
        y[:: len(x) // 40000].view(np.uint32),
    ), "a scalar and a lane have the same bits"


def test_exp_at_its_ends(helpers: ctypes.CDLL) -> None:
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.7228, -103.0, 1e30, -1e30, 1.0, 89.0]
    x = np.array([*ends, *[0.0] * 5], np.float32)
    y = applied(helpers.exps, x, out=np.float32)
    assert y[0] == y[1] == 1
    assert np.isinf(y[[2, 7, 10]]).all()
    assert (y[[3, 6, 8]] == 0).all()
    assert np.isnan(y[4])
    assert 3.402e38 < y[5] < np.inf


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_stores_round_to_nearest_even_once(helpers: ctypes.CDLL, kind: str) -> None:
    narrow = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[kind]
    halves = np.arange(65536, dtype=np.uint16)
    wide = applied(getattr(helpers, f"get_{kind}"), halves, out=np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        assert np.array_equal(wide, halves.view(narrow).astype(np.float32), equal_nan=True)
        ties = np.nextafter(wide[:-16], np.float32(np.inf))
        middles = ((wide[1:].astype(np.float64) + wide[:-1]) / 2).astype(np.float32)[:-15]
        x = np.concatenate([sampled(65521), wide, ties, middles])
        x = np.ascontiguousarray(x[: len(x) // 16 * 16])
        wanted = x.astype(narrow).view(np.uint16)
    nan = np.isnan(x)
    for name in (f"put_{kind}", f"put_1_{kind}"):
        found = applied(getattr(helpers, name), x, out=np.uint16)
        assert np.array_equal(found[~nan], wanted[~nan])
        quiet = {"bf16": 0x7FC0, "f16": 0x7E00}[kind]
        assert (found[nan] & quiet == quiet).all(), "a NaN stays one, and quiet"


def test_a_maximum_with_nan_is_nan_from_either_side(helpers: ctypes.CDLL) -> None:
    values = np.array([np.nan, -np.inf, -1, 0, 2, np.inf, 3, np.nan], np.float32)
    a, b = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(values, values))
    y = applied(helpers.larger, a, b, out=np.float32)
    assert np.array_equal(y, np.maximum(a, b), equal_nan=True)
    y = applied(helpers.smaller, a, b, out=np.float32)
    assert np.array_equal(y, np.minimum(a, b), equal_nan=True)


def test_the_greatest_lane_is_found_wherever_it_is(helpers: ctypes.CDLL) -> None:
    lanes = helpers.lanes()
    x = np.random.default_rng(3).standard_normal((3 * lanes + 2, lanes)).astype(np.float32)
    for at in range(lanes):
        x[at, at], x[lanes + at, at], x[2 * lanes + at, at] = 9, np.inf, np.nan
    x[-2], x[-1] = -np.inf, np.nan
    y = applied(helpers.greatest, x.ravel(), out=np.float32).reshape(x.shape)
    wanted = np.broadcast_to(x.max(-1, keepdims=True), x.shape)
    assert np.array_equal(y, wanted, equal_nan=True)


def test_four_sums_at_once_have_the_bits_of_one_at_a_time(helpers: ctypes.CDLL) -> None:
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(64 * 1024) * 2.0 ** rng.integers(-60, 60, 64 * 1024)).astype("f4")
    x[rng.integers(0, x.size, 64)] = np.inf
    x[rng.integers(0, x.size, 64)] = 1e-42
    rows = x.size // helpers.lanes()
    each, four = (applied(f, x, out=np.float32)[:rows] for f in (helpers.sums_1, helpers.sums))
    assert np.isfinite(each).any()
    assert np.array_equal(each, four, equal_nan=True)
    assert np.array_equal(np.signbit(each[each == each]), np.signbit(four[four == four]))
