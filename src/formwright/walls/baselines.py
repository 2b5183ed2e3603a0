"""The plain ways to choose a chip, which wall relaxation is held against.

All take the counted inner problem first and end in an
:class:`~formwright.walls.outcome.Outcome`. ``budget`` is in mm2, ``None`` without a limit.
"""

import random
from collections.abc import Iterator
from fractions import Fraction

from formwright.chip.library import Box, Point
from formwright.walls.attempt import Attempt
from formwright.walls.bounds import Until, close
from formwright.walls.core import Answer
from formwright.walls.counting import Counted
from formwright.walls.exact import MOST_CHIPS
from formwright.walls.outcome import Outcome


def fixed_hardware(inner: Counted, start: Point, reference: Answer) -> Outcome:
    """The start with the software of ``reference``: nothing is chosen."""
    attempt = Attempt("fixed hardware", inner, None)
    attempt.keep(start, reference)
    return attempt.outcome()


def software_only(inner: Counted, start: Point) -> Outcome:
    """The best software of the start."""
    attempt = Attempt("software only", inner, None)
    attempt.solve(start)
    return attempt.outcome()


def hardware_only(
    inner: Counted,
    start: Point,
    reference: Answer,
    budget: Fraction | None = None,
    until: Until | None = None,
) -> Outcome:
    """The best chip for the software of ``reference``, which stays as it is."""
    attempt = Attempt("hardware only", inner, budget)
    return _best_chip_for(attempt, reference, start, until)


def sequential(
    inner: Counted, start: Point, budget: Fraction | None = None, until: Until | None = None
) -> Outcome:
    """The best software of the start, then the best chip for that software."""
    attempt = Attempt("sequential", inner, budget)
    first = inner.solve(start)
    if first.objective is None:
        return attempt.outcome(note=f"the start has no software: {first.reason}")
    if attempt.admits(start):
        attempt.take(start, first)
    return _best_chip_for(attempt, first, start, until)


def random_search(
    inner: Counted, budget: Fraction | None = None, solves: int = 100, seed: int = 0
) -> Outcome:
    """``solves`` distinct chips within ``budget``, drawn alike, with the best software of each."""
    attempt = Attempt("random", inner, budget, seed)
    drawn = 0
    for point in _draws(attempt, random.Random(seed), solves):
        attempt.solve(point)
        drawn += 1
    note = f"{drawn} chips were found, not {solves}" if drawn < solves else ""
    return attempt.outcome(note=note)


def _best_chip_for(
    attempt: Attempt, software: Answer, start: Point, until: Until | None
) -> Outcome:
    """By branch and bound where the inner problem can be cut down, else by every chip."""
    inner = attempt.inner
    if inner.restrictable:
        return close(attempt, start, until, software)
    if inner.library.size > MOST_CHIPS:
        return attempt.outcome(
            note=f"not run: {inner.library.size} chips are more than {MOST_CHIPS}"
        )
    for point in attempt.areas.chips(inner.library.whole, attempt.budget):
        attempt.keep(point, software)
    return attempt.outcome()


_TRIES = 2000
"""Draws in a row that may miss before what is left is listed."""


def _draws(attempt: Attempt, random_: random.Random, count: int) -> Iterator[Point]:
    box = attempt.areas.cut(attempt.inner.library.whole, attempt.budget)
    if box is None:
        return
    seen: set[Point] = set()
    missed = 0
    while len(seen) < count and missed < _TRIES:
        point = tuple(random_.randint(low, high) for low, high in box)
        if point in seen or not attempt.admits(point):
            missed += 1
            continue
        missed = 0
        seen.add(point)
        yield point
    if len(seen) < count and _chips(box) <= MOST_CHIPS:
        left = [p for p in attempt.areas.chips(box, attempt.budget) if p not in seen]
        yield from random_.sample(left, min(count - len(seen), len(left)))


def _chips(box: Box) -> int:
    count = 1
    for low, high in box:
        count *= high - low + 1
    return count
