"""Branch and bound over boxes of a library: the best chip of a budget, or how far it can be.

A box is bounded by :meth:`~formwright.walls.core.Inner.lower`, cut by the budget, and split in
the middle of the field whose halves are bounded best (strong branching: Achterberg, Koch and
Martin, "Branching rules revisited", 2005). Boxes are taken from the least bound upwards, so the
least bound that is left is a bound of the whole library at any moment.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import inf
from time import perf_counter

from formwright.chip.library import Box, Point
from formwright.walls.attempt import Attempt
from formwright.walls.core import Answer
from formwright.walls.counting import Bounds, Counted
from formwright.walls.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Until:
    """When to stop: at a gap of at most ``gap``, or after so many bounds or seconds.

    Bounds are floats that were rounded down, so a gap of 0 cannot be shown by them: ``gap`` is
    relative and at least ``1e-12``.
    """

    gap: float = 1e-9
    relaxations: int = 1_000_000
    seconds: float = inf


def branch_and_bound(
    inner: Counted,
    budget: Fraction | None = None,
    known: Point | None = None,
    until: Until | None = None,
) -> Outcome:
    """The best chip within ``budget`` (mm2) and a bound that no chip within it goes below.

    ``known``: a chip to begin with, such as what wall relaxation found. The note says where a
    limit stopped the search before the gap was closed.
    """
    return close(Attempt("joint", inner, budget), known, until)


def close(
    attempt: Attempt,
    known: Point | None = None,
    until: Until | None = None,
    software: Answer | None = None,
) -> Outcome:
    """Branch and bound for ``attempt``; the chips run ``software``, or each its best."""
    return _Search(attempt, Until() if until is None else until, software).run(known)


_Node = tuple[float, int, Box, Bounds]
"""Its bound, a number that settles ties, the box, and where its parts are bounded."""


class _Search:
    def __init__(self, attempt: Attempt, until: Until, software: Answer | None) -> None:
        self.attempt = attempt
        self.inner = attempt.inner
        self.areas = attempt.areas
        self.until = until
        self.software = software
        self.ceded = inf
        """The least bound of a box that was left because it cannot gain more than the gap."""
        self.branching = Branching()
        self._heap: list[_Node] = []
        self._pushed = 0

    def run(self, known: Point | None) -> Outcome:
        began, asked = perf_counter(), self.inner.relaxations
        if known is not None and self.attempt.admits(known):
            self.ask(known)
        whole = self.areas.cut(self.inner.library.whole, self.attempt.budget)
        if whole is not None:
            bounds = self.inner.bounds(self.software)
            self.queue(whole, bounds.lower(whole), bounds)
        stopped = ""
        while self._heap and not self.hopeless(self._heap[0][0]):
            if perf_counter() - began > self.until.seconds:
                stopped = f"stopped after {self.until.seconds:g} s"
                break
            if self.inner.relaxations - asked > self.until.relaxations:
                stopped = f"stopped after {self.until.relaxations} bounds"
                break
            self.open(*heappop(self._heap))
        self.trim()
        return self.ended(stopped)

    def ask(self, point: Point) -> None:
        if self.software is None:
            self.attempt.solve(point)
        else:
            self.attempt.keep(point, self.software)

    @property
    def cutoff(self) -> float:
        """Objectives from here on are no better than the best by more than the gap."""
        best = self.attempt.objective
        return inf if best is None else float(best) * (1 - self.until.gap)

    def hopeless(self, low: float) -> bool:
        return low >= self.cutoff

    def queue(self, box: Box, low: float, bounds: Bounds) -> None:
        if self.hopeless(low):
            self.ceded = min(self.ceded, low)
            return
        self._pushed += 1
        heappush(self._heap, (low, self._pushed, box, bounds))

    def open(self, low: float, _: int, box: Box, bounds: Bounds) -> None:
        """Try a chip of the box; split what it does not settle."""
        if all(first == last for first, last in box):
            point = tuple(end for end, _ in box)
            if self.attempt.admits(point):
                self.ask(point)
            return
        bounds = bounds.narrowed(box, self.cutoff)
        for candidate in self.candidates(box):
            if not self.hopeless(_at(bounds, candidate)):
                self.polish(candidate, box, bounds)
        if self.hopeless(low):
            self.ceded = min(self.ceded, low)
            return
        for half, bound in self.split(box, low, bounds):
            self.queue(half, bound, bounds)

    def candidates(self, box: Box) -> Iterator[Point]:
        """Chips of the box likely to be good: its upper end, or filled up to the budget."""
        top = tuple(high for _, high in box)
        if self.attempt.admits(top):
            yield top
            return
        bottom = tuple(low for low, _ in box)
        if not self.attempt.admits(bottom):
            return
        for first in range(len(box)):
            point = bottom
            for at in [*range(first, len(box)), *range(first)]:
                low, high = box[at]
                while low < high:
                    middle = (low + high + 1) // 2
                    tried = (*point[:at], middle, *point[at + 1 :])
                    if self.attempt.admits(tried):
                        low = middle
                    else:
                        high = middle - 1
                point = (*point[:at], low, *point[at + 1 :])
            yield point

    def polish(self, point: Point, box: Box, bounds: Bounds) -> None:
        """Solve ``point`` after steps of single fields, ever smaller, that lower its bound."""
        low = _at(bounds, point)
        step = max(last - first for first, last in box)
        while step >= 1:
            near = [p for p in _neighbours(point, box, step) if self.attempt.admits(p)]
            best = min(near, key=lambda p: _at(bounds, p), default=point)
            if _at(bounds, best) < low:
                point, low = best, _at(bounds, best)
            else:
                step //= 2
        if not self.hopeless(low):
            self.ask(point)

    def split(self, box: Box, low: float, bounds: Bounds) -> list[tuple[Box, float]]:
        """The halves along the field whose halves have the best bounds.

        Fields are tried from the one that gained most in a box like this; those that have gained
        less than the best of now has are left out (pseudo-costs, from the same paper).
        """
        best: list[tuple[Box, float]] = []
        gained = -1.0
        fields = [at for at, (first, last) in enumerate(box) if first < last]
        for at in sorted(fields, key=lambda at: -self.branching.expected(box, at)):
            if best and self.branching.expected(box, at) < gained:
                break
            halves = self.halves(box, at, low, bounds)
            if not halves:
                return []
            gain = self.gain([bound for _, bound in halves], low)
            self.branching.note(box, at, gain)
            if not best or gain > gained:
                best, gained = halves, gain
        return best

    def gain(self, lows: Sequence[float], low: float) -> float:
        """How far the halves' bounds lie above ``low``, as a part of what is there to gain."""
        cutoff = self.cutoff
        if cutoff == inf or low <= 0:
            return min((x / low - 1 for x in lows), default=inf) if low > 0 else 0.0
        parts = [min(1.0, (x - low) / (cutoff - low)) for x in lows] + [1.0] * (2 - len(lows))
        return min(parts) + max(parts) / 8

    def halves(self, box: Box, at: int, low: float, bounds: Bounds) -> list[tuple[Box, float]]:
        first, last = box[at]
        middle = (first + last) // 2
        found: list[tuple[Box, float]] = []
        for part in ((first, middle), (middle + 1, last)):
            left = self.areas.cut((*box[:at], part, *box[at + 1 :]), self.attempt.budget)
            if left is not None:
                found.append((left, max(low, bounds.lower(left))))
        return found

    def trim(self) -> None:
        """Take each field of the best chip as low as its objective allows, one after another.

        Boxes are tried at their upper ends, so a field may have more than anything needs.
        """
        if self.attempt.best is None:
            return
        bounds = self.inner.bounds(self.software)
        for at in range(len(self.attempt.best[2])):
            objective, _, point = self.attempt.best
            reach = float(objective) * (1 + 1e-12)
            low, high = 0, point[at]
            while low < high:
                middle = (low + high) // 2
                tried = (*point[:at], middle, *point[at + 1 :])
                if self.areas.legal(tried) and _at(bounds, tried) <= reach:
                    high = middle
                else:
                    low = middle + 1
            tried = (*point[:at], low, *point[at + 1 :])
            if low < point[at] and self.attempt.admits(tried):
                self.ask(tried)

    def ended(self, stopped: str) -> Outcome:
        best = self.attempt.objective
        left = min([self.ceded, *(node[0] for node in self._heap)])
        if left == inf and best is None:
            return self.attempt.outcome(note="no chip within the budget has a program")
        if left == -inf:
            return self.attempt.outcome(note=stopped)
        bounds = [b for b in (best, None if left == inf else Fraction(left)) if b is not None]
        return self.attempt.outcome(bound=min(bounds), note=stopped)


class Branching:
    """What splitting a field has gained lately, by the field and the octave of its range."""

    def __init__(self) -> None:
        self._gains: dict[tuple[int, int], float] = {}

    def expected(self, box: Box, at: int) -> float:
        """``inf`` for a field and a range that were not split yet."""
        return self._gains.get(self._key(box, at), inf)

    def note(self, box: Box, at: int, gain: float) -> None:
        """A gain counts half of what is known, so that old ones fade."""
        key = self._key(box, at)
        self._gains[key] = (self._gains.get(key, gain) + gain) / 2

    def _key(self, box: Box, at: int) -> tuple[int, int]:
        first, last = box[at]
        return at, (last - first).bit_length()


def _at(bounds: Bounds, point: Point) -> float:
    return bounds.lower(tuple((place, place) for place in point))


def _neighbours(point: Point, box: Box, step: int) -> Iterator[Point]:
    """Chips of ``box`` one field and ``step`` places away."""
    for at, (first, last) in enumerate(box):
        for place in (point[at] - step, point[at] + step):
            if first <= place <= last:
                yield (*point[:at], place, *point[at + 1 :])
