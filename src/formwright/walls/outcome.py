"""What one method of choosing a chip ended at, and what it took: the same for all methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from formwright.chip.library import Point


@dataclass(frozen=True, slots=True)
class Outcome:
    """``solves`` counts distinct inner problems, ``evaluations`` uses of one design on one chip.

    ``point`` is ``None`` where the method found no chip with a program; ``note`` says why, or
    why the method was not run. ``bound``: no chip within the budget has an objective below it;
    ``None`` where the method gives none. ``trajectory``: the best objective so far against the
    solves that it took, at each improvement.
    """

    method: str
    point: Point | None
    objective: Fraction | None
    solves: int
    evaluations: int
    seconds: float
    seed: int | None = None
    bound: float | None = None
    trajectory: tuple[tuple[int, Fraction], ...] = ()
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Exact numbers as text; :func:`outcome_from_json` reads them back."""
        return {
            "method": self.method,
            "seed": self.seed,
            "point": None if self.point is None else list(self.point),
            "objective": None if self.objective is None else str(self.objective),
            "bound": self.bound,
            "solves": self.solves,
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "trajectory": [[n, str(value)] for n, value in self.trajectory],
            "note": self.note,
        }


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    return Outcome(
        method=data["method"],
        point=None if data["point"] is None else tuple(data["point"]),
        objective=None if data["objective"] is None else Fraction(data["objective"]),
        solves=data["solves"],
        evaluations=data["evaluations"],
        seconds=data["seconds"],
        seed=data["seed"],
        bound=data["bound"],
        trajectory=tuple((n, Fraction(value)) for n, value in data["trajectory"]),
        note=data["note"],
    )
