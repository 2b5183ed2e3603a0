"""What every method of the outer search ends in, so that methods can be laid side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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

    ``seed`` where the method draws. ``point``, ``answer``, ``area`` (mm2) and ``objective`` are
    ``None`` where it found no chip with a program or was not run; ``note`` says why.
    ``solves``: distinct inner problems, a chip with a set of removed walls each; ``evaluations``:
    distinct costings of fixed software at a chip; ``relaxations``: bounds of boxes asked for.
    ``seconds``: what the method takes alone (answers that another method had asked for before are
    charged with what they took the first time).
    ``bound``: no chip within the budget has an objective below it, where the method proves one.
    """

    method: str
    point: Point | None
    answer: Answer | None
    area: Fraction | None
    objective: Fraction | None
    solves: int
    evaluations: int
    relaxations: int
    seconds: float
    trajectory: tuple[Reached, ...] = ()
    seed: int | None = None
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

    def as_json(self) -> dict[str, Any]:
        """All but ``answer``. Exact numbers are text; :func:`outcome_from_json` reads them."""
        return {
            "method": self.method,
            "seed": self.seed,
            "point": None if self.point is None else list(self.point),
            "area": _text(self.area),
            "objective": _text(self.objective),
            "bound": _text(self.bound),
            "solves": self.solves,
            "evaluations": self.evaluations,
            "relaxations": self.relaxations,
            "seconds": self.seconds,
            "trajectory": [
                {
                    "solves": each.solves,
                    "evaluations": each.evaluations,
                    "seconds": each.seconds,
                    "point": list(each.point),
                    "objective": str(each.objective),
                    "area": str(each.area),
                }
                for each in self.trajectory
            ],
            "note": self.note,
        }


def outcome_from_json(data: Mapping[str, Any], answer: Answer | None = None) -> Outcome:
    """The outcome that :meth:`Outcome.as_json` wrote; ``answer`` is not in it."""
    return Outcome(
        method=data["method"],
        point=None if data["point"] is None else tuple(data["point"]),
        answer=answer,
        area=_number(data["area"]),
        objective=_number(data["objective"]),
        solves=data["solves"],
        evaluations=data["evaluations"],
        relaxations=data["relaxations"],
        seconds=data["seconds"],
        trajectory=tuple(
            Reached(
                each["solves"],
                each["evaluations"],
                each["seconds"],
                tuple(each["point"]),
                Fraction(each["objective"]),
                Fraction(each["area"]),
            )
            for each in data["trajectory"]
        ),
        seed=data["seed"],
        bound=_number(data["bound"]),
        note=data["note"],
    )


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
