"""Parts of a formulation worked out over all designs, each on the few decisions that it reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formwright.ir.expr import Expr
from formwright.ir.int_arrays import Array, Ints
from formwright.ir.rational_arrays import Approx, Bad, Exact
from formwright.ir.rewrite import free_names
from formwright.ir.vectorise import Evaluator, Given, Truths
from formwright.milp.grid import Axis
from formwright.walls.ranks import combined, places_of, ranked

Coordinates = tuple[Array, ...]
"""Places along each axis, one for each row that is asked for."""


@dataclass(frozen=True, slots=True)
class Column:
    """``value`` over the distinct combinations of what the part reads of each axis, exactly;
    ``where`` tells which of them each place of an axis has. ``ranks``, the places of the exact
    values among all, broadcast to the product of the axes."""

    value: Exact | Truths
    where: tuple[Array, ...]
    ranks: Array

    def at(self, rows: Coordinates) -> Exact | Truths:
        """The values of some rows, as flat columns; constants stay as they are."""
        places = tuple(w[r] for w, r in zip(self.where, rows, strict=True))
        value = self.value
        bad: Bad = value.bad if isinstance(value.bad, bool) else _cells(value.bad, places)
        if isinstance(value, Truths):
            return Truths(_cells(np.asarray(value.value), places), bad)
        num, den = (
            x if isinstance(x.a, int) else Ints(_cells(x.a, places), x.lo, x.hi)
            for x in (value.num, value.den)
        )
        return Exact(num, den, bad)


def column_of(expr: Expr, axes: Sequence[Axis]) -> Column:
    """``expr`` at the product of the axes, in whole numbers of any size where 64 bits are few."""
    names = free_names(expr)
    arrays: dict[str, Given] = {}
    index: list[Array] = []
    for place, axis in enumerate(axes):
        read = [n for n in axis.columns if n in names]
        first, inverse = _distinct([axis.columns[n] for n in read], axis.length)
        index.append(inverse)
        for name in read:
            arrays[name] = _along(axis.columns[name][first], place, len(axes))
    value = Evaluator(arrays).run(expr)
    if isinstance(value, Approx):
        value = Evaluator(arrays, wide=True).run(expr)
    assert not isinstance(value, Approx), "a wide evaluation of integers is exact"
    where = tuple(index)
    return Column(value, where, _taken(ranked(value), where))


def _distinct(columns: Sequence[Array], length: int) -> tuple[Array, Array]:
    """First places of the distinct combinations, and which of them each place has."""
    if not columns:
        return np.zeros(1, dtype=np.int64), np.zeros(length, dtype=np.int64)
    code = combined([places_of(column) for column in columns])
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _along(column: Array, place: int, rank: int) -> Array | int:
    if column.size == 1:
        return int(column[0])
    return column.reshape([-1 if i == place else 1 for i in range(rank)])


def _cells(array: Array, places: Coordinates) -> Array:
    """The cells of a broadcasting array at places along each axis."""
    if array.ndim == 0:
        return np.broadcast_to(array, places[0].shape)
    index = tuple(
        p if size > 1 else np.zeros_like(p) for p, size in zip(places, array.shape, strict=True)
    )
    return np.asarray(array[index])


def _taken(array: Array, where: tuple[Array, ...]) -> Array:
    """The cells of a broadcasting array that the places of each axis say."""
    if array.ndim == 0:
        return array.reshape((1,) * len(where))
    first = np.zeros(1, dtype=np.int64)
    index = [p if size > 1 else first for p, size in zip(where, array.shape, strict=True)]
    return np.asarray(array[np.ix_(*index)])
