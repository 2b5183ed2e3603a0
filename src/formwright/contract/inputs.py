"""Inputs of GEMM by kind and seed: each kind asks one question of a kernel."""

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Final, Literal, get_args

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.reference import F32

Kind = Literal[
    "normal",
    "uniform",
    "large",
    "mixed",
    "cancellation",
    "zeros",
    "denormal",
    "integer",
    "sparse_rows",
    "sparse_columns",
    "select",
    "nonfinite",
]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

EXACT: Final[frozenset[Kind]] = frozenset({"integer", "select"})
"""Kinds whose f32 result is the same for every order of summation: judged by equality."""

Generator = np.random.Generator
Pair = tuple[F32, F32]


def inputs(contract: Contract, kind: Kind, values: Mapping[str, int], seed: int) -> Pair:
    """A[M,K] and B[K,N], contiguous f32; equal arguments give equal arrays."""
    m, n, k = values["M"], values["N"], values["K"]
    rng = np.random.default_rng([seed, KINDS.index(kind), m, n, k])
    a, b = _MAKERS[kind](rng, m, n, k)
    return np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)


def integer_limit(k: int) -> int:
    """The largest ``B`` with ``k * B^2 <= 2^24``: every partial sum is an integer in f32."""
    return isqrt((1 << 24) // max(k, 1))


def _normal(rng: Generator, m: int, n: int, k: int) -> Pair:
    return rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)


def _uniform(rng: Generator, m: int, n: int, k: int) -> Pair:
    return rng.random((m, k), np.float32), rng.random((k, n), np.float32)


def _scaled(rng: Generator, shape: tuple[int, int], low: int, high: int) -> F32:
    exponent = rng.integers(low, high + 1, shape).astype(np.float32)
    return np.asarray(
        np.ldexp(rng.uniform(0.5, 1, shape), exponent.astype(int)) * _sign(rng, shape)
    )


def _sign(rng: Generator, shape: tuple[int, int]) -> F32:
    return np.where(rng.random(shape) < 0.5, np.float32(-1), np.float32(1))


def _large(rng: Generator, m: int, n: int, k: int) -> Pair:
    # k products below 2^(2*top) stay below 2^126, half of what f32 holds.
    top = (126 - max(k, 1).bit_length()) // 2
    return _scaled(rng, (m, k), top - 20, top), _scaled(rng, (k, n), top - 20, top)


def _mixed(rng: Generator, m: int, n: int, k: int) -> Pair:
    return _scaled(rng, (m, k), -40, 40), _scaled(rng, (k, n), -40, 40)


def _cancellation(rng: Generator, m: int, n: int, k: int) -> Pair:
    a, b = _normal(rng, m, n, k)
    half = k // 2
    a[:, half : 2 * half] = -a[:, :half] * np.float32(1 + 2.0**-18)
    b[half : 2 * half] = b[:half]
    return a, b


def _zeros(rng: Generator, m: int, n: int, k: int) -> Pair:
    a, b = _normal(rng, m, n, k)
    a[rng.random((m, k)) < 0.6] = 0
    a[m // 2] = 0
    b[:, n // 2] = -0.0
    return a, b


def _denormal(rng: Generator, m: int, n: int, k: int) -> Pair:
    a = np.ldexp(rng.integers(1, 1 << 22, (m, k)).astype(np.float64), -149)
    b = rng.standard_normal((k, n))
    b[:, ::2] = np.ldexp(b[:, ::2], 100)
    return (a * _sign(rng, (m, k))).astype(np.float32), b.astype(np.float32)


def _integer(rng: Generator, m: int, n: int, k: int) -> Pair:
    limit = integer_limit(k)

    def draw(shape: tuple[int, int]) -> F32:
        return rng.integers(-limit, limit + 1, shape).astype(np.float32)

    return draw((m, k)), draw((k, n))


def _sparse_rows(rng: Generator, m: int, n: int, k: int) -> Pair:
    full, b = _normal(rng, m, n, k)
    a = np.zeros((m, k), np.float32)
    if k:
        rows = np.arange(m)
        first = rng.integers(0, k, m)
        second = rng.integers(0, k, m)
        first[0], second[0] = 0, k - 1
        a[rows, first] = full[rows, first]
        a[rows, second] = full[rows, second]
    return a, b


def _sparse_columns(rng: Generator, m: int, n: int, k: int) -> Pair:
    b, a = _sparse_rows(rng, n, m, k)
    return np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)


def _select(rng: Generator, m: int, n: int, k: int) -> Pair:
    b = rng.standard_normal((k, n), np.float32)
    a = np.zeros((m, k), np.float32)
    if k:
        chosen = rng.integers(0, k, m)
        chosen[0] = k - 1
        a[np.arange(m), chosen] = 1
    return a, b


def _nonfinite(rng: Generator, m: int, n: int, k: int) -> Pair:
    a, b = _normal(rng, m, n, k)
    if k:
        special = np.array([np.nan, np.inf, -np.inf], np.float32)
        for array in (a, b):
            count = max(1, min(3, array.shape[0] // 4))
            for value in special[:count]:
                row, column = (int(rng.integers(0, s)) for s in array.shape)
                array[row, column] = value
        # A zero that meets an infinity: the product is NaN and may not be skipped.
        a[m // 2, :] = 0
    return a, b


_MAKERS: Final[Mapping[Kind, Callable[[Generator, int, int, int], Pair]]] = {
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
