"""What the study `growth` came to, as plain data for reports."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from formwright.flow.growth_tasks import Posed
from formwright.flow.study_results import Spread

Arm = Literal["with", "without"]
ARMS: tuple[Arm, Arm] = ("with", "without")


@dataclass(frozen=True, slots=True)
class Ran:
    """One problem once. Times in seconds from the start of its process.

    ``drawn``: templates that the population gave; ``proposed`` and ``proved`` are of the texts that
    the proposer made in this run. ``first_seconds``: until the first kernel was validated and
    measured; ``first_latency`` and ``latency`` are of a call, the best then and at the end.
    """

    arm: Arm
    repeat: int
    drawn: tuple[str, ...]
    proposed: int
    proved: int
    template: str
    rule: str
    first_seconds: float | None
    seconds: float
    first_latency: float | None
    latency: float | None
    before: str
    fault: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class Grown:
    """A problem over all repeats. ``ratio``: the final kernel without the population over the one
    with it, paired by round, median and 95 % interval: above 1 the population helped."""

    problem: Posed
    runs: tuple[Ran, ...]
    ratio: Spread | None

    def of(self, arm: Arm) -> tuple[Ran, ...]:
        return tuple(r for r in self.runs if r.arm == arm)


@dataclass(frozen=True, slots=True)
class GrowthStudy:
    """``seconds`` is the wall time of this call, not of what it resumed."""

    threads: int
    repeats: int
    generations: int
    problems: tuple[Grown, ...]
    journal: str
    seconds: float

    @property
    def held(self) -> bool:
        """Every run ended with a kernel that holds."""
        return all(r.latency is not None for p in self.problems for r in p.runs)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "study": "growth",
            "threads": self.threads,
            "repeats": self.repeats,
            "generations": self.generations,
            "evidence": "measured",
            "problems": [asdict(p) for p in self.problems],
            "journal": self.journal,
            "seconds": self.seconds,
            "held": self.held,
        }
