"""Moves from chip to chip: which are chips at all, what they add in area, which is bought."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import Literal

from formwright.chip.library import Library, Point
from formwright.walls.areas import Areas, Formula

Height = Fraction | float
"""An objective that can be compared: ``inf`` where there is no program; no other float."""

Way = Literal["step", "pair", "set", "throughput", "exchange"]
"""How a move came about: steps of one wall, one step each of two, a set of walls, a field that
changes what programs cost, or area given back elsewhere to pay for it."""


@dataclass(frozen=True, slots=True)
class Move:
    """``area`` is that of the chip at ``point``, ``added`` what it adds to the incumbent's."""

    point: Point
    objective: Fraction
    area: Fraction
    added: Fraction
    gain: Height
    way: Way


def height(objective: Fraction | None) -> Height:
    return inf if objective is None else objective


def gain(before: Height, after: Fraction, added: Fraction) -> Height:
    """Step 3 of Algorithm 1: the drop by area added; ``inf`` where the drop costs nothing.

    It is ``inf`` too where there was no program before.
    """
    if before == inf or added <= 0:
        return inf
    return (Fraction(before) - after) / added


def pick(moves: Iterable[Move], near: Fraction) -> Move | None:
    """The largest gain; of gains within ``near`` of it (relative) the smallest area.

    Moves that cost nothing come before all others; of these the best objective.
    """
    ranked = list(moves)
    if not ranked:
        return None
    most = max(m.gain for m in ranked)
    if most == inf:
        free = [m for m in ranked if m.added <= 0]
        if free:
            return min(free, key=lambda m: (m.objective, m.area, m.point))
        return min((m for m in ranked if m.gain == inf), key=lambda m: (m.area, m.objective))
    close = [m for m in ranked if m.gain >= most * (1 - near)]
    return min(close, key=lambda m: (m.area, m.objective, m.point))


_CHECKED = 20_000
"""Places of the fields of a rule past which it is not tried whether smaller chips keep it too."""


class Ground:
    """The library under a ceiling (mm2, ``None``: no ceiling), with areas kept.

    ``downward``: a chip that keeps the rules keeps them with less of any field, which is tried
    over the menus. Then no chip past one that breaks a rule keeps it.
    """

    def __init__(self, library: Library, budget: Fraction | None) -> None:
        self.library = library
        self.budget = budget
        self._formulas = Areas(library)
        self._areas: dict[Point, Fraction] = {}
        self.downward = all(_downward(library, rule) for rule in self._formulas.rules)

    def area(self, point: Point) -> Fraction:
        """In mm2, as :meth:`Library.area` has it."""
        if point not in self._areas:
            self._areas[point] = self._formulas.of(point)
        return self._areas[point]

    def lawful(self, point: Point) -> bool:
        """No rule of the library is broken."""
        return self._formulas.legal(point)

    def affordable(self, point: Point) -> bool:
        """It keeps the rules and the ceiling."""
        return self.within(point) and self.lawful(point)

    def within(self, point: Point) -> bool:
        return self.budget is None or self.area(point) <= self.budget

    def top(self, field: int) -> int:
        return len(self.library.fields[field].menu) - 1

    def highest(self, point: Point, field: int, last: int | None = None) -> int:
        """The last place of ``field`` (up to ``last``) that the ceiling admits, the others as in
        ``point``.

        Areas do not fall along a menu, so it is found by halving. The place in ``point`` where
        not even that is within the ceiling.
        """
        low, high = point[field], self.top(field) if last is None else last
        if self.budget is None or low >= high:
            return max(low, high)
        others = self.area(point) - self._of(field, point)
        middle = high
        while low < high:
            if others + self._of(field, placed(point, field, middle)) <= self.budget:
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        return low

    def _of(self, field: int, point: Point) -> Fraction:
        """The terms of the area that read ``field``."""
        reading = (t for t in self._formulas.terms if field in t.reads)
        return sum((Fraction(t.of(point)) for t in reading), Fraction(0))

    def opened(self, point: Point, fields: Sequence[int], upto: Point | None = None) -> Point:
        """Each of ``fields`` at the last place that it could have were it to move alone, not past
        its place in ``upto``.

        No chip within the ceiling that differs from ``point`` in these fields, upwards, lies
        past this one in any field.
        """
        tops = {i: self.highest(point, i, None if upto is None else upto[i]) for i in fields}
        return tuple(tops.get(i, place) for i, place in enumerate(point))


def placed(point: Point, field: int, place: int) -> Point:
    return (*point[:field], place, *point[field + 1 :])


def raised(low: Point, point: Point) -> tuple[int, ...]:
    """The fields in which ``point`` lies past ``low``."""
    return tuple(i for i, (a, b) in enumerate(zip(low, point, strict=True)) if b > a)


def _downward(library: Library, rule: Formula) -> bool:
    sizes = [len(library.fields[i].menu) for i in rule.reads]
    if prod(sizes) > _CHECKED:
        return False
    for places in product(*(range(size) for size in sizes)):
        if not rule.at(places):
            continue
        below = (placed(places, i, place - 1) for i, place in enumerate(places) if place > 0)
        if not all(rule.at(lower) for lower in below):
            return False
    return True
