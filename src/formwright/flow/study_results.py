"""What the study `white-black` came to, as plain data for reports."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from formwright.measure.statistics import median_interval

Standing = Literal["ahead", "even", "behind"]

SHARE_AHEAD: Final = 0.8
"""Of the tasks, those on which the flow must be ahead of every searcher; on the others it may be
behind by :data:`BEHIND` at most."""
FLOWS: Final = ("flow", "flow-transcript")
"""Rows of the flow itself, by proposer."""
BEHIND: Final = 0.02
NOT_INSTALLED: Final = "is not installed"
"""Of the note of a searcher whose package is missing."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of several values, and the least and the largest of them."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one search ended with. ``seconds`` of a call in the final, interleaved measurement;
    ``searched_seconds`` what the search had measured. ``curve``: evaluations, seconds spent and
    seconds of a call each time that the search became better."""

    seed: int
    template: str
    assignment: Mapping[str, int]
    key: str
    seconds: float | None
    searched_seconds: float | None
    evaluations: int
    failures: int
    spent: float
    curve: tuple[tuple[int, float, float], ...]
    entry: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """A searcher on a task. ``ratio``: its time over the flow's, for the kernels of the median
    seeds, paired by round, with a 95 % bootstrap interval; above 1 the flow is faster."""

    searcher: str
    found: tuple[Found, ...]
    seconds: Spread | None
    ratio: Spread | None
    standing: Standing | None
    note: str = ""

    @property
    def absent(self) -> bool:
        """The searcher's package is not there, so nothing is known of it."""
        return NOT_INSTALLED in self.note


@dataclass(frozen=True, slots=True)
class TaskResult:
    """``designs`` are those that the constraints allow; ``best`` the fastest finalist of all."""

    name: str
    template: str
    extents: Mapping[str, int]
    designs: int
    proof: str
    rows: tuple[Row, ...]
    copied: Row | None
    best_seconds: float | None
    entry: int | None

    @property
    def worst(self) -> Row | None:
        """The searcher that the flow is least ahead of."""
        rivals = [r for r in self.rows if r.ratio is not None and r.searcher not in FLOWS]
        return min(rivals, key=lambda r: r.ratio.median, default=None)  # type: ignore[union-attr]

    @property
    def open(self) -> bool:
        """Whether something is missing that a comparison needs: the package of a searcher, or a
        kernel of the flow where another has one."""
        rivals = [r for r in self.rows if r.searcher not in FLOWS]
        return any(r.absent or (r.seconds is not None and r.ratio is None) for r in rivals)

    @property
    def ahead(self) -> bool:
        """Whether the flow's median is below that of every other searcher."""
        rivals = [r for r in self.rows if r.searcher not in FLOWS and r.standing is not None]
        return not self.open and bool(rivals) and all(r.standing == "ahead" for r in rivals)

    @property
    def near(self) -> bool:
        """Whether the flow is behind no searcher by more than :data:`BEHIND`."""
        worst = self.worst
        behind = worst is not None and worst.ratio is not None and worst.ratio.median < 1 - BEHIND
        return not self.open and not behind


@dataclass(frozen=True, slots=True)
class WhiteBlack:
    """The study. ``seconds`` is the wall time of this call, not of what it resumed; ``journal``
    lies in the study's folder."""

    chip: str
    threads: int
    seeds: int
    evaluations: int
    budget_seconds: float
    tasks: tuple[TaskResult, ...]
    kernels: int
    journal: str
    seconds: float

    @property
    def held(self) -> bool:
        """Ahead on enough tasks, and near on all of them."""
        ahead = sum(t.ahead for t in self.tasks)
        return ahead >= SHARE_AHEAD * len(self.tasks) and all(t.near for t in self.tasks)

    def as_json(self) -> dict[str, Any]:
        tasks = [
            asdict(t) | {"ahead": t.ahead, "near": t.near, "evidence": "measured"}
            for t in self.tasks
        ]
        return asdict(self) | {
            "schema": 1,
            "study": "white-black",
            "tasks": tasks,
            "ahead_on": sum(t.ahead for t in self.tasks),
            "held": self.held,
        }


def spread(values: Sequence[float]) -> Spread | None:
    """Median, least and largest; the middle one of an even number is the lower."""
    if not values:
        return None
    ordered = sorted(values)
    return Spread(ordered[(len(ordered) - 1) // 2], ordered[0], ordered[-1])


def median_of(found: Sequence[Found]) -> Found | None:
    """The search whose kernel has the median time."""
    timed = sorted((f for f in found if f.seconds is not None), key=lambda f: (f.seconds, f.seed))
    return timed[(len(timed) - 1) // 2] if timed else None


def paired(slower: Mapping[str, float], faster: Mapping[str, float]) -> Spread | None:
    """``slower / faster`` over the rounds that both have: median and 95 % interval."""
    rounds = [r for r in slower if r in faster]
    if not rounds:
        return None
    interval = median_interval([slower[r] / faster[r] for r in rounds])
    return Spread(interval.median, interval.low, interval.high)


def standing_of(flow: str, other: str, ratio: Spread | None) -> Standing | None:
    """How the flow's kernel stands to another searcher's; one kernel is even with itself.

    ``ratio`` is the other's time over the flow's.
    """
    if ratio is None:
        return None
    if flow == other:
        return "even"
    return "ahead" if ratio.median > 1 else "behind"
