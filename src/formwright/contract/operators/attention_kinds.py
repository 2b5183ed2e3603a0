"""Kinds of inputs for attention: scores as softmax's kinds have them, and values to weigh."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.numbers import F64, Array, DType, format_of
from formwright.contract.operators import draws, softmax
from formwright.contract.operators.family import Arrays, Generator, Kind, Values

Table = Callable[[Generator, int, int, DType], Array]
"""Scores of some rows over the keys."""


def _shapes(contract: Contract, values: Values) -> tuple[tuple[int, ...], tuple[int, ...]]:
    q, k, _ = contract.inputs
    return contract.shape(q, values), contract.shape(k, values)


def _dense(
    scale: float, contract: Contract, rng: Generator, values: Values
) -> tuple[Array, Array, Array]:
    of_q, of_k = _shapes(contract, values)
    q = scale * draws.normal(rng, of_q)
    return q, draws.normal(rng, of_k), draws.normal(rng, of_k)


def _make_dense(scale: float, contract: Contract, rng: Generator, values: Values) -> Arrays:
    return _dense(scale, contract, rng, values)


def _directed(
    table: Table, contract: Contract, rng: Generator, values: Values
) -> tuple[F64, F64, Array]:
    """Queries along one axis of the head each, so that the keys' cells there are the scores.

    Queries beyond D share the axes in turn.
    """
    of_q, of_k = _shapes(contract, values)
    d = of_q[-1]
    queries = int(np.prod(of_q[1:-1]))
    axes = min(queries, d)
    dtype = contract.inputs[1].dtype
    q = np.zeros((of_q[0], queries, d))
    q[:, np.arange(queries), np.arange(queries) % axes] = 16
    k = np.zeros(of_k)
    for head in range(of_k[0]):
        scores = table(rng, axes, of_k[1], dtype)
        k[head, :, :axes] = np.asarray(scores, np.float64).T * (np.sqrt(d) / 16)
        # No query looks along the other axes: what stands there may not matter.
        k[head, :, axes:] = draws.normal(rng, (of_k[1], d - axes))
    return q.reshape(of_q), k, draws.normal(rng, of_k)


def _make_directed(table: Table, contract: Contract, rng: Generator, values: Values) -> Arrays:
    q, k, v = _directed(table, contract, rng, values)
    return q, k, v


def _records(rng: Generator, rows: int, keys: int, dtype: DType) -> Array:
    """Keys 0, 1, 2, 4, 8, … outweigh all before them, in odd rows key 0 all behind it.

    So each causal row has one key in sight, the last such one; an unmasked key behind it
    would take its place.
    """
    scores = np.full((rows, keys), -128.0)
    place = 1
    scores[:, 0] = 0
    level = 128.0
    while place < keys:
        scores[:, place] = level
        place, level = 2 * place, level + 128
    scores[1::2, 1:] = -128.0
    return scores


_BETWEEN: Final = 32
"""Keys in sight beside the heaviest, of the kind that asks how numerators are rounded."""


def _beside(rng: Generator, rows: int, keys: int, dtype: DType) -> Array:
    """Key 0 outweighs some behind it, whose numerators are anywhere; the rest is out of sight."""
    scores = np.full((rows, keys), -4096.0)
    scores[:, 0] = 0
    some = scores[:, 1 : _BETWEEN + 1]
    some[:] = -4 - 3 * rng.random(some.shape)
    return scores


def _between(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """Values so that each cell has one key alone, and nothing of the heaviest key."""
    q, k, v = _directed(_beside, contract, rng, values)
    keys, columns = np.arange(1, min(_BETWEEN + 1, v.shape[1])), np.arange(v.shape[2])
    v[:, 0] = 0
    v[:, keys] *= (keys[:, None] - 1) % v.shape[2] == columns % min(_BETWEEN, v.shape[2])
    return q, k, v


def _equal(contract: Contract, rng: Generator, values: Values) -> Arrays:
    of_q, of_k = _shapes(contract, values)
    return np.zeros(of_q), draws.normal(rng, of_k), draws.uniform(rng, of_k)


def _cancelling(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """Neighbouring keys are equal and their values nearly opposite."""
    q, k, v = _dense(1.0, contract, rng, values)
    half = 2 * (k.shape[1] // 2)
    near = 1 + 64 * float(format_of(contract.inputs[2].dtype).roundoff)
    k[:, 1:half:2] = k[:, 0:half:2]
    v[:, 1:half:2] = -(v[:, 0:half:2] * near)
    return q, k, v


def _denormal(contract: Contract, rng: Generator, values: Values) -> Arrays:
    q, k, v = _dense(1.0, contract, rng, values)
    return q, k, draws.denormal(rng, v.shape, contract.inputs[2].dtype)


def _last(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """The last keys are the heaviest, and have the largest values."""
    q, k, v = _directed(softmax.TABLES["last"], contract, rng, values)
    v[:, -1] *= 8
    return q, k, v


def _nonfinite(contract: Contract, rng: Generator, values: Values) -> Arrays:
    q, k, v = _dense(1.0, contract, rng, values)
    heads, keys, size = v.shape
    for array, value in ((q, np.nan), (v, np.nan), (v, np.inf), (v, -np.inf)):
        place = tuple(int(rng.integers(0, s)) for s in array.shape)
        array[place] = value
    if heads > 1:
        k[heads - 1, int(rng.integers(0, keys)), int(rng.integers(0, size))] = np.nan
    return q, k, v


def _lost(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """Scores of minus infinity: the first half of the keys, and all of every other head.

    Their weight is zero, whenever they are met; a row that sees no other key is NaN.
    """
    q, k, v = _dense(1.0, contract, rng, values)
    q[..., 0] = np.abs(q[..., 0]) + 0.5
    k[:, : (k.shape[1] + 1) // 2, 0] = -np.inf
    k[1::2, :, 0] = -np.inf
    return q, k, v


def _masked(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """NaN and infinities in the second half: the rows before it may not see them."""
    q, k, v = _dense(1.0, contract, rng, values)
    keys = k.shape[1]
    from_here = keys // 2
    k[:, from_here:, 0] = np.nan
    v[0::2, from_here] = np.nan
    v[1::2, keys - 1] = np.inf
    q[:, :, from_here + 1 :, -1] = np.inf
    return q, k, v


def _scored(name: str, asks: str, clause: str, exact: bool = False) -> Kind:
    return Kind(name, asks, clause, partial(_make_directed, softmax.TABLES[name]), exact)


_COMMON: Final = (
    Kind("normal", "the tolerance on ordinary inputs", "tolerance", partial(_make_dense, 1.0)),
    Kind(
        "peaked",
        "scores far apart: the conditioning of exp",
        "tolerance",
        partial(_make_dense, 6.0),
    ),
    _scored("far", "scores near 10000 and -10000: the maximum is taken off", "shift"),
    _scored("below", "rows below -10^30 (f16: -64): a maximum begins at none", "shift"),
    Kind("equal", "equal scores give the mean of the values", "equal_scores", _equal),
    _scored("few", "three keys in sight: full precision", "sparse_terms"),
    _scored("rising", "maxima that rise, and fall, block by block", "rescaled"),
    _scored("tail", "many small weights that matter together", "tolerance"),
    Kind("last", "the last keys outweigh the others", "tolerance", _last),
    Kind("cancellation", "values that nearly cancel", "tolerance", _cancelling),
    Kind("denormal", "denormal values", "denormals", _denormal),
    Kind("nonfinite", "NaN and infinities", "nonfinite", _nonfinite),
    Kind("lost", "keys whose score is minus infinity, first of all", "nonfinite", _lost),
)

_NARROW: Final = Kind(
    "between",
    "weights between two numbers of bf16: the nearest",
    "tolerance",
    _between,
    when=lambda contract: contract.stages != "f32",
)
"""Behind all others: the inputs of a kind are drawn by its place."""

DECODE: Final = (
    *_COMMON,
    _scored("one_hot", "one key alone is in sight: its value", "selection", exact=True),
    _NARROW,
)

PREFILL: Final = (
    *_COMMON,
    Kind(
        "one_hot",
        "each row has one key in sight, and heavier ones behind it",
        "selection",
        partial(_make_directed, _records),
        exact=True,
    ),
    Kind("masked", "NaN and infinities in keys and values behind the query", "masked", _masked),
    _NARROW,
)
