"""Rotary embedding: pairs of cells half a head apart, turned by the angles of their token.

``c[T,H]`` holds the cosines, ``s[T,H]`` the sines with their signs: minus in the first half.
"""

from functools import partial
from typing import Final

import numpy as np

from formwright.contract.contract import MAX_EXTENT, Contract, Extent, Operand, Special
from formwright.contract.expected import Expected
from formwright.contract.numbers import F64, FLT_MAX, TINY32, U64, Array, gamma, to_double
from formwright.contract.operators import draws
from formwright.contract.operators.changes import FLOATS, doubled, first_half
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)


def turned(x: Array) -> Array:
    """``X[t,n,(h + H//2) mod H]``."""
    size = x.shape[-1]
    return np.asarray(np.take(x, (np.arange(size) + size // 2) % size, axis=-1))


def _make(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    t, n, h = values["T"], values["N"], values["H"]
    x = draws.normal(rng, (t, n, h)).astype(np.float64)
    half = max(1, h // 2)
    frequency = 10000.0 ** (-np.arange(half) / half)
    angles = np.resize(np.outer(np.arange(t) + rng.integers(0, 512), frequency), (t, half))
    c = np.resize(np.concatenate([np.cos(angles)] * 3, axis=1)[:, :h], (t, h))
    s = np.resize(np.concatenate([-np.sin(angles)] + [np.sin(angles)] * 2, axis=1)[:, :h], (t, h))
    types = [o.dtype for o in contract.inputs]
    if name == "any":
        c, s = draws.normal(rng, (t, h)), draws.normal(rng, (t, h))
    elif name == "integer":
        limit = draws.whole_limit(2, *types)
        x, c, s = (draws.whole(rng, shape, limit) for shape in ((t, n, h), (t, h), (t, h)))
    elif name == "quarter":
        odd = (np.arange(t) % 2 == 1)[:, None] & np.ones(h, bool)
        sign = np.where(np.arange(h) < h // 2, -1.0, 1.0)
        c, s = np.where(odd, 0.0, 1.0), np.where(odd, sign, 0.0)
    elif name == "cancellation":
        c = draws.normal(rng, (t, h)).astype(np.float64)
        s = -c * (1 + 2.0**-7)
        x = np.repeat(x[:, :, :1], h, axis=2)
    elif name == "large":
        x = draws.scaled(rng, x.shape, 0, draws.top(types[0]) - 4, types[0])
    elif name == "denormal":
        x = draws.denormal(rng, x.shape, types[0])
    elif name == "nonfinite":
        for value in (np.nan, np.inf):
            x[tuple(int(rng.integers(0, size)) for size in x.shape)] = value
    return x, c, s


def _kind(name: str, asks: str, clause: str = "tolerance", exact: bool = False) -> Kind:
    return Kind(name, asks, clause, partial(_make, name), exact)


KINDS: Final = (
    _kind("normal", "angles as models have them"),
    _kind("any", "tables of any numbers: both products count"),
    _kind("integer", "integers: equal", "exact_integers", exact=True),
    _kind("quarter", "turns by nothing and by a quarter copy cells", "selection", exact=True),
    _kind("cancellation", "two products that nearly cancel"),
    _kind("large", "magnitudes near the largest"),
    _kind("denormal", "denormal inputs", "denormals"),
    _kind("nonfinite", "NaN and infinities", "nonfinite"),
)

CLAUSES: Final = {
    "tolerance": "each cell within gamma_3 of its two products, against float64",
    "exact_integers": "integers come out equal",
    "selection": "turns by nothing and by a quarter copy cells, half a head apart",
    "denormals": "denormal inputs are kept",
    "nonfinite": "NaN and infinities reach their own pair and no other cell",
}


def _reference(_: Contract, arrays: Arrays) -> Expected:
    with np.errstate(invalid="ignore", over="ignore"):
        x, c, s = (to_double(a) for a in arrays)
        first, second = x * c[:, None], turned(x) * s[:, None]
        value = first + second
        size = np.abs(first) + np.abs(second)
        terms = (first != 0).astype(np.float64) + (second != 0)
        bound = gamma(terms + 1) * size + terms * TINY32 * 1.01 + 4 * U64 * size
        bound = np.where(terms > 0, bound, 0.0)
        free = size + bound >= FLT_MAX
    return Expected(value, np.nan_to_num(bound, posinf=0.0), free & np.isfinite(value))


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    x, c, s = (to_double(a) for a in arrays)
    pairs = x
    if x.shape[-1] % 2 == 0:
        pairs = x.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)
    return [
        ("the rotation the other way", x * c[:, None] - turned(x) * s[:, None]),
        ("the rotation of neighbouring cells", x * c[:, None] + pairs * s[:, None]),
        ("the input itself", x),
    ]


def _counts(values: Values) -> tuple[int, int]:
    points = values["T"] * values["N"] * values["H"]
    return 3 * points, points


ROPE: Final = Operator(
    name="rope",
    title="rotary embedding",
    formula=("Y[T,N,H] = X[T,N,H] * c[T,H] + X[T,N,(h + H//2) mod H] * s[T,H]",),
    extents=(Extent("T", 1, MAX_EXTENT), Extent("N", 1, MAX_EXTENT), Extent("H", 1, MAX_EXTENT)),
    operands=(
        Operand("X", ("T", "N", "H"), "input"),
        Operand("c", ("T", "H"), "input"),
        Operand("s", ("T", "H"), "input"),
        Operand("Y", ("T", "N", "H"), "output"),
    ),
    dtypes=dict.fromkeys(("X", "c", "s", "Y"), FLOATS),
    special=Special(),
    clauses=CLAUSES,
    kind_list=KINDS,
    reference=_reference,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Negate(((0, 1),), 1),
        Permute(((0, 0), (1, 0), (2, 0)), 0),
        Permute(((0, 1),), 1),
    ),
    counts=_counts,
    relation_list=(
        doubled(0),
        first_half("T", ((0, 0), (1, 0), (2, 0)), 0),
        first_half("N", ((0, 1),), 1),
    ),
    suspects=_suspects,
)
