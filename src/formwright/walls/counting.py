"""Counting what a method asks of the inner problem, so that methods are charged alike."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Protocol, TypeVar, runtime_checkable

from formwright.chip.library import Box, Library, Point
from formwright.walls.core import NONE, Answer, Inner, Walls

_R = TypeVar("_R")
_Software = tuple[tuple[str, str, str, tuple[tuple[str, int], ...]], ...]


@runtime_checkable
class Restrictable(Protocol):
    """An inner problem that can be cut down to one software."""

    def only(self, software: Answer) -> Inner:
        """The same problem, each work left with its design in ``software``."""
        ...


@runtime_checkable
class Narrowing(Protocol):
    """An inner problem that leaves out what does not matter for the chips of a box."""

    def narrowed(self, box: Box, cutoff: float) -> Inner:
        """An inner problem whose ``lower`` holds for objectives below ``cutoff`` in ``box``."""
        ...


@dataclass(slots=True)
class Shared:
    """Answers that the methods of one study share, each with the seconds it took first."""

    solved: dict[tuple[Point, Walls], tuple[Answer, float]] = field(default_factory=dict)
    kept: dict[tuple[Point, _Software], tuple[Answer, float]] = field(default_factory=dict)


class Counted:
    """An :class:`~formwright.walls.core.Inner` for one method, which counts distinct queries.

    ``solves`` counts pairs of a chip and a set of removed walls, ``evaluations`` pairs of a chip
    and a software, ``relaxations`` bounds of boxes: each once, however often it is asked.
    ``seconds`` is what they take; an answer that ``shared`` has from another method is charged
    with what it took there. ``spent`` is the time that really passed in the inner problem.
    """

    def __init__(self, inner: Inner, shared: Shared | None = None) -> None:
        self.inner = inner
        self.shared = Shared() if shared is None else shared
        self.solves = 0
        self.evaluations = 0
        self.relaxations = 0
        self.seconds = 0.0
        self.spent = 0.0
        self._solved: set[tuple[Point, Walls]] = set()
        self._kept: set[tuple[Point, _Software]] = set()
        self._bounds: dict[_Software | None, Bounds] = {}

    @property
    def library(self) -> Library:
        return self.inner.library

    @property
    def walls(self) -> tuple[str, ...]:
        return self.inner.walls

    def solve(self, point: Point, removed: Walls = NONE) -> Answer:
        """As of :class:`~formwright.walls.core.Inner`."""
        key = (point, removed)
        if key not in self.shared.solved:
            self.shared.solved[key] = self.timed(lambda: self.inner.solve(point, removed))
        answer, seconds = self.shared.solved[key]
        if key not in self._solved:
            self._solved.add(key)
            self.solves += 1
            self.seconds += seconds
        return answer

    def keep(self, point: Point, software: Answer) -> Answer:
        """As of :class:`~formwright.walls.core.Inner`."""
        key = (point, _identity(software))
        if key not in self.shared.kept:
            self.shared.kept[key] = self.timed(lambda: self.inner.keep(point, software))
        answer, seconds = self.shared.kept[key]
        if key not in self._kept:
            self._kept.add(key)
            self.evaluations += 1
            self.seconds += seconds
        return answer

    def lower(self, box: Box) -> float:
        """As of :class:`~formwright.walls.core.Inner`. Not shared: few boxes recur."""
        return self.bounds().lower(box)

    @property
    def restrictable(self) -> bool:
        """:meth:`bounds` can be asked for a software."""
        return isinstance(self.inner, Restrictable)

    def bounds(self, software: Answer | None = None) -> "Bounds":
        """Bounds of boxes of chips that run ``software``, or each its best."""
        key = None if software is None else _identity(software)
        if key not in self._bounds:
            inner = self.inner
            if software is not None:
                if not isinstance(inner, Restrictable):
                    raise TypeError("the inner problem cannot be cut down to one software")
                inner = inner.only(software)
            self._bounds[key] = Bounds(self, inner)
        return self._bounds[key]

    def asked(self) -> tuple[tuple[Point, Walls], ...]:
        """The distinct inner problems so far, for a journal."""
        return tuple(sorted(self._solved, key=lambda key: (key[0], sorted(key[1]))))

    def restore(
        self,
        asked: Iterable[tuple[Point, Walls]],
        evaluations: int,
        relaxations: int,
        seconds: float,
    ) -> None:
        """Go on from what :meth:`asked` and the counters said: those queries are paid for."""
        self._solved = set(asked)
        self.solves = len(self._solved)
        self.evaluations, self.relaxations, self.seconds = evaluations, relaxations, seconds

    def timed(self, ask: Callable[[], _R]) -> tuple[_R, float]:
        """What ``ask`` answers and the seconds it took, which count as spent."""
        began = perf_counter()
        found = ask()
        seconds = perf_counter() - began
        self.spent += seconds
        return found, seconds


class Bounds:
    """Lower bounds of boxes, each counted once, from designs that matter for the boxes asked."""

    def __init__(self, counted: Counted, inner: Inner, cutoff: float = inf) -> None:
        self._counted = counted
        self._inner = inner
        self._cutoff = cutoff
        self._known: dict[Box, float] = {}

    def lower(self, box: Box) -> float:
        """No chip of ``box`` has an objective below this.

        It is at most the cutoff of the narrowing: of objectives above that nothing is known.
        """
        if box not in self._known:
            low, seconds = self._counted.timed(lambda: self._inner.lower(box))
            self._known[box] = min(low, self._cutoff)
            self._counted.relaxations += 1
            self._counted.seconds += seconds
        return self._known[box]

    def narrowed(self, box: Box, cutoff: float) -> "Bounds":
        """For parts of ``box`` and objectives below ``cutoff`` only."""
        inner = self._inner
        if not isinstance(inner, Narrowing):
            return self
        left, seconds = self._counted.timed(lambda: inner.narrowed(box, cutoff))
        self._counted.seconds += seconds
        return Bounds(self._counted, left, min(cutoff, self._cutoff))


def _identity(software: Answer) -> _Software:
    """Which design each work of each scenario has."""
    return tuple(
        (s.name, c.work, c.template, tuple(sorted(c.assignment.items())))
        for s in software.scenarios
        for c in s.chosen
    )
