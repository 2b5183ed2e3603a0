"""Rows that another row is no worse than in everything that counts are dropped.

Each criterion is a whole number for every row, the smaller the better: the place of its exact value
among all values. Pairs of criteria are swept first: among rows that agree in all others, those that
no row is below in both stay. What is left is compared with the rows that promise most.
"""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from formwright.ir.int_arrays import Array

_STRONG = 1024
"""Rows that all others are compared with at the end."""

_FEW = 4096
"""Up to this many rows all are compared with all."""

_BLOCK = 256


def undominated(keys: Sequence[Array], rank: Array) -> Array:
    """Places of the rows that stay, ascending. Of equal rows the one of least ``rank`` stays.

    A row that goes is no better than one that stays, in every criterion; not every such row goes.
    """
    if rank.size == 0:
        return np.arange(0)
    wide = sorted((k for k in keys if k.min() < k.max()), key=lambda k: -int(k.max()))
    if not wide:
        return np.array([int(np.argmin(rank))])
    if len(wide) == 1:
        return np.array([int(np.lexsort((rank, wide[0]))[0])])
    # Rows in the order of their ranks: of equal ones a stable order keeps the first.
    places = np.argsort(rank)
    table = np.stack([k.astype(np.int32) for k in wide])[:, places]
    for one, other in combinations(range(len(wide)), 2):
        stays = _swept(table, one, other)
        table, places = table[:, stays], places[stays]
    stays = _compared(table)
    return np.sort(places[stays])


def _swept(table: Array, one: int, other: int) -> Array:
    """Rows that no row equal in all but two criteria is at most in those two; ascending."""
    rest = [row for i, row in enumerate(table) if i not in (one, other)]
    order, number = _grouped(rest, table[one], table[other])
    second = table[other][order].astype(np.int64)
    # Later groups lie lower: the running minimum starts anew with each.
    lifted = second + (number[-1] - number) * (int(second.max()) + 1)
    before = np.minimum.accumulate(lifted)
    stays = np.ones(order.size, dtype=bool)
    stays[1:] = lifted[1:] < before[:-1]
    return np.sort(order[stays])


def _grouped(rest: Sequence[Array], one: Array, other: Array) -> tuple[Array, Array]:
    """An order by the columns of ``rest``, then the two others; and each row's group in it."""
    columns = [*rest, one, other]
    sizes = [int(c.max()) + 1 for c in columns]
    if prod(sizes) >= 2**62:
        order = np.lexsort((other, one, *reversed(rest)))
        changes = np.zeros(order.size, dtype=bool)
        for row in rest:
            changes[1:] |= np.diff(row[order]) != 0
        return order, np.cumsum(changes)
    # One number for all columns: sorted once instead of once for each.
    code = np.zeros(one.size, dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        code *= size
        code += column
    order = np.argsort(code, kind="stable")
    group = code[order] // (sizes[-1] * sizes[-2])
    return order, np.cumsum(np.diff(group, prepend=group[:1]) != 0)


def _compared(table: Array) -> Array:
    """Rows that none of the most promising rows dominates; all are promising where they are few."""
    score = np.log1p(table.astype(np.float64)).sum(axis=0)
    order = np.argsort(score, kind="stable")
    strong = order if order.size <= _FEW else order[:_STRONG]
    stays = np.ones(order.size, dtype=bool)
    for start in range(0, strong.size, _BLOCK):
        block = strong[start : start + _BLOCK]
        block = block[stays[block]]
        left = np.flatnonzero(stays)
        worse = np.ones((block.size, left.size), dtype=bool)
        for row in table:
            worse &= row[block, None] <= row[None, left]
        worse[np.arange(block.size), np.searchsorted(left, block)] = False
        stays[left[worse.any(axis=0)]] = False
    return np.flatnonzero(stays)
