"""Moves from chip to chip: which are chips at all, what they add in area, which is bought."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Literal

from formwright.chip.library import Library, Point
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.ir.rewrite import free_names

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


@dataclass(frozen=True, slots=True)
class _Term:
    """A summand of the area over the fields that it reads, with its values kept."""

    value: Expr
    fields: tuple[int, ...]
    kept: dict[Point, Fraction]

    def at(self, library: Library, point: Point) -> Fraction:
        places = tuple(point[i] for i in self.fields)
        if places not in self.kept:
            fields = ((library.fields[i], point[i]) for i in self.fields)
            values: dict[str, Scalar] = {f"chip.{f.name}": f.menu[place] for f, place in fields}
            self.kept[places] = Fraction(evaluate(self.value, values))
        return self.kept[places]


@dataclass(frozen=True, slots=True)
class Ground:
    """The library under a ceiling (mm2, ``None``: no ceiling), with areas kept."""

    library: Library
    budget: Fraction | None
    _terms: tuple[_Term, ...]
    _areas: dict[Point, Fraction]
    _rules: dict[Point, bool]

    @classmethod
    def of(cls, library: Library, budget: Fraction | None) -> "Ground":
        terms = []
        for term in library.area_terms:
            value = library.opened(term.value)
            names = free_names(value)
            read = tuple(i for i, f in enumerate(library.fields) if f"chip.{f.name}" in names)
            terms.append(_Term(value, read, {}))
        return cls(library, budget, tuple(terms), {}, {})

    def area(self, point: Point) -> Fraction:
        """In mm2, as :meth:`Library.area` has it."""
        if point not in self._areas:
            parts = (term.at(self.library, point) for term in self._terms)
            self._areas[point] = sum(parts, Fraction(0))
        return self._areas[point]

    def lawful(self, point: Point) -> bool:
        """No rule of the library is broken."""
        if point not in self._rules:
            self._rules[point] = not self.library.broken(point)
        return self._rules[point]

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
        reading = (t.at(self.library, point) for t in self._terms if field in t.fields)
        return sum(reading, Fraction(0))

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
