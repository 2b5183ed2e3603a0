"""The cases of public reports, one by one: the right value, or a refusal by the domain.

Numbers in brackets are those of the reports that the cases come from.
"""

import json
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from foreign_kernels import HEAD, RIGHT, SIGNATURES
from qualify_kernels import compile_kernel

import formwright
from formwright.contract.contract import contract_data, contract_digest
from formwright.contract.operators import operator
from formwright.qualify.artifact import write_artifact
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.plan import plan, strides
from formwright.qualify.validate import validate

SIGNATURES_HERE = SIGNATURES | {
    "gemv:f16": "const _Float16 *W, const _Float16 *x, _Float16 *y, int64_t N, int64_t K",
    "prefill_attention": "const float *q, const float *k, const float *v, float *O, int64_t H,"
    " int64_t G, int64_t T, int64_t D",
}

PREFILL = """float *s = malloc(4 * T + 4);
  EACH(h, H) EACH(i, G) EACH(t, T) { const float *a = q + ((h * G + i) * T + t) * D;
    float *o = O + ((h * G + i) * T + t) * D, m = -INFINITY, z = 0;
    EACH(j, t + 1) { float p = 0; EACH(d, D) p += a[d] * k[(h * T + j) * D + d];
      s[j] = p / sqrtf(D); if (s[j] > m || s[j] != s[j]) m = s[j]; }
    EACH(j, t + 1) z += s[j] = expf(s[j] - m);
    EACH(d, D) { float p = 0; EACH(j, t + 1) p += s[j] * v[(h * T + j) * D + d]; o[d] = p / z; } }
  free(s);"""

BODIES = {
    "gemm": RIGHT["gemm in blocks of k"].body,
    "gemv:f16": """EACH(n, N) { float s = 0;
    EACH(k, K) s += (float)W[n * K + k] * (float)x[k]; y[n] = s; }""",
    "softmax": RIGHT["softmax in three passes"].body,
    "decode_attention": RIGHT["attention"].body,
    "prefill_attention": PREFILL,
}


def artifact(folder: Path, name: str) -> Path:
    """The artifact of a right kernel as ``load`` takes it, without the cost of a qualification."""
    kind, _, dtype = name.partition(":")
    contract = operator(kind).contract(dtypes=dtype or None)
    source = folder / "kernel.c"
    source.write_text(f"{HEAD}void kernel({SIGNATURES_HERE[name]}) {{\n{BODIES[name]}\n}}\n")
    built = build_kernel(find_kernel(source), contract, folder)
    files = {
        "kernel.so": built.library.read_bytes(),
        "kernel.h": b"",
        "assignment.json": b"{}",
        "contract.json": json.dumps(contract_data(contract)).encode(),
    }
    record = {"contract": {"digest": contract_digest(contract)}, "threads": 1}
    return write_artifact(folder / "artifact", files, record)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory):
    loaded: dict[str, formwright.Kernel] = {}

    def kernel(name: str) -> formwright.Kernel:
        if name not in loaded:
            loaded[name] = formwright.load(artifact(tmp_path_factory.mktemp("case"), name))
        return loaded[name]

    return kernel


def inside(kernel: formwright.Kernel, *arrays: np.ndarray, **out: np.ndarray) -> np.ndarray:
    """The library's own result: a call that falls back fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", formwright.FallbackWarning)
        return kernel(*arrays, **out)


def outside(kernel: formwright.Kernel, *arrays: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The result of a call that the domain refuses; it is right all the same."""
    assert kernel.reason(*arrays, out=out) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", formwright.FallbackWarning)
        return kernel(*arrays, out=out)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(-8, 9, shape).astype(np.float32)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 24), (64, 128, 200)])
def test_1_tails_of_k_are_summed_and_a_kernel_that_drops_them_is_refused(
    kernels, tmp_path, m, n, k
):
    """[tilelang 2381]"""
    a, b = draw(m, k), draw(k, n)
    assert np.array_equal(inside(kernels("gemm"), a, b), a @ b)
    contract = operator("gemm").contract()
    shapes = [dict(t.extents) for t in plan(contract, [], 1, 1, "full")]
    assert {"M": m, "N": n, "K": k} in shapes
    narrow = operator("gemm").contract(extents={"M": (m, m), "N": (n, n), "K": (k, k)})
    dropped = compile_kernel(tmp_path, "dropped", "PARTIAL(K / 16 * 16)")
    shape = {"M": m, "N": n, "K": k}
    validation = validate(dropped, narrow, [shape], seed=1, effort="quick")
    assert any("alone" in c.message for c in validation.refuted)


def test_2_an_output_that_is_an_input_gets_the_right_product(kernels):
    """[pytorch 13892]"""
    b = draw(6, 6)
    wanted = b @ b.T
    assert np.array_equal(outside(kernels("gemm"), b, b.T, out=b), wanted)
    x = draw(4, 9)
    weights = inside(kernels("softmax"), x).copy()
    np.testing.assert_allclose(outside(kernels("softmax"), x, out=x), weights, rtol=1e-6)


def test_3_no_terms_give_zeros_whatever_the_output_held(kernels):
    """[openblas 2914]"""
    c = np.full((3, 4), np.nan, np.float32)
    inside(kernels("gemm"), draw(3, 0), draw(0, 4), out=c)
    assert np.array_equal(c, np.zeros((3, 4)))


def test_4_a_row_that_is_masked_whole_is_nan_as_the_contract_says(kernels):
    """[pytorch 103963]"""
    kernel = kernels("softmax")
    assert kernel.contract.special.masked_row == "nan"
    x = np.array([[0, 0], [-np.inf, -np.inf]], np.float32)
    np.testing.assert_array_equal(inside(kernel, x), [[0.5, 0.5], [np.nan, np.nan]])


def test_5_nan_in_a_key_that_is_masked_does_not_leak(kernels):
    """[pytorch 101967] Both queries see the first key alone."""
    q = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    k, v = q.copy(), q.copy()
    k[0, 1, 0] = np.nan
    seen = inside(kernels("decode_attention"), q, k[:, :1], v[:, :1])
    np.testing.assert_array_equal(seen, [[[0, 1, 2, 3], [0, 1, 2, 3]]])
    causal = inside(kernels("prefill_attention"), q[:, None], k, v)
    np.testing.assert_array_equal(causal[0, 0, 0], [0, 1, 2, 3])
    assert np.isnan(causal[0, 0, 1]).all(), "the second query does see it"
    x = np.array([[1, -np.inf, 1]], np.float32)
    np.testing.assert_array_equal(inside(kernels("softmax"), x), [[0.5, 0, 0.5]])


def test_6_a_strided_output_gets_what_the_contiguous_one_gets(kernels):
    """[pytorch 75923]"""
    x, wide, tall = draw(4, 6), np.zeros((4, 12), np.float32), np.zeros((6, 4), np.float32)
    wanted = inside(kernels("softmax"), x)
    for out in (wide[:, ::2], tall.T):
        np.testing.assert_allclose(outside(kernels("softmax"), x, out=out), wanted, rtol=1e-6)
    a, b = draw(4, 3), draw(3, 6)
    for out in (wide[:, ::2], tall.T):
        assert np.array_equal(outside(kernels("gemm"), a, b, out=out), a @ b)


def test_7_nothing_is_read_beyond_one_column_far_from_the_next(tmp_path):
    """[blis 203, 460] Found by guard pages, at 1x1 and at 126x1x126 with rows 31509 apart."""
    contract = operator("gemm").contract()
    apart = {
        (tuple(t.extents.values()), strides(contract, t)[1])
        for t in plan(contract, [], 1, 1, "full")
    }
    assert ((126, 126, 1), 31509) in apart
    assert any(shape == (1, 1, 1) for shape, _ in apart)
    body = "EACH(i, M) EACH(j, N) { SUM(float, A(i, k)); C(i, j) = s; }"
    body += "if (K == 1) { volatile float over = b[ldb * (K - 1) + N]; (void)over; }"
    narrow = operator("gemm").contract(extents={"M": (126, 126), "N": (126, 126), "K": (1, 1)})
    library = compile_kernel(tmp_path, "over", body)
    shape = {"M": 126, "N": 126, "K": 1}
    validation = validate(library, narrow, [shape], seed=1, effort="quick")
    assert [c.name for c in validation.refuted] == ["memory"]
    assert "after the end of B" in validation.refuted[0].message


def test_8_loading_a_kernel_leaves_denormals_alone(kernels):
    for name in BODIES:
        kernels(name)
    assert sys.float_info.min / float("2") > 0


def test_9_half_precision_sums_in_f32_and_rounds_once(kernels):
    kernel = kernels("gemv:f16")
    ones = np.ones((1, 4097), np.float16)
    assert inside(kernel, ones, ones[0])[0] == 4096, "4097 rounds to even, and 2048 is no answer"
    signs = np.where(np.arange(256) % 2, -300, 300).astype(np.float16)
    assert inside(kernel, signs[None, :], np.full(256, 300, np.float16))[0] == 0
    strided = np.zeros(4, np.float16)[::2]
    got = outside(kernel, np.ones((2, 4097), np.float16), ones[0], out=strided)
    assert got.tolist() == [4096, 4096], "the reference says the same"


def test_an_array_of_another_type_is_computed_all_the_same(kernels):
    x = draw(3, 5)
    wanted = inside(kernels("softmax"), x)
    with pytest.warns(formwright.FallbackWarning, match="holds bfloat16, not float32"):
        got = kernels("softmax")(x.astype(ml_dtypes.bfloat16))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
