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
from formwright.walls.bounds import Until
from formwright.walls.counting import Counted


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
    inner: Counted, budget: Fraction | None = None, until: Until | None = None
) -> Front:
    """The front within ``budget`` (mm2); ``until.gap`` is its tolerance."""
    return _Sweep(inner, budget, Until() if until is None else until).run()


class _Sweep:
    def __init__(self, inner: Counted, budget: Fraction | None, until: Until) -> None:
        self.inner = inner
        self.areas = Areas(inner.library)
        self.budget = budget
        self.until = until
        self.points: list[FrontPoint] = []
        self._heap: list[tuple[Fraction, float, int, Box]] = []
        self._pushed = 0

    def run(self) -> Front:
        began, asked = perf_counter(), self.inner.relaxations
        self.push(self.inner.library.whole, -inf)
        complete: Fraction | None = None
        while self._heap:
            if (
                perf_counter() - began > self.until.seconds
                or self.inner.relaxations - asked > self.until.relaxations
            ):
                complete = self._heap[0][0]
                break
            area, low, _, box = heappop(self._heap)
            if self.hopeless(low):
                continue
            if all(first == last for first, last in box):
                self.take(tuple(first for first, _ in box), area)
            else:
                self.split(box, area, low)
        return Front(
            tuple(self.points),
            self.until.gap,
            complete,
            self.inner.solves,
            self.inner.relaxations,
            self.inner.seconds + perf_counter() - began - self.inner.spent,
        )

    def hopeless(self, low: float) -> bool:
        """What was bought so far, for no more area, is as good within the tolerance."""
        if low == inf:
            return True
        return bool(self.points) and low >= float(self.points[-1].objective) * (1 - self.until.gap)

    def take(self, point: Point, area: Fraction) -> None:
        """One chip, whose area is the least of all that are left."""
        if not self.areas.legal(point):
            return
        objective = self.inner.solve(point).objective
        if objective is None or (self.points and objective >= self.points[-1].objective):
            return
        if self.points and self.points[-1].area == area:
            self.points.pop()
        self.points.append(FrontPoint(point, objective, area))

    def push(self, box: Box, parent: float) -> None:
        left = self.bounded(box, parent)
        if left is not None:
            self.queue(*left)

    def queue(self, box: Box, area: Fraction, low: float) -> None:
        if not self.hopeless(low):
            self._pushed += 1
            heappush(self._heap, (area, low, self._pushed, box))

    def bounded(self, box: Box, parent: float) -> tuple[Box, Fraction, float] | None:
        """What the budget leaves of ``box``, its least area and its bound."""
        left = self.areas.cut(box, self.budget)
        if left is None:
            return None
        area = self.areas.least(left)
        if isinstance(area, float):
            raise ValueError("the area of a chip has no least value: a term can be -inf")
        return left, Fraction(area), max(parent, self.inner.lower(left))

    def split(self, box: Box, area: Fraction, low: float) -> None:
        """Queue the halves along the field where area and bound rise most."""
        best: list[tuple[Box, Fraction, float]] = []
        score = -inf
        for at, (first, last) in enumerate(box):
            if first == last:
                continue
            middle = (first + last) // 2
            parts = ((first, middle), (middle + 1, last))
            found = [self.bounded((*box[:at], part, *box[at + 1 :]), low) for part in parts]
            halves = [half for half in found if half is not None]
            gain = sum(self.gain(half, area, low) for half in halves) + _PRUNED * (2 - len(halves))
            if gain > score:
                best, score = halves, gain
        for half in best:
            self.queue(*half)

    def gain(self, half: tuple[Box, Fraction, float], area: Fraction, low: float) -> float:
        """By how many octaves the bound or the least area of ``half`` is above its parent's."""
        if self.hopeless(half[2]):
            return _PRUNED
        return min(_PRUNED, _ratio(half[2], low) + _ratio(float(half[1]), float(area)))


_PRUNED = 64.0
"""The gain of a half that needs no more work: above what a half that is left can have."""


def _ratio(value: float, base: float) -> float:
    return log(value / base) if base > 0 and value < inf else 0.0
