"""Softmax over the rows of a matrix."""

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
from formwright.contract.numbers import F64, TINY32, Array, DType, to_double
from formwright.contract.operators import draws
from formwright.contract.operators.changes import FLOATS, added, first_half
from formwright.contract.operators.exponentials import weights
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Operator,
    Permute,
    Values,
)
from formwright.contract.operators.running import given

Rows = Callable[[Generator, int, int, DType], Array]


def _normal(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    return draws.normal(rng, (r, c))


def _wide(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    return 20 * draws.normal(rng, (r, c))


def _far(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Rows around -10000 and 10000: without the maximum they underflow and overflow."""
    middle = np.where(np.arange(r) % 2 == 0, 1e4, -1e4)[:, None]
    return np.asarray(middle + 64 * draws.normal(rng, (r, c)))


def _extreme(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Magnitudes over all binades: differences overflow, most exponentials vanish."""
    return draws.scaled(rng, (r, c), -100, draws.top(dtype), dtype)


def _below(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Every other row is far below 0: no finite number is a maximum to begin with.

    2^8 are left to the largest number, for the products that attention makes of these scores.
    """
    top = draws.top(dtype) - 8
    level = 2.0 ** rng.integers(min(101, top - 1), top, (r, 1))
    x = draws.normal(rng, (r, c))
    x[0::2] = (-level * (1 + rng.random((r, c))))[0::2]
    return x


def _equal(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    return np.repeat(draws.normal(rng, (r, 1)), c, axis=1)


def _one(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    x = -1024 - 64 * rng.integers(0, 8, (r, c)).astype(np.float64)
    x[np.arange(r), _some(rng, r, c)] = 0
    return x


def _few(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Three scores near each other, the others out of sight: as exact as three terms."""
    x = np.full((r, c), -4096.0)
    for offset in (0.0, -0.69, -2.3):
        x[np.arange(r), _some(rng, r, c)] = offset + 0.25 * rng.random(r)
    return x


def _rising(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Every block has a larger maximum than those before: each earlier sum is rescaled."""
    steps = np.sort(rng.uniform(-12, 12, (r, c)), axis=1)
    return np.where(np.arange(r)[:, None] % 2 == 0, steps, steps[:, ::-1])


def _tail(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """One large score and many small ones that matter together."""
    x = -4 - rng.random((r, c)) * 4
    x[np.arange(r), _some(rng, r, c)] = 0
    return np.asarray(x)


def _last(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """The last columns outweigh the others."""
    x = -8 + draws.normal(rng, (r, c))
    x[:, -1] = 2
    x[:, max(0, c - 7) : c - 1] += 8
    return np.asarray(x)


def _denormal(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    return draws.denormal(rng, (r, c), dtype)


def _masked(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    x = draws.normal(rng, (r, c)).astype(np.float64)
    x[rng.random((r, c)) < 0.5] = -np.inf
    x[np.arange(r), _some(rng, r, c)] = 1
    return x


def _masked_rows(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    x = _masked(rng, r, c, dtype)
    x[r // 2] = -np.inf
    return x


def _nonfinite(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    x = draws.normal(rng, (r, c)).astype(np.float64)
    for value in (np.nan, np.inf, -np.inf):
        x[int(rng.integers(0, r)), int(rng.integers(0, c))] = value
    return x


def _masked_first(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """Whole blocks of a row masked: the first half of even rows, the second of odd ones."""
    x = draws.normal(rng, (r, c)).astype(np.float64)
    half = c // 2
    x[::2, :half] = -np.inf
    x[1::2, c - half :] = -np.inf
    return x


def _lost(rng: Generator, r: int, c: int, dtype: DType) -> Array:
    """A NaN among masked scores only: no maximum of a block tells of it."""
    x = _masked_first(rng, r, c, dtype)
    x[0, int(rng.integers(0, max(1, c // 2)))] = np.nan
    return x


def _some(rng: Generator, r: int, c: int) -> Array:
    chosen = rng.integers(0, c, r)
    chosen[0] = c - 1
    return chosen


TABLES: Final = {
    "far": _far,
    "below": _below,
    "few": _few,
    "rising": _rising,
    "tail": _tail,
    "last": _last,
    "one_hot": _one,
}
"""Scores that attention asks its questions with too."""


def _make(rows: Rows, contract: Contract, rng: Generator, values: Values) -> Arrays:
    return (rows(rng, values["R"], values["C"], contract.inputs[0].dtype),)


def _kind(name: str, asks: str, rows: Rows, clause: str = "tolerance", exact: bool = False) -> Kind:
    return Kind(name, asks, clause, partial(_make, rows), exact)


KINDS: Final = (
    _kind("normal", "the tolerance on ordinary scores", _normal),
    _kind("wide", "scores far apart: the conditioning of exp", _wide),
    _kind("far", "scores near 10000 and -10000: the maximum is taken off", _far, "shift"),
    _kind("extreme", "scores of every magnitude: nothing overflows", _extreme, "shift"),
    _kind("below", "rows below -10^30 (f16: -64): a maximum begins at none", _below, "shift"),
    _kind("equal", "equal scores give 1/C", _equal, "equal_scores"),
    _kind("one_hot", "one score alone is in sight: 1 and zeros", _one, "selection", exact=True),
    _kind("few", "three scores in sight: full precision", _few, "sparse_terms"),
    _kind("rising", "maxima that rise, and fall, block by block", _rising, "rescaled"),
    _kind("tail", "many small terms that matter together", _tail),
    _kind("last", "the last columns outweigh the others", _last),
    _kind("denormal", "denormal scores", _denormal),
    _kind("masked", "scores of minus infinity have weight zero", _masked, "masked"),
    _kind("masked_rows", "a row of minus infinity alone gives NaN", _masked_rows, "masked_row"),
    _kind("nonfinite", "NaN and infinities", _nonfinite, "nonfinite"),
    _kind("masked_first", "whole blocks of a row masked", _masked_first, "masked"),
    _kind("lost", "a NaN among masked scores only", _lost, "nonfinite"),
)

CLAUSES: Final = {
    "tolerance": "each cell within the bound of its row's exponentials, against float64",
    "shift": "scores of any magnitude: no exponential overflows, no row vanishes",
    "equal_scores": "equal scores give equal weights that sum to 1",
    "selection": "a score that outweighs all others gives 1 and zeros",
    "sparse_terms": "three scores in sight within the bound of three terms: full precision",
    "rescaled": "sums are right when the maximum is found late",
    "masked": "a score of minus infinity has weight zero and nothing of it is seen",
    "masked_row": "a row of minus infinity alone gives NaN",
    "nonfinite": "NaN and plus infinity make their row NaN, and no other",
}


def _reference(_: Contract, arrays: Arrays) -> Expected:
    found = weights(given(arrays[0]))
    relative = found.normalised()
    bound = found.exact * np.where(found.exact > 0, relative, 0.0)
    bound = np.minimum(bound, 1.0) + found.flushed + np.where(found.exact > 0, TINY32, 0.0)
    bound = np.where(np.isfinite(bound), bound, 1.0)
    return Expected(found.exact, bound, np.zeros(bound.shape, bool))


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    x = to_double(arrays[0])
    if x.shape[1] < 2:
        return []
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        z = e.sum(axis=1, keepdims=True)
        short = e / (z - e[:, -1:])
        found = [
            ("exp without the division by the sum", e),
            ("the softmax of the columns", _columns(x)),
            ("the softmax of the whole matrix", np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
        ]
        if np.isfinite(short).all():
            found.append(("a sum that lacks its last term", short))
    return found


def _columns(x: F64) -> F64:
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return np.asarray(e / e.sum(axis=0, keepdims=True))


def _counts(values: Values) -> tuple[int, int]:
    points = values["R"] * values["C"]
    # maximum, difference, exp, sum, quotient
    return 5 * points, points


SOFTMAX: Final = Operator(
    name="softmax",
    title="softmax of each row",
    formula=(
        "Y[R,C] = exp(X[R,C] - m[R]) / z[R]",
        "m[R] = max(c < C) X[R,c]",
        "z[R] = sum(c < C) exp(X[R,c] - m[R])",
    ),
    extents=(Extent("R", 1, MAX_EXTENT), Extent("C", 1, MAX_TERMS)),
    operands=(Operand("X", ("R", "C"), "input"), Operand("Y", ("R", "C"), "output")),
    dtypes={"X": FLOATS, "Y": FLOATS},
    special=Special(masked_row="nan", masked="ignored"),
    clauses=CLAUSES,
    kind_list=KINDS,
    reference=_reference,
    symmetry_list=(Permute(((0, 0),), 0), Permute(((0, 1),), 1)),
    counts=_counts,
    relation_list=(
        first_half("R", ((0, 0),), 0),
        added(
            "pad C",
            "columns of minus infinity change nothing",
            "C",
            ((0, 1),),
            lambda zeros, _: np.full(zeros.shape, -np.inf),
            1,
        ),
    ),
    suspects=_suspects,
)
