"""RMSNorm: rows divided by the root of their mean square, times a weight for each column."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from formwright.contract.contract import (
    MAX_EXTENT,
    MAX_TERMS,
    Contract,
    Extent,
    Operand,
    Special,
)
from formwright.contract.expected import Expected
from formwright.contract.numbers import FLT_MAX, TINY32, Array, DType
from formwright.contract.operators import draws, running
from formwright.contract.operators.changes import FLOATS, first_half
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)
from formwright.contract.operators.running import Value

EPSILON: Final = 1e-6

Rows = Callable[[Generator, int, int, DType], Array]


def _normal(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    return draws.normal(rng, (t, h))


def _uniform(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    return draws.uniform(rng, (t, h))


def _equal(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    return np.repeat(draws.normal(rng, (t, 1)), h, axis=1)


def _large(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    # h squares below 2^(2*top) stay below 2^126.
    top = min((126 - h.bit_length()) // 2, draws.top(dtype))
    return draws.scaled(rng, (t, h), top - 6, top, dtype)


def _tiny(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    """The mean square is below epsilon."""
    return draws.scaled(rng, (t, h), -30, -11, dtype)


def _mixed(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    top = min(40, (126 - h.bit_length()) // 2, draws.top(dtype))
    return draws.scaled(rng, (t, h), -40, top, dtype)


def _denormal(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    return draws.denormal(rng, (t, h), dtype)


def _zeros(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    x = draws.normal(rng, (t, h))
    x[rng.random((t, h)) < 0.5] = -0.0
    x[t // 2] = 0
    return x


def _few(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    """Two cells a row that are not zero: as exact as two terms."""
    x = np.zeros((t, h), np.float32)
    rows = np.arange(t)
    first, second = rng.integers(0, h, t), rng.integers(0, h, t)
    first[0], second[0] = 0, h - 1
    x[rows, first] = draws.normal(rng, (t,))
    x[rows, second] = draws.normal(rng, (t,))
    return x


def _last(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    x = draws.normal(rng, (t, h))
    x[:, -1] *= 64
    x[:, max(0, h - 7) : h - 1] *= 16
    return x


def _nonfinite(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    x = draws.normal(rng, (t, h))
    for value in (np.nan, np.inf, -np.inf):
        x[int(rng.integers(0, t)), int(rng.integers(0, h))] = value
    return x


ROWS: Final[dict[str, Rows]] = {
    "normal": _normal,
    "uniform": _uniform,
    "equal": _equal,
    "large": _large,
    "tiny": _tiny,
    "denormal": _denormal,
    "few": _few,
    "last": _last,
    "nonfinite": _nonfinite,
}
"""Rows that the other norm asks its questions with too."""


def _make(name: str, rows: Rows, contract: Contract, rng: Generator, values: Values) -> Arrays:
    t, h = values["T"], values["H"]
    x = rows(rng, t, h, contract.inputs[0].dtype)
    g = draws.normal(rng, (h,)).astype(np.float64)
    if name == "equal":
        g = np.ones(h)
    if name == "nonfinite":
        g[int(rng.integers(0, h))] = np.nan
        g[int(rng.integers(0, h))] = np.inf
    return x, g


def _kind(name: str, asks: str, rows: Rows, clause: str = "tolerance") -> Kind:
    return Kind(name, asks, clause, partial(_make, name, rows))


KINDS: Final = (
    _kind("normal", "the tolerance on ordinary rows", _normal),
    _kind("uniform", "squares alike: the mean is over all columns", _uniform),
    _kind("equal", "rows of one value give signs", _equal),
    _kind("large", "squares near the largest number", _large, "range"),
    _kind("tiny", "a mean square below epsilon", _tiny, "epsilon"),
    _kind("mixed", "magnitudes over many binades", _mixed),
    _kind("denormal", "denormal inputs are kept", _denormal, "denormals"),
    _kind("zeros", "a row of zeros, and zeros of both signs", _zeros, "epsilon"),
    _kind("few", "two terms a row: full precision", _few, "sparse_terms"),
    _kind("last", "the last columns outweigh the others", _last),
    _kind("nonfinite", "NaN and infinities", _nonfinite, "nonfinite"),
)

CLAUSES: Final = {
    "tolerance": "each cell within the bound of its row's mean square, against float64",
    "range": "squares up to the largest f32 do not overflow",
    "epsilon": "1/1000000 is added to the mean square, not to the root",
    "denormals": "denormal inputs are kept",
    "sparse_terms": "rows of two terms within the bound of two: full precision",
    "nonfinite": "NaN and infinities propagate as the formula does, and nowhere else",
}


def _reference(_: Contract, arrays: Arrays) -> Expected:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        x, g = running.given(arrays[0]), running.given(arrays[1])
        squares = Value(x.exact * x.exact, np.full(x.exact.shape, TINY32) * (x.exact != 0))
        whole = running.total(squares)
        # The product's own rounding is one more than the additions have, as with FMA or without.
        whole = running.rounded(whole, small=False)
        count = float(x.exact.shape[1])
        mean = running.rounded(Value(whole.exact / count, whole.error / count), roundings=3)
        root = running.rsqrt(running.add(mean, running.constant(EPSILON)))
        value = running.multiply(running.multiply(x, root), g)
        # In another order an intermediate product may be denormal, and grows again.
        sizes = np.abs(x.exact), np.abs(root.exact), np.abs(g.exact)
        small = TINY32 * 1.01 * (sizes[0] + sizes[1] + sizes[2])
        free = (whole.exact + whole.error >= FLT_MAX) | (sizes[0] * sizes[2] >= FLT_MAX)
        free = free | (sizes[1] * sizes[2] >= FLT_MAX) | (np.abs(value.exact) >= FLT_MAX)
    sure = np.isfinite(x.exact).all(axis=1, keepdims=True) & np.isfinite(g.exact)
    nothing = (x.exact == 0) | (g.exact == 0)
    bound = np.where(nothing, 0.0, value.error + small)
    bound = np.where(np.isfinite(value.exact) & ~np.isfinite(bound), 0.0, bound)
    return Expected(value.exact, np.nan_to_num(bound, posinf=0.0), free & sure)


def _counts(values: Values) -> tuple[int, int]:
    points = values["T"] * values["H"]
    return 4 * points, points


RMSNORM: Final = Operator(
    name="rmsnorm",
    title="rows divided by the root of their mean square",
    formula=(
        "Y[T,H] = X[T,H] * rsqrt(s[T] / index(H) + 1/1000000) * g[H]",
        "s[T] = sum(h < H) X[T,h] * X[T,h]",
    ),
    extents=(Extent("T", 1, MAX_EXTENT), Extent("H", 1, MAX_TERMS)),
    operands=(
        Operand("X", ("T", "H"), "input"),
        Operand("g", ("H",), "input"),
        Operand("Y", ("T", "H"), "output"),
    ),
    dtypes={"X": FLOATS, "g": FLOATS, "Y": FLOATS},
    special=Special(),
    clauses=CLAUSES,
    kind_list=KINDS,
    reference=_reference,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Negate(((1, 0),), 1),
        Permute(((0, 0),), 0),
        Permute(((0, 1), (1, 0)), 1),
    ),
    counts=_counts,
    relation_list=(first_half("T", ((0, 0),), 0),),
)
