"""What the study `transfer` came to, as plain data for reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from formwright.flow.study_results import Spread
from formwright.flow.transfer_tasks import Transfer


@dataclass(frozen=True, slots=True)
class Pick:
    """A design at the target. ``seconds`` of a call: median, least and largest of the repeats.

    ``note`` says why there is no kernel of it, or what was taken in its place.
    """

    assignment: Mapping[str, int]
    key: str
    seconds: Spread | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Transferred:
    """A family at a new shape.

    ``selected``: the model's choice there, with the coefficients learned at the source, nothing
    measured at the target; ``shipped`` the same with the coefficients of the text. ``copied``: the
    measured best of the source. ``best``: the fastest that was found at the target at all, in
    ``searched_seconds`` over ``searched`` designs. Ratios are paired by round, median and 95 %
    interval: above 1 the second one is faster.
    """

    task: Transfer
    designs: int
    proof: str
    solve_seconds: Spread
    build_seconds: Spread
    validate_seconds: float | None
    selected: Pick
    shipped: Pick
    copied: Pick
    best: Pick
    copied_over_selected: Spread | None
    selected_over_best: Spread | None
    searched: int
    searched_seconds: float
    entry: int | None

    @property
    def held(self) -> bool:
        """Whether the choice was a kernel that held."""
        return self.selected.seconds is not None


@dataclass(frozen=True, slots=True)
class TransferStudy:
    """``seconds`` is the wall time of this call, not of what it resumed."""

    chip: str
    threads: int
    repeats: int
    rows: tuple[Transferred, ...]
    journal: str
    seconds: float

    @property
    def held(self) -> bool:
        return all(row.held for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "study": "transfer",
            "chip": self.chip,
            "threads": self.threads,
            "repeats": self.repeats,
            "evidence": "measured",
            "tasks": [asdict(row) | {"held": row.held} for row in self.rows],
            "journal": self.journal,
            "seconds": self.seconds,
            "held": self.held,
        }
