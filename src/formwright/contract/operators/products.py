"""Kinds of inputs for products of matrices, and the error that their sums may make.

``left`` [M,K] and ``right`` [K,N]: the families built on an inner product draw from here.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from formwright.contract.expected import Expected
from formwright.contract.numbers import (
    F64,
    FLT_MAX,
    TINY32,
    U64,
    Array,
    DType,
    Mask,
    format_of,
    gamma,
    to_double,
)
from formwright.contract.operators import draws
from formwright.contract.operators.draws import Generator

Pair = tuple[Array, Array]
Types = tuple[DType, DType]
Maker = Callable[[Generator, int, int, int, Types], Pair]


def _normal(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    return draws.normal(rng, (m, k), types[0]), draws.normal(rng, (k, n), types[1])


def _uniform(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    return draws.uniform(rng, (m, k), types[0]), draws.uniform(rng, (k, n), types[1])


def _large(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    # k products below 2^(2*top) stay below 2^126, half of what f32 holds.
    top = (draws.top(*types) - max(k, 1).bit_length()) // 2
    left = draws.scaled(rng, (m, k), top - 20, top, types[0])
    return left, draws.scaled(rng, (k, n), top - 20, top, types[1])


def _mixed(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    high = min(40, (draws.top(*types) - max(k, 1).bit_length()) // 2)
    left = draws.scaled(rng, (m, k), -40, high, types[0])
    return left, draws.scaled(rng, (k, n), -40, high, types[1])


def _cancellation(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    a, b = _normal(rng, m, n, k, types)
    half = k // 2
    near = 1 + 64 * float(format_of(types[0]).roundoff)
    a[:, half : 2 * half] = -(a[:, :half] * near)
    b[half : 2 * half] = b[:half]
    return a, b


def _zeros(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    a, b = _normal(rng, m, n, k, types)
    a[rng.random((m, k)) < 0.6] = 0
    a[m // 2] = 0
    if n > 1:  # a single column of zeros would ask nothing
        b[:, n // 2] = -0.0
    return a, b


def _denormal(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    b = draws.normal(rng, (k, n), types[1]).astype(np.float64)
    if types[1] != "i8":
        b[:, ::2] = np.ldexp(b[:, ::2], min(100, draws.top(types[1]) - 4))
    return draws.denormal(rng, (m, k), types[0]), b


def _integer(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    limit = draws.whole_limit(k, *types)
    return draws.whole(rng, (m, k), limit), draws.whole(rng, (k, n), limit)


def _sparse_rows(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    full, b = _normal(rng, m, n, k, types)
    a = np.zeros_like(full)
    if k:
        rows = np.arange(m)
        first = rng.integers(0, k, m)
        second = rng.integers(0, k, m)
        first[0], second[0] = 0, k - 1
        a[rows, first] = full[rows, first]
        a[rows, second] = full[rows, second]
    return a, b


def _sparse_columns(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    b, a = _sparse_rows(rng, n, m, k, (types[1], types[0]))
    return a.T, b.T


def _select(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    b = draws.normal(rng, (k, n), types[1])
    a = np.zeros((m, k))
    if k:
        chosen = rng.integers(0, k, m)
        chosen[0] = k - 1
        a[np.arange(m), chosen] = 1
    return a, b


def _nonfinite(rng: Generator, m: int, n: int, k: int, types: Types) -> Pair:
    a, b = _normal(rng, m, n, k, types)
    if k:
        special = np.array([np.nan, np.inf, -np.inf], np.float32)
        for array, dtype in ((a, types[0]), (b, types[1])):
            if dtype == "i8":
                continue
            count = max(1, min(3, array.shape[0] // 4))
            # A NaN in a single column would leave no cell that is anything else.
            first = 1 if array is b and n == 1 else 0
            for value in special[first : first + count]:
                row, column = (int(rng.integers(0, s)) for s in array.shape)
                array[row, column] = value
        # A zero that meets an infinity: the product is NaN and may not be skipped.
        a[m // 2, :] = 0
    return a, b


MAKERS: Final[Mapping[str, Maker]] = {
    "normal": _normal,
    "uniform": _uniform,
    "large": _large,
    "mixed": _mixed,
    "cancellation": _cancellation,
    "zeros": _zeros,
    "denormal": _denormal,
    "integer": _integer,
    "sparse_rows": _sparse_rows,
    "sparse_columns": _sparse_columns,
    "select": _select,
    "nonfinite": _nonfinite,
}

EXACT: Final = frozenset({"integer", "select"})

CLAUSES: Final[Mapping[str, str]] = {
    "tolerance": "each cell within gamma of the terms it sums, against float64",
    "exact_integers": "integers with K*B^2 <= 2^24 come out equal",
    "selection": "rows with a single 1 copy rows of the other operand",
    "sparse_terms": "rows and columns of two terms within gamma_3: full precision",
    "denormals": "denormal inputs and results are kept",
    "nonfinite": "NaN and infinities propagate as IEEE sums do, and nowhere else",
    "empty_sum": "K = 0 gives zeros",
}

CLAUSE_OF: Final[Mapping[str, str]] = {
    "integer": "exact_integers",
    "select": "selection",
    "sparse_rows": "sparse_terms",
    "sparse_columns": "sparse_terms",
    "denormal": "denormals",
    "nonfinite": "nonfinite",
}
"""The check that a kind of inputs is for; the others ask for the tolerance."""

ASKS: Final[Mapping[str, str]] = {
    "normal": "the tolerance on dense inputs",
    "uniform": "the tolerance on dense inputs without cancellation",
    "large": "magnitudes near the largest that overflow nowhere",
    "mixed": "magnitudes over many binades",
    "cancellation": "sums far smaller than their terms",
    "zeros": "rows, columns and cells of zeros, both signs",
    "denormal": "denormal inputs and results",
    "integer": "integers whose every partial sum is exact",
    "sparse_rows": "two terms a row: gamma_3 refuses reduced precision",
    "sparse_columns": "two terms a column",
    "select": "rows with a single 1 copy the other operand",
    "nonfinite": "NaN and infinities",
}


def product(a: Array, b: Array) -> Expected:
    """Value and allowed error of each cell of ``a @ b`` computed in f32, in any order."""
    finite = bool(np.isfinite(a).all() and np.isfinite(b).all())
    x = np.where(np.isfinite(a), to_double(a), 0)
    y = np.where(np.isfinite(b), to_double(b), 0)
    value = x @ y
    magnitude = np.abs(x) @ np.abs(y)
    bound = product_bound(x, y, magnitude)
    free = magnitude + bound >= FLT_MAX
    if not finite:
        value = np.where(free, value, _propagate(a, b, value))
    return Expected(value, bound, free & np.isfinite(value))


def product_bound(x: F64, y: F64, magnitude: F64) -> F64:
    """``gamma_n (|x| |y|) + t 2^-150 (1 + gamma_n)``, and the reference's own share.

    ``t`` counts the terms of the component that are not zero and ``n = min(K, t+1)``.
    Higham, Accuracy and Stability of Numerical Algorithms, 3.5 and 2.1 (underflow): it
    holds for every order of summation, with or without FMA.
    """
    # Products with a zero and additions of zero are exact, so a component with t terms
    # that are not zero has at most t roundings on any path, whatever K is. One more is
    # allowed, for a kernel that rounds once more when it stores.
    k = x.shape[1]
    dense = bool(x.all() and y.all())
    counts = np.full(magnitude.shape, k) if dense else meet(x != 0, y != 0)
    terms = counts.astype(np.float64)
    growth = gamma(np.minimum(float(k), terms + 1))
    underflow = terms * TINY32 * (1 + growth)
    # Products of two f32 are exact in float64; only the reference's own sums round.
    own = 1.01 * k * U64 * magnitude
    return np.where(terms > 0, growth * magnitude + underflow + own, 0.0)


def _propagate(a: Array, b: Array, finite: F64) -> F64:
    """IEEE sums that meet NaN or infinities: the same for every order of summation."""

    def both(left: Mask, right: Mask) -> Mask:
        return np.asarray(meet(left, right) > 0)

    inf_a, inf_b = np.isinf(a), np.isinf(b)
    rows = np.asarray(np.isnan(a).any(axis=1))[:, None]
    columns = np.asarray(np.isnan(b).any(axis=0))[None, :]
    nan = rows | columns | both(inf_a, b == 0) | both(a == 0, inf_b)
    with np.errstate(invalid="ignore"):
        up, down = a > 0, a < 0
        rise, fall = b > 0, b < 0
    plus = both(up & inf_a, rise) | both(down & inf_a, fall)
    plus |= both(up, rise & inf_b) | both(down, fall & inf_b)
    minus = both(up & inf_a, fall) | both(down & inf_a, rise)
    minus |= both(up, fall & inf_b) | both(down, rise & inf_b)
    value = np.where(plus, np.inf, np.where(minus, -np.inf, finite))
    return np.where(nan | (plus & minus), np.nan, value)


def meet(left: Mask, right: Mask) -> Array:
    """For each component, how many k have both; counts below 2^24 are exact in f32."""
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32))


def halved(array: Array) -> F64:
    """f32 values cut to their upper 16 bits."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)
