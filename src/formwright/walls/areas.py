"""Areas and rules of a library, remembered by the fields that each formula reads.

A search asks for the area of thousands of chips and boxes; each term reads few fields, so most
of what it is worth was computed before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import inf

from formwright.chip.library import Box, Derived, Library, Point
from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.ir.interval import Bound, Interval, bounds
from formwright.ir.rewrite import free_names


@dataclass(slots=True)
class Formula:
    """An expression over the chip, remembered by the places of the fields that it reads.

    ``reads``: places in points of those fields, in order, with derived quantities opened.
    """

    library: Library
    expr: Expr
    derived: tuple[Derived, ...]
    reads: tuple[int, ...]
    _values: dict[Point, Scalar] = field(default_factory=dict)
    _lows: dict[Box, Interval] = field(default_factory=dict)

    def at(self, places: Point) -> Scalar:
        """The value where the fields of ``reads`` have these places."""
        if places not in self._values:
            fields = self.library.fields
            known: dict[str, Scalar] = {
                f"chip.{fields[i].name}": fields[i].menu[place]
                for i, place in zip(self.reads, places, strict=True)
            }
            for each in self.derived:
                known[f"chip.{each.name}"] = evaluate(each.value, known)
            self._values[places] = evaluate(self.expr, known)
        return self._values[places]

    def of(self, point: Point) -> Scalar:
        return self.at(tuple(point[i] for i in self.reads))

    def over(self, box: Box) -> Interval:
        """An interval that holds the values of all chips of ``box``."""
        part = tuple(box[i] for i in self.reads)
        if part not in self._lows:
            fields = self.library.fields
            ranges = {
                f"chip.{fields[i].name}": Interval(fields[i].menu[low], fields[i].menu[high])
                for i, (low, high) in zip(self.reads, part, strict=True)
            }
            for each in self.derived:
                ranges[f"chip.{each.name}"] = bounds(each.value, ranges)
            self._lows[part] = bounds(self.expr, ranges)
        return self._lows[part]


class Areas:
    """Areas in mm2. A box is judged by intervals, so its least area may be below every chip's."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.terms = tuple(formula(library, t.value) for t in library.area_terms)
        self.rules = tuple(formula(library, r.condition) for r in library.rules)

    def of(self, point: Point) -> Fraction:
        """The area of the chip at ``point``."""
        return sum((Fraction(term.of(point)) for term in self.terms), Fraction(0))

    def legal(self, point: Point) -> bool:
        """The chip breaks no rule of the library."""
        return all(rule.of(point) for rule in self.rules)

    def admits(self, point: Point, budget: Fraction | None) -> bool:
        """The chip breaks no rule and its area is at most ``budget`` (``None``: no limit)."""
        return self.legal(point) and (budget is None or self.of(point) <= budget)

    def least(self, box: Box) -> Bound:
        """No chip of ``box`` has a smaller area; ``inf`` where a rule excludes all of them."""
        if any(rule.over(box).hi <= 0 for rule in self.rules):
            return inf
        exact = Fraction(0)
        for term in self.terms:
            low = term.over(box).lo
            if isinstance(low, float):
                return -inf
            exact += low
        return exact

    def cut(self, box: Box, budget: Fraction | None) -> Box | None:
        """The smallest part of ``box`` that holds its chips within ``budget``, end by end.

        ``None`` where none is. What is left may still hold chips over the budget.
        """
        if budget is None:
            return None if self.least(box) == inf else box
        if self.least(box) > budget:
            return None
        for at, (low, high) in enumerate(box):
            high = self._edge(box, at, low, high, budget, up=True)
            box = (*box[:at], (low, high), *box[at + 1 :])
            low = self._edge(box, at, low, high, budget, up=False)
            box = (*box[:at], (low, high), *box[at + 1 :])
        return None if self.least(box) > budget else box

    def chips(self, box: Box, budget: Fraction | None) -> Iterator[Point]:
        """The chips of ``box`` that the budget and the rules admit, in the order of places."""
        for point in product(*(range(low, high + 1) for low, high in box)):
            if self.admits(point, budget):
                yield point

    def _edge(self, box: Box, at: int, low: int, high: int, budget: Fraction, up: bool) -> int:
        """The last place of field ``at`` from one side on which some chip may be in budget.

        The least area of the places beyond a place only grows as fewer of them are left.
        """
        near, far = (low, high) if up else (high, low)
        while near != far:
            middle = (near + far + 1) // 2 if up else (near + far) // 2
            part = (middle, high) if up else (low, middle)
            if self.least((*box[:at], part, *box[at + 1 :])) <= budget:
                near = middle
            else:
                far = middle - 1 if up else middle + 1
        return near


def opened(library: Library, names: frozenset[str]) -> tuple[tuple[Derived, ...], tuple[int, ...]]:
    """The derived quantities that ``names`` (``chip.NAME``) rest on, and the fields' places."""
    needed = set(names)
    derived: list[Derived] = []
    for each in reversed(library.derived):
        if f"chip.{each.name}" in needed:
            derived.append(each)
            needed |= free_names(each.value)
    fields = tuple(i for i, f in enumerate(library.fields) if f"chip.{f.name}" in needed)
    return tuple(reversed(derived)), fields


def formula(library: Library, expr: Expr) -> Formula:
    """``expr`` over ``chip.NAME``, to be asked at many chips."""
    derived, reads = opened(library, frozenset(free_names(expr)))
    return Formula(library, expr, derived, reads)
