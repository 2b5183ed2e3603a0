"""The front of objective against area: chips that no other beats in both.

Branch and bound again (:mod:`formwright.walls.bounds`), by area: boxes are taken from the least
area upwards, so a chip belongs to the front if its objective is below that of the chips before
it, and a box is left once its bound is not below the best that its least area already buys.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import inf, log
from time import perf_counter

from formwright.chip.library import Box, Point
from formwright.walls.areas import Areas
from formwright.walls.bounds import Branching, Until, branch_and_bound
from formwright.walls.counting import Bounds, Counted


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """``area`` in mm2."""

    point: Point
    objective: Fraction
    area: Fraction


@dataclass(frozen=True, slots=True)
class Front:
    """``points`` by ascending area, the objective falling.

    Every chip within the budget and of an area below ``complete_to`` (``None``: every chip) has
    an objective of at least ``1 - tolerance`` times that of some point of no more area.
    """

    points: tuple[FrontPoint, ...]
    tolerance: float
    complete_to: Fraction | None
    solves: int
    relaxations: int
    seconds: float

    def beating(self, objective: Fraction, area: Fraction) -> FrontPoint | None:
        """The point of least objective that is no worse in both and better in one."""
        better = [
            p
            for p in self.points
            if p.objective <= objective
            and p.area <= area
            and (p.objective, p.area) != (objective, area)
        ]
        return min(better, key=lambda p: (p.objective, p.area), default=None)


def undominated(points: Iterable[FrontPoint]) -> tuple[FrontPoint, ...]:
    """Those that no other beats, by ascending area; of equal ones the first in the menus."""
    kept: list[FrontPoint] = []
    for each in sorted(points, key=lambda p: (p.area, p.objective, p.point)):
        if not kept or each.objective < kept[-1].objective:
            kept.append(each)
    return tuple(kept)


def pareto_front(
    inner: Counted,
    budget: Fraction | None = None,
    until: Until | None = None,
    smallest: Fraction | None = None,
    known: Iterable[Point] = (),
) -> Front:
    """The front within ``budget`` (mm2); ``until.gap`` is its tolerance.

    ``smallest``: an area up to which one chip will do, the best of all within it. Small chips are
    many and far from one another, so most of the work may lie there. ``known`` chips, such as what
    other methods found, take part even where a limit stops the sweep before it comes to them.
    """
    until = Until() if until is None else until
    sweep = _Sweep(inner, budget, until)
    for point in known:
        sweep.know(point)
    if smallest is not None:
        first = branch_and_bound(inner, smallest, None, until)
        if first.point is not None and first.objective is not None and first.area is not None:
            sweep.points.append(FrontPoint(first.point, first.objective, first.area))
    return sweep.run()


_Part = tuple[Box, Fraction, float]
"""A box, its least area and its bound."""

_Node = tuple[Fraction, float, int, Box, Bounds]
"""Least area, bound, a number that settles ties, the box, and where its parts are bounded."""


class _Sweep:
    def __init__(self, inner: Counted, budget: Fraction | None, until: Until) -> None:
        self.inner = inner
        self.areas = Areas(inner.library)
        self.budget = budget
        self.until = until
        self.points: list[FrontPoint] = []
        """What the sweep has come to, by ascending area; all but the last are final."""
        self._ahead: list[FrontPoint] = []
        """Known chips that the sweep has not come to, by descending area."""
        self.branching = Branching()
        self._heap: list[_Node] = []
        self._pushed = 0

    def run(self) -> Front:
        began, asked = perf_counter(), self.inner.relaxations
        spent = self.inner.spent
        whole = self.bounded(self.inner.library.whole, -inf, self.inner.bounds())
        if whole is not None:
            self.queue(whole, self.inner.bounds())
        complete: Fraction | None = None
        while self._heap:
            if (
                perf_counter() - began > self.until.seconds
                or self.inner.relaxations - asked > self.until.relaxations
            ):
                complete = self._heap[0][0]
                break
            area, low, _, box, bounds = heappop(self._heap)
            self.pass_to(area)
            if not self.hopeless(low):
                self.open(area, low, box, bounds.narrowed(box, self.cutoff))
        if self._ahead:
            self.pass_to(self._ahead[0].area)
        own = perf_counter() - began - (self.inner.spent - spent)
        return Front(
            tuple(self.points),
            self.until.gap,
            complete,
            self.inner.solves,
            self.inner.relaxations,
            self.inner.seconds + own,
        )

    def know(self, point: Point) -> None:
        """A chip to begin with, if it is within the budget and has a program."""
        objective = self.inner.solve(point).objective
        if objective is not None and self.areas.admits(point, self.budget):
            self._ahead.append(FrontPoint(point, objective, self.areas.of(point)))
            self._ahead.sort(key=lambda p: (p.area, p.objective), reverse=True)

    def pass_to(self, area: Fraction) -> None:
        """The known chips up to ``area`` are bought."""
        while self._ahead and self._ahead[-1].area <= area:
            self.add(self._ahead.pop())

    def open(self, area: Fraction, low: float, box: Box, bounds: Bounds) -> None:
        """Take the cheapest chip of the box; split the box where that leaves something to find."""
        bottom = tuple(first for first, _ in box)
        if self.areas.legal(bottom) and self.areas.of(bottom) == area:
            if not self.hopeless(bounds.lower(tuple((place, place) for place in bottom))):
                self.take(bottom, area)
            if self.hopeless(low) or all(first == last for first, last in box):
                return
        for half in self.split(box, area, low, bounds):
            self.queue(half, bounds)

    @property
    def cutoff(self) -> float:
        """What an area from here on buys already, within the tolerance."""
        return float(self.points[-1].objective) * (1 - self.until.gap) if self.points else inf

    def hopeless(self, low: float) -> bool:
        return low >= self.cutoff

    def take(self, point: Point, area: Fraction) -> None:
        """One chip, whose area is the least of all that are left."""
        objective = self.inner.solve(point).objective
        if objective is not None:
            self.add(FrontPoint(point, objective, area))

    def add(self, found: FrontPoint) -> None:
        if self.points and found.objective >= self.points[-1].objective:
            return
        while self.points and self.points[-1].area >= found.area:
            self.points.pop()
        self.points.append(found)

    def queue(self, part: _Part, bounds: Bounds) -> None:
        box, area, low = part
        if not self.hopeless(low):
            self._pushed += 1
            heappush(self._heap, (area, low, self._pushed, box, bounds))

    def bounded(self, box: Box, parent: float, bounds: Bounds) -> _Part | None:
        """What the budget leaves of ``box``, its least area and its bound."""
        left = self.areas.cut(box, self.budget)
        if left is None:
            return None
        area = self.areas.least(left)
        if isinstance(area, float):
            raise ValueError("the area of a chip has no least value: a term can be -inf")
        return left, Fraction(area), max(parent, bounds.lower(left))

    def split(self, box: Box, area: Fraction, low: float, bounds: Bounds) -> list[_Part]:
        """The halves along the field where area and bound rise most."""
        best: list[_Part] = []
        gained = -1.0
        fields = [at for at, (first, last) in enumerate(box) if first < last]
        for at in sorted(fields, key=lambda at: -self.branching.expected(box, at)):
            if gained >= 0 and self.branching.expected(box, at) < gained:
                break
            first, last = box[at]
            middle = (first + last) // 2
            parts = ((first, middle), (middle + 1, last))
            found = [self.bounded((*box[:at], part, *box[at + 1 :]), low, bounds) for part in parts]
            halves = [half for half in found if half is not None]
            gain = sum(self.gain(half, area, low) for half in halves) + _PRUNED * (2 - len(halves))
            self.branching.note(box, at, gain)
            if gain > gained:
                best, gained = halves, gain
        return best

    def gain(self, half: _Part, area: Fraction, low: float) -> float:
        """By how many octaves the bound or the least area of ``half`` is above its parent's."""
        if self.hopeless(half[2]):
            return _PRUNED
        return min(_PRUNED, _ratio(half[2], low) + _ratio(float(half[1]), float(area)))


_PRUNED = 64.0
"""The gain of a half that needs no more work: above what a half that is left can have."""


def _ratio(value: float, base: float) -> float:
    return log(value / base) if base > 0 and value < inf else 0.0
