"""The tables of one kernel: its best design on a chip, its front, and what no chip goes below.

Floats with proven ends pick the rows that may be best; those are compared exactly.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.chip.library import Box, Point
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.ir.int_arrays import Array
from formwright.walls.floors import Menus, floored
from formwright.walls.formulation import Formulation
from formwright.walls.fronts import lower_hull, staircase, unbeaten
from formwright.walls.slices import Slices
from formwright.walls.table import Priced, Span, Table, in_scope

Chip = Mapping[str, int | Fraction]
"""The fields of one chip, by ``chip.NAME``."""

Removed = frozenset[str]


class Slack(Mapping[str, Fraction]):
    """What each wall leaves of the chip, by the wall's name and by the fields behind it.

    A field behind several walls has the least of what they leave; one that a wall names itself has
    that. Worked out when it is asked for.
    """

    __slots__ = ("_chip", "_design", "_found", "_shape")

    def __init__(self, shape: Formulation, design: Mapping[str, int], chip: Chip) -> None:
        self._shape, self._design, self._chip = shape, design, chip
        self._found: dict[str, Fraction] | None = None

    def _values(self) -> dict[str, Fraction]:
        if self._found is None:
            self._found = self._computed()
        return self._found

    def _computed(self) -> dict[str, Fraction]:
        values: dict[str, Scalar] = {**self._chip, **self._design}
        named: dict[str, Fraction] = {}
        behind: dict[str, Fraction] = {}
        for need in self._shape.needs:
            if need.wall is None or need.need is None or need.room is None:
                continue
            left = Fraction(evaluate(need.room, values)) - Fraction(evaluate(need.need, values))
            named[need.wall] = min(left, named.get(need.wall, left))
            for name in need.fields:
                behind[name] = min(left, behind.get(name, left))
        return {**behind, **named}

    def __getitem__(self, name: str) -> Fraction:
        return self._values()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        return repr(self._values())


@dataclass(frozen=True, slots=True)
class Design:
    """One design of a kernel on a chip, with exact figures."""

    template: str
    assignment: Mapping[str, int]
    time: Fraction
    energy: Fraction | None
    slack: Slack


@dataclass(frozen=True, slots=True)
class Offer:
    """What a table offers on a chip: nothing takes less than ``least``, something at most
    ``ceiling``; ``below`` gives the rows that may cost at most a number, and which surely fit."""

    least: float
    ceiling: float
    below: Callable[[float], tuple[Array, Array]]


@dataclass(slots=True)
class Work:
    """A kernel with a table for each template that takes part, in the order given.

    ``refused`` says why others do not.
    """

    name: str
    tables: tuple[Table, ...]
    refused: tuple[str, ...] = ()
    slices: tuple[Slices | None, ...] = ()
    """By table; empty for none of them."""
    known: dict[tuple[Any, ...], tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def fields(self) -> frozenset[str]:
        """Fields of the library that something here reads."""
        return frozenset(f for t in self.tables for f in t.formulation.fields)

    @property
    def walls(self) -> frozenset[str]:
        return frozenset(f for t in self.tables for n in t.formulation.needs for f in n.fields)

    def best(self, point: Point, chip: Chip, removed: Removed) -> Design | None:
        """The least time; ties go to the earlier template, then its ``prefer``, then decisions.

        ``chip`` has the fields of the chip at ``point``.
        """
        offers = [self._offer(i, point, chip, removed) for i in range(len(self.tables))]
        ceiling = min((o.ceiling for o in offers if o is not None), default=inf)
        found: list[tuple[tuple[Fraction | int, ...], Table, int]] = []
        for number, (table, offer) in enumerate(zip(self.tables, offers, strict=True)):
            if offer is None or offer.least > ceiling:
                continue
            places, certain = offer.below(ceiling)
            if not certain.all():
                places = table.admitted(places, chip, removed)
            for place, order in self._ordered(table, places, chip):
                found.append(((order[0], number, *order[1:]), table, place))
        if not found:
            return None
        _, table, place = min(found, key=lambda item: item[0])
        return self._design(table, place, chip)

    @property
    def _slices(self) -> tuple[Slices | None, ...]:
        return self.slices or (None,) * len(self.tables)

    def _offer(self, number: int, point: Point, chip: Chip, removed: Removed) -> Offer | None:
        table, slices = self.tables[number], self._slices[number]
        if slices is not None:
            places = dict(enumerate(point))
            found = slices.at(places, removed)
            if found is None:
                return None
            cell = slices.cell(point, removed)
            return Offer(
                float(found.least[cell]),
                float(found.ceiling[cell]),
                lambda ceiling: found.candidates(cell, ceiling),
            )
        price = table.priced(_span(chip), removed)
        return None if price is None else _offered(price, table.count)

    def front(self, chip: Chip, removed: Removed) -> list[Design]:
        """The lower hull of time and energy, exactly, by ascending time."""
        return _hull(self.rows_in_front(chip, removed, Fraction(0), near_hull=True))

    def rows_in_front(
        self, chip: Chip, removed: Removed, power: Fraction, near_hull: bool = False
    ) -> list[Design]:
        """Designs that no other is below in both time and energy less ``power`` times time.

        Some that are dominated within the rounding of floats may be among them.
        """
        found: list[Design] = []
        for table, price in self._priced(chip, removed):
            places = _front_places(table, price, power, near_hull)
            for place in table.admitted(places, chip, removed):
                found.append(self._design(table, int(place), chip))
        return found

    def least_time(self, box: Box, span: Span, menus: Menus) -> float:
        """No design on any chip of ``box``, whose fields range over ``span``, takes less; ``inf``
        where none has a design."""
        best = inf
        for table, slices in zip(self.tables, self._slices, strict=True):
            least = None if slices is None else slices.below(box)
            if least is None:
                price = floored(table, span, menus)
                if price is None:
                    continue
                least = _offered(price, table.count).least
            best = min(best, least)
        return best

    def lower_front(self, span: Span, menus: Menus) -> tuple[Array, Array] | None:
        """Times and energies of a hull that no design on any chip of ``span`` is below."""
        times, energies = [], []
        for table in self.tables:
            price = floored(table, span, menus)
            if price is None or price.energy is None:
                continue
            open_ = np.broadcast_to(np.asarray(price.open), (table.count,))
            times.append(_rows(price.time.lo, table.count)[open_])
            energies.append(_rows(price.energy.lo, table.count)[open_])
        if not times:
            return None
        return float_hull(np.concatenate(times), np.concatenate(energies))

    def kept(self, template: str, assignment: Mapping[str, int], chip: Chip) -> Design | None:
        """What one design costs on a chip; ``None`` where a wall or the scope excludes it."""
        table = next(t for t in self.tables if t.formulation.template.name == template)
        shape = table.formulation
        if not in_scope(shape, _span(chip)):
            return None
        values: dict[str, Scalar] = {**chip, **assignment}
        if not all(_held(n.constraint.condition, values) for n in shape.needs):
            return None
        time = Fraction(evaluate(shape.time.whole, values))
        energy = None if shape.energy is None else Fraction(evaluate(shape.energy.whole, values))
        return Design(template, assignment, time, energy, Slack(shape, assignment, chip))

    def _ordered(
        self, table: Table, places: Array, chip: Chip
    ) -> list[tuple[int, tuple[Fraction, ...]]]:
        """The best of some rows, with time and ``prefer`` exactly; rows stand in order of
        decisions."""
        if not places.size:
            return []
        orders = [self._figures(table, int(p), chip) for p in places]
        best = min(range(len(orders)), key=lambda i: (orders[i], i))
        return [(int(places[best]), orders[best])]

    def _figures(self, table: Table, place: int, chip: Chip) -> tuple[Fraction, ...]:
        """Time and ``prefer`` of a row, remembered by what the costs read of the chip."""
        shape = table.formulation
        key = (id(table), place, *(chip[f"chip.{f}"] for f in shape.cost_fields))
        if key not in self.known:
            try:
                exact = [table.figure(f, place, chip) for f in (shape.time, *shape.prefer)]
            except EvaluationError as error:
                what = f"{shape.template.name} for {shape.kernel}"
                told = f"{what}: the cost has no value: {error.message}"
                raise InputError([Diagnostic(told, error.span)]) from None
            self.known[key] = tuple(exact)
        return self.known[key]

    def _design(self, table: Table, place: int, chip: Chip) -> Design:
        shape = table.formulation
        assignment = table.design(place)
        time, *_ = self._figures(table, place, chip)
        energy = None
        if shape.energy is not None:
            energy = table.figure(shape.energy, place, chip)
        name = shape.template.name
        return Design(name, assignment, time, energy, Slack(shape, assignment, chip))

    def _priced(self, chip: Chip, removed: Removed) -> list[tuple[Table, Priced]]:
        span = _span(chip)
        found = [(t, t.priced(span, removed)) for t in self.tables]
        return [(t, p) for t, p in found if p is not None]


def _span(chip: Chip) -> Span:
    return {name: (value, value) for name, value in chip.items()}


def _rows(column: float | Array, count: int) -> Array:
    return np.broadcast_to(np.asarray(column, dtype=np.float64), (count,))


def _offered(price: Priced, count: int) -> Offer:
    lo, hi = _rows(price.time.lo, count), _rows(price.time.hi, count)
    open_ = np.broadcast_to(np.asarray(price.open), (count,))
    sure = np.broadcast_to(np.asarray(price.sure), (count,))

    def below(ceiling: float) -> tuple[Array, Array]:
        places = np.flatnonzero(open_ & ~(lo > ceiling))
        return places, sure[places]

    least = float(np.min(np.where(open_, lo, inf), initial=inf))
    return Offer(least, float(np.min(np.where(sure, hi, inf), initial=inf)), below)


def _held(condition: Expr, values: Mapping[str, Scalar]) -> bool:
    try:
        return evaluate(condition, values) is True
    except EvaluationError:
        return False


def _front_places(table: Table, price: Priced, power: Fraction, near_hull: bool) -> Array:
    if price.energy is None:
        raise AssertionError("a front needs the energy of every template")
    open_ = np.flatnonzero(np.broadcast_to(np.asarray(price.open), (table.count,)))
    sure = np.broadcast_to(np.asarray(price.sure), (table.count,))[open_]
    first = _rows(price.time.lo, table.count)[open_]
    top = _rows(price.time.hi, table.count)[open_]
    second = _rows(price.energy.lo, table.count)[open_]
    ceiling = _rows(price.energy.hi, table.count)[open_]
    if power:
        second, ceiling = second - float(power) * top, ceiling - float(power) * first
        reach = 1e-12 * (np.abs(second) + np.abs(ceiling) + float(power) * top)
        second, ceiling = second - reach, ceiling + reach
    ceiling = np.where(sure, ceiling, inf)
    few = unbeaten(first, top, second, ceiling)
    open_, sure, first, top = open_[few], sure[few], first[few], top[few]
    second, ceiling = second[few], ceiling[few]
    order = np.lexsort((second, first))
    kept = order[_stays(first[order], top[order], second[order], ceiling[order])]
    if near_hull and kept.size > 2:
        kept = kept[_near_hull(first[kept], second[kept], sure[kept])]
    return open_[kept]


def _stays(first: Array, top: Array, second: Array, ceiling: Array) -> Array:
    """Rows, ascending in ``first``, that no row surely is below in both numbers."""
    finished = np.argsort(top, kind="stable")
    least = np.minimum.accumulate(ceiling[finished])
    before = np.searchsorted(top[finished], first, side="left")
    bound = np.where(before > 0, least[np.maximum(before - 1, 0)], inf)
    # Rows of one exact time: those above the least of them go too.
    same = np.where(top == first, first, np.nan)
    group = np.full(first.size, inf)
    exact = ~np.isnan(same)
    if exact.any():
        keys, places = np.unique(same[exact], return_inverse=True)
        lowest = np.full(keys.size, inf)
        np.minimum.at(lowest, places, ceiling[exact])
        group[exact] = lowest[places]
    return np.asarray((second < bound) & (second <= group))


def _near_hull(first: Array, second: Array, sure: Array) -> Array:
    """Rows of the hull of those that surely fit, and all that lie within rounding of it."""
    base = [(float(a), float(b)) for a, b in zip(first[sure], second[sure], strict=True)]
    if len(base) < 2:
        return np.arange(first.size)
    hull = lower_hull(base)
    x = np.array([base[i][0] for i in hull])
    y = np.array([base[i][1] for i in hull])
    reach = 1e-9 * (abs(float(y[0])) + abs(float(y[-1])))
    line = np.interp(first, x, y)
    # Left of the first vertex nothing is above the hull; right of the last the hull is flat.
    return np.flatnonzero((second <= line + reach) | (first < x[0]))


def float_hull(first: Array, second: Array) -> tuple[Array, Array] | None:
    """The lower left hull of points, by ascending first number; ``None`` without points."""
    if not first.size:
        return None
    few = unbeaten(first, first, second, second)
    first, second = first[few], second[few]
    places = staircase(first, second, second)
    points = list(zip(first[places].tolist(), second[places].tolist(), strict=True))
    hull = lower_hull(points)
    return np.array([points[i][0] for i in hull]), np.array([points[i][1] for i in hull])


def _hull(designs: Sequence[Design]) -> list[Design]:
    points = [(d.time, Fraction(0) if d.energy is None else d.energy) for d in designs]
    return [designs[i] for i in lower_hull(points)]
