"""Where costs read few fields: the least time for all values of the other fields at once.

Fields that only bound a need (``need <= chip.f``) change no cost. With all others fixed, a row has
one time and, for each such field, a first place of the menu that admits it. The least time for
every combination of places, walls removed included, is then a running minimum over one grid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Literal

import numpy as np

from formwright.chip.library import Box, Library
from formwright.ir.band_arrays import Band, Mask, Value, conjunction, point
from formwright.ir.bands import Bands
from formwright.ir.expr import Var
from formwright.ir.int_arrays import Array
from formwright.ir.rewrite import free_names
from formwright.walls.formulation import Formulation, Need
from formwright.walls.table import Span, Table, in_scope

LARGEST_GRID = 1 << 17
"""Cells of one grid."""

MOST_SLICES = 48
"""Slices that a bound over a box looks at; beyond, it takes the fields by their ranges."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows at fixed values of the fields that costs read.

    ``lo`` and ``hi`` bound each row's time; ``first`` and ``late`` are, by axis, the first place
    that may admit it and the first that surely does (one array where both are known to agree);
    ``certain`` rows need no exact look at their walls. ``least`` and ``ceiling`` are the grids.
    """

    lo: Array
    hi: Array
    rows: Array
    first: Array
    certain: Array
    least: Array
    ceiling: Array

    def candidates(self, cell: tuple[int, ...], ceiling: float) -> tuple[Array, Array]:
        """Rows that may cost at most ``ceiling`` there, and which of them surely fit."""
        near = np.flatnonzero(self.lo <= ceiling)
        fit = near[np.all(self.first[:, near] <= np.array(cell)[:, None], axis=0)]
        return self.rows[fit], self.certain[fit]


class Slices:
    """The slices of one table, made when they are asked for."""

    def __init__(self, table: Table, library: Library, axes: Sequence[str]) -> None:
        shape = table.formulation
        self.table = table
        self.library = library
        self.axes = [(library.index(name), f"chip.{name}") for name in axes]
        self.fixed = [library.index(f) for f in shape.fields if f not in axes]
        self.bounds = [[n for n in shape.needs if n.fields == {name}] for name in axes]
        axis = {id(n) for needs in self.bounds for n in needs}
        self.others = [n for n in shape.needs if id(n) not in axis]
        self._made: dict[tuple[tuple[int, ...], frozenset[str]], Slice | None] = {}

    def at(self, places: Mapping[int, int], removed: frozenset[str]) -> Slice | None:
        """The slice at these places of the fixed fields; ``None`` outside the scope."""
        gone = removed & frozenset(f for n in self.others for f in n.fields)
        key = (tuple(places[i] for i in self.fixed), gone)
        if key not in self._made:
            self._made[key] = self._slice(places, gone)
        return self._made[key]

    def cell(self, point_: Sequence[int], removed: frozenset[str]) -> tuple[int, ...]:
        """The place of a chip in the grid; a removed wall admits all."""
        fields = self.library.fields
        return tuple(
            len(fields[i].menu) if name.removeprefix("chip.") in removed else point_[i]
            for i, name in self.axes
        )

    def below(self, box: Box) -> float | None:
        """The least time on any chip of ``box``; ``None`` where too many slices would be asked."""
        ranges = [range(box[i][0], box[i][1] + 1) for i in self.fixed]
        if prod(len(r) for r in ranges) > MOST_SLICES:
            return None
        cell = tuple(box[i][1] for i, _ in self.axes)
        best = inf
        for places in product(*ranges):
            found = self.at(dict(zip(self.fixed, places, strict=True)), frozenset())
            if found is not None:
                best = min(best, float(found.least[cell]))
        return best

    def _slice(self, places: Mapping[int, int], gone: frozenset[str]) -> Slice | None:
        table = self.table
        fields = self.library.fields
        chip = {f"chip.{fields[i].name}": fields[i].menu[places[i]] for i in self.fixed}
        span: Span = {name: (value, value) for name, value in chip.items()}
        if table.count == 0 or not in_scope(table.formulation, span):
            return None
        given: dict[str, Value] = {**table.given, **{n: point(v) for n, v in chip.items()}}
        with np.errstate(all="ignore"):
            bands = Bands(given)
            verdicts = [bands.truths(n.remainder) for n in self.others if not n.fields & gone]
            may = _full(conjunction([v.may for v in verdicts]), table.count)
            sure = _full(conjunction([v.sure for v in verdicts]), table.count)
            time = bands.number(table.formulation.time.remainder)
            ends = [self._first(bands, i, needs) for (i, _), needs in
                    zip(self.axes, self.bounds, strict=True)]  # fmt: skip
        rows = np.flatnonzero(may)
        lo, hi = _column(time.lo, table.count)[rows], _column(time.hi, table.count)[rows]
        first = np.stack([f[rows] for f, _ in ends])
        late = np.stack([s[rows] for _, s in ends])
        certain = sure[rows] & np.all(first == late, axis=0)
        sizes = tuple(len(fields[i].menu) + 1 for i, _ in self.axes)
        least = _grid(sizes, first, lo)
        ceiling = _grid(sizes, late, np.where(sure[rows], hi, inf))
        return Slice(lo, hi, rows, first, certain, least, ceiling)

    def _first(self, bands: Bands, field: int, needs: Sequence[Need]) -> tuple[Array, Array]:
        """The first place of the menu that may admit each row, and the first that surely does."""
        menu = self.library.fields[field].menu
        low = np.array([point(v).lo for v in menu])
        high = np.array([point(v).hi for v in menu])
        first = np.zeros(self.table.count, dtype=np.int64)
        late = first
        for need in needs:
            assert need.left is not None
            band: Band = bands.number(need.left)
            side: Literal["left", "right"] = "right" if need.strict else "left"
            lo, hi = _column(band.lo, first.size), _column(band.hi, first.size)
            first = np.maximum(first, np.searchsorted(high, lo, side=side))
            late = np.maximum(late, np.searchsorted(low, hi, side=side))
        return first, late


def _full(mask: Mask, count: int) -> Array:
    return np.broadcast_to(np.asarray(mask), (count,))


def _column(column: float | Array, count: int) -> Array:
    return np.broadcast_to(np.asarray(column, dtype=np.float64), (count,))


def _grid(sizes: tuple[int, ...], places: Array, values: Array) -> Array:
    grid = np.full(sizes, inf)
    if values.size:
        np.minimum.at(grid, tuple(places), np.where(np.isnan(values), -inf, values))
    for axis in range(len(sizes)):
        np.minimum.accumulate(grid, axis=axis, out=grid)
    return grid


def slices_of(table: Table, library: Library) -> Slices | None:
    """The slices of ``table``, if some fields only bound needs and their grid is small."""
    axes = axis_fields(table.formulation)
    cells = prod(len(library.fields[library.index(f)].menu) + 1 for f in axes)
    if not axes or cells > LARGEST_GRID:
        return None
    return Slices(table, library, axes)


def axis_fields(shape: Formulation) -> tuple[str, ...]:
    """Fields that nothing reads but the right-hand side of walls, alone there."""
    read = {f"chip.{f}" for f in shape.cost_fields}
    simple = [n for n in shape.needs if isinstance(n.room, Var)]
    for condition in shape.scope:
        read |= free_names(condition)
    for need in shape.needs:
        if not isinstance(need.room, Var):
            read |= free_names(need.remainder)
    named = {n.room.name for n in simple if isinstance(n.room, Var)} - read
    return tuple(f for f in shape.fields if f"chip.{f}" in named)
