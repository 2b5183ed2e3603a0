"""Exact values by their places among all: whole numbers that compare as the values do."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from formwright.ir.int_arrays import Array
from formwright.ir.rational_arrays import Exact
from formwright.ir.vectorise import Truths

_FEW_DENOMINATORS = 64


def ranked(value: Exact | Truths) -> Array:
    """The place of each exact value among all; what has no value stands alone."""
    if isinstance(value, Truths):
        return np.asarray(value.value).astype(np.int64)
    num, den = np.broadcast_arrays(np.asarray(value.num.a), np.asarray(value.den.a))
    ranks = places_of(num) if isinstance(value.den.a, int) else _ranked_quotients(num, den)
    if value.bad is not False:
        ranks, bad = np.broadcast_arrays(ranks, np.asarray(value.bad))
        alone = int(ranks.max(initial=0)) + 1 + np.arange(ranks.size).reshape(ranks.shape)
        ranks = np.where(bad, alone, ranks)
    return ranks


def places_of(column: Array) -> Array:
    """The place of each number among the distinct ones."""
    _, ranks = np.unique(column, return_inverse=True)
    return np.asarray(ranks, dtype=np.int64).reshape(column.shape)


def _ranked_quotients(num: Array, den: Array) -> Array:
    """Over one denominator where that fits; else by floats where they tell two quotients apart,
    exactly where they do not."""
    dens = np.unique(den)
    if dens.size <= _FEW_DENOMINATORS:
        shared = lcm(*(int(d) for d in dens))
        if shared * max(1, abs(int(num.min())), abs(int(num.max()))) < 2**62:
            return places_of(num.astype(np.int64) * (shared // den.astype(np.int64)))
    common = np.gcd(num, den)
    num, den = num // common, den // common
    code = combined([places_of(num), places_of(den)])
    _, first = np.unique(code, return_index=True)
    pairs = list(zip(num.reshape(-1)[first].tolist(), den.reshape(-1)[first].tolist(), strict=True))
    near = np.array([n / d for n, d in pairs])
    order = np.argsort(near, kind="stable")
    ascending = near[order]
    close = np.flatnonzero(np.diff(ascending) <= 1e-14 * np.abs(ascending[1:]))
    for start, stop in _runs(close):
        run = order[start : stop + 1]
        order[start : stop + 1] = sorted(run, key=lambda i: Fraction(*pairs[i]))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return place[code]


def _runs(places: Array) -> list[tuple[int, int]]:
    """Runs of neighbours: first place and the place behind the last pair."""
    runs: list[tuple[int, int]] = []
    for place in places.tolist():
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


def combined(columns: Sequence[Array]) -> Array:
    """One number for each combination of values, from 0, in no order of meaning."""
    code: Array = np.zeros((), dtype=np.int64)
    for column in columns:
        code = places_of(code * (int(column.max(initial=0)) + 1) + column)
    return code
