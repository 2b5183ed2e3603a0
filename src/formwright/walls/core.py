"""What the outer search and the inner problem say to one another.

A *wall* is a capacity field of the library seen from the software's side: the constraints of
templates that name it (``C1 wall shared_bytes : …``). Removing a wall drops all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from formwright.chip.library import Box, Library, Point

Walls = frozenset[str]
"""Names of walls that are removed."""

NONE: Walls = frozenset()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The design of one kernel: ``time`` in the template's unit, ``energy`` in its unit or none.

    ``slack`` is what each wall leaves: the field's value less what the design needs of it.
    """

    work: str
    template: str
    assignment: Mapping[str, int]
    time: Fraction
    energy: Fraction | None
    count: int
    slack: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class ScenarioAnswer:
    """``ratio``: ``time`` over that of the reference, the figure that objectives join."""

    name: str
    time: Fraction
    energy: Fraction | None
    ratio: Fraction
    chosen: tuple[Chosen, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """``objective`` is ``None`` where some scenario has no program; ``reason`` says which, why."""

    objective: Fraction | None
    scenarios: tuple[ScenarioAnswer, ...]
    reason: str = ""

    @property
    def software(self) -> Mapping[tuple[str, str], Chosen]:
        """By scenario and work."""
        return {(s.name, c.work): c for s in self.scenarios for c in s.chosen}


class Inner(Protocol):
    """The best software for a chip. Answers are exact; equal questions get equal answers."""

    @property
    def library(self) -> Library: ...

    @property
    def walls(self) -> tuple[str, ...]:
        """The fields that some template has a wall for, in the library's order."""
        ...

    def solve(self, point: Point, removed: Walls = NONE) -> Answer:
        """The best software of the chip at ``point``, the walls in ``removed`` dropped."""
        ...

    def keep(self, point: Point, software: Answer) -> Answer:
        """What the designs of ``software`` cost at ``point``: none where one does not fit."""
        ...

    def lower(self, box: Box) -> float:
        """No chip of ``box`` reaches an objective below this, with any software.

        ``inf`` where no chip of it has a program.
        """
        ...


def better(one: Fraction | None, other: Fraction | None) -> bool:
    """``one`` is strictly the smaller objective; no program is worse than any."""
    if one is None:
        return False
    return other is None or one < other
