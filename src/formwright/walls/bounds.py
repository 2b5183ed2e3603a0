"""Branch and bound over boxes of a library: the best chip of a budget, or how far it can be.

A box is bounded by :meth:`~formwright.walls.core.Inner.lower`, cut by the budget, and split in
the middle of the field whose halves are bounded best (strong branching: Achterberg, Koch and
Martin, "Branching rules revisited", 2005). Boxes are taken from the least bound upwards, so the
least bound that is left is a bound of the whole library at any moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import inf
from time import perf_counter

from formwright.chip.library import Box, Point
from formwright.walls.attempt import Attempt
from formwright.walls.core import Answer
from formwright.walls.counting import Counted
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


class _Search:
    def __init__(self, attempt: Attempt, until: Until, software: Answer | None) -> None:
        self.attempt = attempt
        self.inner = attempt.inner
        self.areas = attempt.areas
        self.until = until
        self.software = software
        self.ceded = inf
        """The least bound of a box that was left because it cannot gain more than the gap."""
        self._heap: list[tuple[float, int, Box]] = []
        self._pushed = 0

    def run(self, known: Point | None) -> Outcome:
        began, asked = perf_counter(), self.inner.relaxations
        if known is not None and self.attempt.admits(known):
            self.ask(known)
        self.push(self.inner.library.whole, -inf)
        stopped = ""
        while self._heap:
            low, _, box = self._heap[0]
            if self.hopeless(low):
                break
            if perf_counter() - began > self.until.seconds:
                stopped = f"stopped after {self.until.seconds:g} s"
                break
            if self.inner.relaxations - asked > self.until.relaxations:
                stopped = f"stopped after {self.until.relaxations} bounds"
                break
            heappop(self._heap)
            self.open(box, low)
        return self.ended(stopped)

    def ask(self, point: Point) -> None:
        if self.software is None:
            self.attempt.solve(point)
        else:
            self.attempt.keep(point, self.software)

    def lower(self, box: Box) -> float:
        if self.software is None:
            return self.inner.lower(box)
        return self.inner.lower_of(box, self.software)

    def hopeless(self, low: float) -> bool:
        """Nothing with bound ``low`` improves on the best by more than the gap."""
        best = self.attempt.objective
        return low == inf or (best is not None and low >= float(best) * (1 - self.until.gap))

    def push(self, box: Box, parent: float) -> None:
        """Queue what the budget leaves of ``box``; its parent's bound holds for it too."""
        left = self.areas.cut(box, self.attempt.budget)
        if left is None:
            return
        self.queue(left, max(parent, self.lower(left)))

    def queue(self, box: Box, low: float) -> None:
        if self.hopeless(low):
            self.ceded = min(self.ceded, low)
            return
        self._pushed += 1
        heappush(self._heap, (low, self._pushed, box))

    def open(self, box: Box, low: float) -> None:
        """Try a chip of the box; split what it does not settle."""
        point = tuple(end for end, _ in box)
        if all(first == last for first, last in box):
            if self.attempt.admits(point):
                self.ask(point)
            return
        for candidate in self.candidates(box):
            if not self.hopeless(self.lower_at(candidate)):
                self.polish(candidate)
        if self.hopeless(low):
            self.ceded = min(self.ceded, low)
            return
        for half, bound in self.split(box, low):
            self.queue(half, bound)

    def lower_at(self, point: Point) -> float:
        return self.lower(tuple((place, place) for place in point))

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

    def polish(self, point: Point) -> None:
        """Solve ``point`` after steps of single fields, ever smaller, that lower its bound."""
        low = self.lower_at(point)
        step = max(len(f.menu) for f in self.inner.library.fields) // 2
        while step >= 1:
            moved = False
            for stepped in self.neighbours(point, step):
                bound = self.lower_at(stepped)
                if bound < low:
                    point, low, moved = stepped, bound, True
            if not moved:
                step //= 2
        if not self.hopeless(low):
            self.ask(point)

    def neighbours(self, point: Point, step: int) -> Iterator[Point]:
        for field in self.inner.library.fields:
            for signed in (-step, step):
                stepped = self.inner.library.stepped(point, field.name, signed)
                if stepped is not None and self.attempt.admits(stepped):
                    yield stepped

    def split(self, box: Box, low: float) -> list[tuple[Box, float]]:
        """The halves along the field whose halves have the best bounds."""
        best: list[tuple[Box, float]] = []
        score = (-inf, -inf)
        for at, (first, last) in enumerate(box):
            if first == last:
                continue
            halves = self.halves(box, at, low)
            bounds = sorted(bound for _, bound in halves)
            found = (bounds[0], sum(bounds)) if bounds else (inf, inf)
            if not best or found > score:
                best, score = halves, found
            if not halves:
                return []
        return best

    def halves(self, box: Box, at: int, low: float) -> list[tuple[Box, float]]:
        first, last = box[at]
        middle = (first + last) // 2
        found: list[tuple[Box, float]] = []
        for part in ((first, middle), (middle + 1, last)):
            left = self.areas.cut((*box[:at], part, *box[at + 1 :]), self.attempt.budget)
            if left is not None:
                found.append((left, max(low, self.lower(left))))
        return found

    def ended(self, stopped: str) -> Outcome:
        best = self.attempt.objective
        left = min([self.ceded, *(low for low, _, _ in self._heap)])
        if left == inf and best is None:
            return self.attempt.outcome(note="no chip within the budget has a program")
        if left == -inf:
            return self.attempt.outcome(note=stopped)
        bounds = [b for b in (best, None if left == inf else Fraction(left)) if b is not None]
        return self.attempt.outcome(bound=min(bounds), note=stopped)
