"""Published cases, as far as judging an output goes: the right value passes, the wrong one not.

The numbers are those of the list of cases; running a kernel on them is another test's.
"""

import numpy as np
import pytest

from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs, kinds
from formwright.contract.judge import judge
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.reference import expected

F = np.float32
NAN = float("nan")


def contract(name: str, dtype: str = "f32") -> Contract:
    return operator(name).contract(dtypes=dtype)


@pytest.mark.parametrize(("m", "n", "k", "tile"), [(64, 64, 24, 16), (64, 128, 200, 32)])
def test_1_a_k_tail_that_is_left_out(m, n, k, tile):
    known = contract("gemm")
    a, b = inputs(known, "normal", {"M": m, "N": n, "K": k}, 1)
    assert judge(known, "normal", (a, b), a @ b) is None
    whole = k - k % tile
    finding = judge(known, "normal", (a, b), a[:, :whole] @ b[:whole])
    assert finding is not None
    assert finding.detail.endswith(f"it equals the sum over k < {whole} alone")


@pytest.mark.parametrize("name", OPERATORS)
def test_2_an_output_that_aliases_an_input_is_refused_by_the_domain(name):
    assert contract(name).aliasing == "output apart from inputs"


def test_2_zeros_are_not_the_product():
    known = contract("gemm")
    b = inputs(known, "normal", {"M": 4, "N": 4, "K": 4}, 1)[1]
    finding = judge(known, "normal", (b, b.T.copy()), np.zeros_like(b))
    assert finding is not None
    assert finding.clause == "constant"


@pytest.mark.parametrize("name", ["gemm", "gemv", "gemm_int8", "gemv_int8"])
def test_3_an_empty_sum_is_zeros_whatever_stood_there(name):
    known = contract(name)
    arrays = inputs(known, "normal", {"M": 3, "N": 5, "K": 0}, 1)
    shape = known.shape(known.output, {"M": 3, "N": 5})
    assert judge(known, "normal", arrays, np.zeros(shape, F)) is None
    finding = judge(known, "normal", arrays, np.full(shape, NAN, F))
    assert finding is not None
    assert finding.clause == "empty_sum"


def test_3_an_empty_sum_with_a_bias_is_the_bias():
    known = contract("gemm_bias")
    arrays = inputs(known, "normal", {"M": 3, "N": 5, "K": 0}, 1)
    right = np.broadcast_to(arrays[2], (3, 5))
    assert judge(known, "normal", arrays, right) is None
    finding = judge(known, "normal", arrays, np.zeros((3, 5), F))
    assert finding is not None
    assert finding.clause == "empty_sum"


def test_4_a_fully_masked_row_is_nan_and_the_contract_says_so():
    known = contract("softmax")
    assert known.special.masked_row == "nan"
    x = np.full((2, 3), -np.inf, F)
    x[1] = [0, -np.inf, 0]
    right = np.array([[NAN] * 3, [0.5, 0, 0.5]], F)
    assert judge(known, "masked_rows", (x,), right) is None
    finding = judge(known, "masked_rows", (x,), np.nan_to_num(right))
    assert finding is not None
    assert finding.clause == "masked_row"


def rows_of_eight() -> np.ndarray:
    return np.arange(8, dtype=F).reshape(1, 2, 4)


def test_5_nan_in_a_key_outside_the_history_is_not_seen():
    """Both queries may see the first key alone: a history of one."""
    known = contract("decode_attention")
    every = rows_of_eight()
    q, k, v = every, every[:, :1].copy(), every[:, :1].copy()
    want = np.array([[[0, 1, 2, 3], [0, 1, 2, 3]]], F)
    assert judge(known, "one_hot", (q, k, v), want) is None
    assert judge(known, "one_hot", (q, k, v), np.full_like(want, NAN)) is not None


def test_5_nan_in_a_masked_key_does_not_leak():
    known = contract("prefill_attention")
    assert known.special.masked == "ignored"
    every = rows_of_eight()
    q, k, v = every[:, None].copy(), every.copy(), every.copy()
    k[0, 1, 0] = NAN
    right = np.array([[[[0, 1, 2, 3], [NAN] * 4]]], F)
    assert judge(known, "masked", (q, k, v), right) is None
    finding = judge(known, "masked", (q, k, v), np.full_like(right, NAN))
    assert finding is not None
    assert finding.clause == "masked"
    v[0, 1, 0] = np.inf
    k[0, 1, 0] = 1
    assert expected(known, "masked", (q, k, v)).value[0, 0, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", OPERATORS)
def test_6_strided_layouts_are_allowed_or_refused_and_said(name):
    strides = contract(name).strides
    assert strides.padded == "allowed"
    others = (strides.transposed, strides.sliced, strides.negative, strides.broadcast)
    assert set(others) == {"refused"}


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (126, 126, 1)])
def test_7_shapes_next_to_an_over_read(m, n, k):
    known = contract("gemm")
    for kind in kinds(known):
        a, b = inputs(known, kind, {"M": m, "N": n, "K": k}, 1)
        with np.errstate(all="ignore"):
            assert judge(known, kind, (a, b), a @ b) is None, kind


KEEP = [name for name, known in OPERATORS.items() if "denormals" in known.clauses]


@pytest.mark.parametrize("name", KEEP)
def test_8_denormals_flushed_to_zero_are_refused(name):
    """What a fast-math library does to the process. A norm's rows of denormals come out normal."""
    known = contract(name)
    shape = dict.fromkeys(known.names, 6)
    arrays = inputs(known, "denormal", shape, 1)
    flushed = tuple(np.where(np.abs(a) < np.finfo(F).tiny, F(0), a) for a in arrays)
    want = expected(known, "denormal", arrays).value
    lost = expected(known, "denormal", flushed).value.astype(F)
    assert judge(known, "denormal", arrays, want.astype(F)) is None
    finding = judge(known, "denormal", arrays, lost)
    assert finding is not None
    assert finding.clause in ("denormals", "constant")


def test_9_sums_of_halves_are_kept_in_f32():
    known = contract("gemm", "f16")
    ones = np.ones((1, 4097), np.float16), np.ones((4097, 1), np.float16)
    for value, right in ((4096, True), (2048, False), (4100, False), (NAN, False)):
        output = np.array([[value]], np.float16)
        assert (judge(known, "integer", ones, output) is None) is right, value
    signs = np.where(np.arange(256) % 2 == 0, 300, -300).astype(np.float16)
    pair = signs[None, :].copy(), np.full((256, 1), 300, np.float16)
    for value, right in ((0, True), (NAN, False), (np.inf, False)):
        output = np.array([[value]], np.float16)
        assert (judge(known, "integer", pair, output) is None) is right, value
        assert (judge(known, "normal", pair, output) is None) is right, value
