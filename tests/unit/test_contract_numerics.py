"""The reference, its tolerance and the kinds of inputs: what each refuses and what it accepts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.base.diagnostics import InputError
from formwright.contract.contract import contract_data, contract_digest, outside
from formwright.contract.inputs import inputs, kinds
from formwright.contract.judge import judge
from formwright.contract.operators import operator
from formwright.contract.operators.draws import whole_limit
from formwright.contract.operators.products import EXACT
from formwright.contract.reference import expected
from formwright.contract.stored import contract_from

CONTRACT = operator("gemm").contract()
KINDS = kinds(CONTRACT)
SHAPE = {"M": 20, "N": 14, "K": 1029}


def half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(np.float32)


def cut(array: np.ndarray) -> np.ndarray:
    return (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def shuffled(a: np.ndarray, b: np.ndarray, seed: int) -> np.ndarray:
    """``a @ b`` in f32, summed in an order of its own by a tree of its own."""
    order = np.random.default_rng(seed).permutation(a.shape[1])
    terms = a[:, order, None] * b[None, order, :]
    while terms.shape[1] > 1:
        if terms.shape[1] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[:, :1])], axis=1)
        terms = terms[:, ::2] + terms[:, 1::2]
    return terms.sum(axis=1, dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(
    m=st.integers(1, 9), n=st.integers(1, 9), k=st.integers(0, 40), seed=st.integers(0, 2**53 - 1)
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_order_of_summation_is_right(kind, m, n, k, seed):
    a, b = inputs(CONTRACT, kind, {"M": m, "N": n, "K": k}, seed)
    assert a.shape == (m, k)
    assert b.shape == (k, n)
    double = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    for c in (shuffled(a, b, seed), double):
        finding = judge(CONTRACT, kind, (a, b), c)
        assert finding is None, finding


def test_inputs_are_the_same_for_the_same_seed_and_others_for_another():
    for kind in set(KINDS) - {"nonfinite"}:
        first, again = (inputs(CONTRACT, kind, SHAPE, 5) for _ in range(2))
        other = inputs(CONTRACT, kind, SHAPE, 6)
        assert np.array_equal(first[0], again[0])
        assert np.array_equal(first[1], again[1])
        assert not all(np.array_equal(x, y) for x, y in zip(first, other, strict=True))


@pytest.mark.parametrize("k", [1, 2, 7, 64, 1029, 4096])
def test_integers_stay_below_two_to_the_24(k):
    assert k * whole_limit(k, "f32") ** 2 <= 1 << 24 < k * (whole_limit(k, "f32") + 1) ** 2
    a, b = inputs(CONTRACT, "integer", {"M": 3, "N": 2, "K": k}, 1)
    assert max(np.abs(a).max(), np.abs(b).max()) <= whole_limit(k, "f32")
    assert (np.abs(a).astype(object) @ np.abs(b).astype(object)).max() <= 1 << 24


def test_gamma_alone_lets_16_bits_pass_at_1029_terms_and_sparse_terms_do_not():
    """Why `gamma_K` is not enough: A in 16 bits passes normal and integer inputs."""
    for kind in ("normal", "integer"):
        a, b = inputs(CONTRACT, kind, SHAPE, 3)
        assert not np.array_equal(half(a), a) or kind == "integer"
        assert judge(CONTRACT, kind, (a, b), half(a) @ b) is None
    for kind in ("sparse_rows", "sparse_columns"):
        a, b = inputs(CONTRACT, kind, SHAPE, 3)
        finding = judge(CONTRACT, kind, (a, b), half(a) @ b)
        assert finding is not None
        assert finding.clause == "sparse_terms"


def test_sparse_terms_are_judged_by_gamma_of_their_own_count():
    a, b = inputs(CONTRACT, "sparse_rows", SHAPE, 9)
    u = 2.0**-24
    row = 5
    assert np.count_nonzero(a[row]) == 2
    magnitude = np.abs(a[row].astype(float)) @ np.abs(b.astype(float))
    gamma_3 = 3 * u / (1 - 3 * u)
    assert expected(CONTRACT, "normal", (a, b)).bound[row] == pytest.approx(
        gamma_3 * magnitude, rel=1e-3
    )
    gamma_k = 1029 * u / (1 - 1029 * u)
    dense_a, dense_b = inputs(CONTRACT, "normal", SHAPE, 9)
    whole = np.abs(dense_a.astype(float)) @ np.abs(dense_b.astype(float))
    assert expected(CONTRACT, "normal", (dense_a, dense_b)).bound == pytest.approx(
        gamma_k * whole, rel=1e-3
    )


@settings(max_examples=examples(30), deadline=None)
@given(k=st.integers(1, 12), seed=st.integers(0, 1000))
def test_the_reference_is_the_exact_product_within_its_own_share(k, seed):
    a, b = inputs(CONTRACT, "mixed", {"M": 2, "N": 2, "K": k}, seed)
    want = expected(CONTRACT, "normal", (a, b)).value
    for i in range(2):
        for j in range(2):
            exact = sum(
                (
                    Fraction(float(x)) * Fraction(float(y))
                    for x, y in zip(a[i], b[:, j], strict=True)
                ),
                Fraction(0),
            )
            assert abs(Fraction(want[i, j]) - exact) <= Fraction(
                expected(CONTRACT, "normal", (a, b)).bound[i, j]
            )


def product(kind, a, b, c):
    return judge(CONTRACT, kind, (np.float32(a), np.float32(b)), np.float32(c))


def test_nan_and_infinities_propagate_as_ieee_sums_do():
    nan, inf = np.nan, np.inf
    cases = [
        ([[nan, 1]], [[0], [0]], nan),
        ([[inf, 1]], [[2], [3]], inf),
        ([[inf, 1]], [[-2], [3]], -inf),
        ([[inf, 1]], [[0], [3]], nan),
        ([[0, 1]], [[-inf], [3]], nan),
        ([[inf, inf]], [[1], [-1]], nan),
        ([[-inf, 5]], [[-1], [inf]], inf),
    ]
    for a, b, want in cases:
        value = expected(CONTRACT, "nonfinite", (np.float32(a), np.float32(b))).value[0, 0]
        assert np.array_equal(value, want, equal_nan=True), (a, b)
        assert product("nonfinite", a, b, [[want]]) is None
        for wrong in {nan, inf, -inf, 0.0} - {want}:
            if not np.array_equal(wrong, want, equal_nan=True):
                assert product("nonfinite", a, b, [[wrong]]) is not None


def test_a_nan_elsewhere_does_not_excuse_a_cell():
    a = np.float32([[np.nan, 1], [1, 2]])
    b = np.float32([[1, 2], [3, 4]])
    good = np.float32([[np.nan, np.nan], [7, 10]])
    assert product("nonfinite", a, b, good) is None
    leaked = np.float32([[np.nan, np.nan], [np.nan, 10]])
    assert product("nonfinite", a, b, leaked).clause == "finite"


def test_what_may_overflow_is_free_and_nothing_else():
    big = 3e38
    assert product("normal", [[big, big]], [[1], [-1]], [[np.nan]]) is None
    assert product("normal", [[big / 4, big / 4]], [[1], [-1]], [[np.nan]]).clause == "finite"


def test_an_all_nan_output_and_zeros_do_not_pass():
    a, b = inputs(CONTRACT, "normal", {"M": 4, "N": 4, "K": 8}, 2)
    assert judge(CONTRACT, "normal", (a, b), np.full((4, 4), np.nan, np.float32)).clause == "finite"
    assert judge(CONTRACT, "normal", (a, b), np.zeros((4, 4), np.float32)).clause == "constant"


def test_denormal_results_are_kept():
    a, b = np.float32([[1e-30]]), np.float32([[1e-12]])
    assert 0 < float(a[0, 0]) * float(b[0, 0]) < np.finfo(np.float32).tiny
    assert product("denormal", a, b, a * b) is None
    assert product("denormal", a, b, [[0]]).clause == "denormals"


def test_no_terms_are_zeros():
    a, b = inputs(CONTRACT, "normal", {"M": 2, "N": 3, "K": 0}, 1)
    assert judge(CONTRACT, "normal", (a, b), np.zeros((2, 3), np.float32)) is None
    for other in (1e-40, np.nan, 1.0):
        c = np.full((2, 3), other, np.float32)
        assert judge(CONTRACT, "normal", (a, b), c).clause == "empty_sum"


def test_exact_kinds_are_judged_by_equality():
    for kind in EXACT:
        a, b = inputs(CONTRACT, kind, {"M": 5, "N": 5, "K": 30}, 4)
        c = a @ b
        assert judge(CONTRACT, kind, (a, b), c) is None
        c[2, 3] = np.nextafter(c[2, 3], np.float32(np.inf))
        finding = judge(CONTRACT, kind, (a, b), c)
        assert finding.cell == (2, 3)


def test_messages_say_what_the_wrong_output_is():
    a, b = inputs(CONTRACT, "normal", {"M": 12, "N": 12, "K": 12}, 8)
    for wrong, words in {
        "A^T B": a.T @ b,
        "A B^T": a @ b.T,
        "(A B)^T": (a @ b).T,
        "the product without its last term": a[:, :-1] @ b[:-1],
        "the sum over k < 8 alone": a[:, :8] @ b[:8],
        "the product of A cut to 16 bits": cut(a) @ b,
        "the product of B cut to 16 bits": a @ cut(b),
    }.items():
        finding = judge(CONTRACT, "normal", (a, b), np.ascontiguousarray(words))
        assert finding.detail.endswith(f"it equals {wrong}"), finding.detail


def test_the_canonical_form_reads_back_and_its_digest_tells_contracts_apart():
    contracts = [
        operator("gemm").contract(),
        operator("gemm").contract(ahead=("B",)),
        operator("gemm").contract(extents={"K": (1, 4096)}),
    ]
    for contract in contracts:
        assert contract_from(contract_data(contract)) == contract
    assert len({contract_digest(c) for c in contracts}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"operands": []},
        {"operator": "gem"},
        {"aliasing": "anything"},
        {"extents": {"M": [0, 5], "N": [1, 5], "K": [0, 5]}},
        {"ahead": ["C"]},
        {"relation": {"kind": "loose"}},
        {"strides": {"transposed": "allowed"}},
        {"digest": "0"},
        {"schema": 3},
        {"more": 1},
    ],
)
def test_a_clause_that_is_not_checked_is_not_read(change):
    with pytest.raises(InputError):
        contract_from(contract_data(CONTRACT) | change)


def test_the_domain_names_what_is_outside():
    assert outside(CONTRACT, {"M": 1, "N": 1, "K": 0}) is None
    assert outside(CONTRACT, {"M": 0, "N": 1, "K": 0}) == "M = 0 is outside 1 .. 2147483647"
    assert outside(CONTRACT, {"M": 1, "N": 1}) == "extent K has no value"


def test_other_element_types_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="no contract of gemm for element type"):
        operator("gemm").contract(dtypes="f23")
