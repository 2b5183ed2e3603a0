"""What a run gives back: plain data, each number with the journal entry that it comes from."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from formwright.flow.agent_results import AgentResult


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with a bootstrap interval (95 per cent)."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """One workload's outcome. Times are seconds; ``speedup`` is baseline time over ours.

    ``artifact`` is a folder relative to the output folder, or ``None`` with ``reasons`` where
    nothing was qualified. ``entries`` names the journal entry behind each part. ``tradeoffs``
    has every measured candidate by each measure, and what the winner gave up for the objective.
    ``notes`` say where a speed-up is not sure, and what a time does not hold.
    """

    name: str
    extents: dict[str, int]
    template: str | None
    assignment: dict[str, int]
    predicted_seconds: float | None
    measured_seconds: Interval | None
    baselines: dict[str, Interval]
    missing_baselines: dict[str, str]
    speedup: dict[str, Interval]
    candidates: int
    prediction_error: float | None
    rank_correlation: float | None
    artifact: str | None
    reasons: tuple[str, ...]
    entries: dict[str, str]
    tradeoffs: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """``held``: every workload has a qualified artifact."""

    problem: str
    chip: str
    threads: int
    proofs: dict[str, str]
    workloads: tuple[WorkloadResult, ...]
    journal: str
    seconds: float
    agent: AgentResult | None = None

    @property
    def folder(self) -> Path:
        """Where the run's journal, artifacts and report are."""
        return Path(self.journal).parent

    @property
    def held(self) -> bool:
        return all(w.artifact is not None for w in self.workloads)

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright run --json``: ``workloads`` by name."""
        shown = {
            "schema": 1,
            "problem": self.problem,
            "chip": self.chip,
            "threads": self.threads,
            "proofs": self.proofs,
            "workloads": {w.name: _plain(w) for w in self.workloads},
            "journal": self.journal,
            "seconds": self.seconds,
            "held": self.held,
        }
        return shown if self.agent is None else shown | {"agent": self.agent.as_json()}


def _plain(result: WorkloadResult) -> dict[str, Any]:
    shown = asdict(result)
    del shown["name"]
    return shown
