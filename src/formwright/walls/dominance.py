"""Rows that another row is no worse than in everything that counts are dropped.

Each criterion has a key for every row, the smaller the better; it is a pair of columns where the
exact value is only known to lie between. A row goes if another's upper keys are at most its lower
keys in all criteria: that is never wrong, and complete where the two columns are one. Of equal rows
one stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formwright.ir.int_arrays import Array

_HEAD = 64
"""Rows that are compared with all that follow at a time."""

ROWS_KEPT = 200_000
"""Past this many rows that stay, the rest is kept without being compared."""


@dataclass(frozen=True, slots=True)
class Key:
    """``low`` and ``high`` ascend with the criterion; one array where they are equal."""

    low: Array
    high: Array

    def taken(self, places: Array) -> "Key":
        low = self.low[places]
        return Key(low, low if self.high is self.low else self.high[places])


def undominated(keys: Sequence[Key], rank: Array) -> Array:
    """Places of the rows that stay, ascending. Of equal rows the one of least ``rank`` stays."""
    if rank.size == 0:
        return np.arange(0)
    if not keys:
        return np.array([int(np.argmin(rank))])
    order = np.lexsort((rank, _score(keys)))
    left = [k.taken(order) for k in keys]
    kept: list[Array] = []
    held = 0
    while order.size and held < ROWS_KEPT:
        first = _own(left, min(_HEAD, order.size))
        kept.append(order[first])
        held += first.size
        rest = np.arange(min(_HEAD, order.size), order.size)
        for row in first:
            if not rest.size:
                break
            rest = _survivors(left, int(row), rest)
        order = order[rest]
        left = [k.taken(rest) for k in left]
    kept.append(order)
    return np.sort(np.concatenate(kept))


def _score(keys: Sequence[Key]) -> Array:
    """A number that is smaller for a row that dominates: good rows first."""
    total = np.zeros(keys[0].low.shape)
    for key in keys:
        low = key.low.astype(np.float64)
        least, most = float(low.min()), float(low.max())
        if most > least:
            total += np.log1p((low - least) * (1e6 / (most - least)))
    return total


def _own(keys: Sequence[Key], count: int) -> Array:
    """Of the first ``count`` rows, those that no other of them dominates."""
    worse = np.ones((count, count), dtype=bool)
    for key in keys:
        worse &= key.high[:count, None] <= key.low[None, :count]
    # Equal rows dominate one another: the first of them stays.
    mutual = worse & worse.T & (np.arange(count)[:, None] > np.arange(count)[None, :])
    worse &= ~mutual
    np.fill_diagonal(worse, val=False)
    return np.flatnonzero(~worse.any(axis=0))


def _survivors(keys: Sequence[Key], row: int, rest: Array) -> Array:
    """Of the rows ``rest``, those that ``row`` does not dominate."""
    inside = rest
    for key in keys:
        inside = inside[key.low[inside] >= key.high[row]]
        if not inside.size:
            return rest
    stays = np.ones(int(rest[-1]) + 1, dtype=bool)
    stays[inside] = False
    return rest[stays[rest]]
