"""What every method of the outer search ends in, so that methods can be laid side by side."""

from dataclasses import dataclass
from fractions import Fraction

from formwright.chip.library import Point
from formwright.walls.core import Answer


@dataclass(frozen=True, slots=True)
class Reached:
    """The best a method knew once it had paid for ``solves`` and ``evaluations``.

    ``objective`` and ``area`` (mm2) belong to ``point``. A trajectory has one entry for each
    improvement, in order, so it is a staircase that falls.
    """

    solves: int
    evaluations: int
    seconds: float
    point: Point
    objective: Fraction
    area: Fraction


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best chip a method found, and what finding it cost.

    ``name`` of the method; ``seed`` where it draws. ``point``, ``answer``, ``area`` (mm2) and
    ``objective`` are ``None`` where the method found no chip with a program; ``note`` says why.
    ``solves``: distinct inner problems, a chip with a set of removed walls each; ``evaluations``:
    distinct costings of fixed software at a chip; ``relaxations``: bounds of boxes asked for.
    ``seconds``: what the method takes alone (answers that another method had asked for before are
    charged with what they took the first time).
    ``bound``: no chip within the budget has an objective below it, where the method proves one.
    """

    name: str
    seed: int | None
    point: Point | None
    answer: Answer | None
    area: Fraction | None
    objective: Fraction | None
    solves: int
    evaluations: int
    relaxations: int
    seconds: float
    trajectory: tuple[Reached, ...]
    bound: Fraction | None = None
    note: str = ""

    @property
    def gap(self) -> Fraction | None:
        """How far ``bound`` lies under ``objective``, as a part of ``objective``."""
        if self.bound is None or self.objective is None:
            return None
        if self.objective == 0:
            return Fraction(0)
        return max(Fraction(0), 1 - self.bound / self.objective)

    def solves_to(self, objective: Fraction) -> int | None:
        """The solves paid when ``objective`` or better was first known; ``None`` if never."""
        return next((r.solves for r in self.trajectory if r.objective <= objective), None)
