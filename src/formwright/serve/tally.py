"""What a journal comes to so far: entries go in, one after another, and few of them are kept."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, Final

from formwright.report.pages.conditions import evidence_in
from formwright.report.pages.entries import Entry, at, items, mapping
from formwright.serve.telling import medians, told
from formwright.serve.values import number, text

LATEST: Final = 40
MOST_NAMES: Final = 2000
"""Of a kind; names beyond are counted and not kept."""


@dataclass(frozen=True, slots=True)
class Line:
    """One of the latest entries."""

    number: int
    time: str
    key: str
    says: str


@dataclass(slots=True)
class Stage:
    """A kind of step: how many entries, the key of the last."""

    count: int = 0
    last: str = ""
    time: str = ""


@dataclass(slots=True)
class Judged:
    """What became of a template; ``entry`` is where it stands."""

    name: str
    verdict: str
    entry: int
    evidence: str = ""
    """What its verdict may be called by the obligations that the entry has; empty without any."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of times, paired by round: the median with its 95 % interval, where one is told."""

    median: float
    low: float | None
    high: float | None

    @property
    def counts(self) -> bool:
        """Whether it tells a difference: an interval that leaves 1 out."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


@dataclass(slots=True)
class Work:
    """A workload: rounds, the fastest candidate, then the winner against what it is held against.

    Seconds are medians, measured; ``ratios`` has the time of each baseline over that of the winner.
    """

    rounds: int = 0
    candidate: str = ""
    seconds: float | None = None
    measured_by: int = -1
    confirmed: float | None = None
    confirmed_by: int = -1
    ratios: dict[str, Ratio] = field(default_factory=dict)
    artifact: str = ""
    qualified: str = ""
    """The artifact, or why there is none; empty while that is open."""
    qualified_by: int = -1


@dataclass(slots=True)
class Search:
    """Runs of one method: of a chip study under one ceiling, or of a searcher on one task."""

    group: str
    method: str
    runs: int = 0
    best: float | None = None
    area: float | None = None
    entry: int = -1
    """Where the best is from."""


@dataclass(slots=True)
class Tally:
    """Sets hold keys of candidates (designs), so that one that is met twice counts once."""

    kind: str = ""
    name: str = ""
    began: str = ""
    last: str = ""
    entries: int = 0
    stages: dict[str, Stage] = field(default_factory=dict)
    latest: deque[Line] = field(default_factory=lambda: deque(maxlen=LATEST))
    templates: dict[str, Judged] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    proposals: int = 0
    built: set[str] = field(default_factory=set)
    not_built: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    refuted: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    untimed: set[str] = field(default_factory=set)
    """Designs that a measurement was tried of and gave no time."""
    works: dict[str, Work] = field(default_factory=dict)
    searches: dict[tuple[str, str], Search] = field(default_factory=dict)
    stopped: str = ""
    lost: int = 0
    """Attempts of jobs whose machine went away; the journal says where and why."""

    def add(self, entry: Entry) -> None:
        """``entry`` is the next one; nothing in it is taken to be well-formed."""
        self.entries += 1
        self.began = self.began or entry.time
        self.last = entry.time
        stage = self.stages.setdefault(entry.key.split("/")[0][:80], Stage())
        stage.count += 1
        stage.last, stage.time = entry.key, entry.time
        if not self.kind:
            self._begin(entry)
        self._count(entry)
        self.latest.append(Line(entry.number, entry.time, text(entry.key), told(entry)))

    def _begin(self, entry: Entry) -> None:
        self.kind = {"problem": "run", "study": "study"}.get(entry.key, "journal")
        named = text(at(entry.data, "study"))
        if self.kind == "study" and len(named) < 32:
            self.name = named

    def _count(self, entry: Entry) -> None:
        parts, data = entry.key.split("/"), entry.data
        match parts:
            case ["about"]:
                self.name = text(at(data, "problem"))
                for work in list(mapping(at(data, "workloads")))[:MOST_NAMES]:
                    self._work(work)
            case ["prove", _, *_]:
                named = entry.key.partition("/")[2]
                self._judge(named, named, text(at(data, "verdict")), entry)
            case ["judge", asked, place, *_]:
                self.proposals += 1
                name = text(at(data, "name")) or "-"
                self._judge(f"{asked}/{place}", name, text(at(data, "verdict")), entry)
            case ["build", key, *_]:
                _keep(self.not_built if text(at(data, "error")) else self.built, key)
            case ["validate", _, key, *_]:
                _keep(self.held if at(data, "verdict") == "held" else self.refuted, key)
            case ["measure" | "final", work, *_]:
                self._measure(work, entry, len(parts) > 2)
            case ["time", _, key, *_]:
                _keep(self.measured, key)
            case ["confirm", work]:
                self._confirm(self._work(work), entry)
            case ["qualify", work]:
                one = self._work(work)
                one.artifact = text(at(data, "artifact"))
                one.qualified = one.artifact or f"not qualified: {text(at(data, 'message'))}"
                one.qualified_by = entry.number
            case ["lost", *_]:
                self.lost += 1
            case ["go", _]:
                self.stopped = text(at(data, "stop"))
            case ["search", task, searcher, *_]:
                self._search(task, searcher, _best_of_curve(data), None, entry)
            case _:
                self._method(parts, entry)

    def _judge(self, key: str, name: str, verdict: str, entry: Entry) -> None:
        self.verdicts[verdict] += 1
        if len(self.templates) < MOST_NAMES:
            self.templates[key] = Judged(text(name), verdict, entry.number, _evidence(entry.data))

    def _work(self, name: str) -> Work:
        return self.works.setdefault(text(name), Work())

    def _measure(self, name: str, entry: Entry, round_: bool) -> None:
        work, found = self._work(name), medians(entry.data)
        for key in mapping(at(entry.data, "programs")):
            _keep(self.measured if key in found else self.untimed, key)
        work.rounds += round_
        if not found:
            return
        best = min(found, key=lambda key: (found[key], key))
        if work.seconds is None or found[best] < work.seconds or not round_:
            work.candidate, work.seconds, work.measured_by = text(best), found[best], entry.number

    def _confirm(self, work: Work, entry: Entry) -> None:
        work.confirmed = medians(entry.data).get("kernel")
        work.confirmed_by = entry.number
        work.ratios = {}
        for name, found in mapping(at(entry.data, "ratios")).items():
            middle, low, high = (number(at(found, end)) for end in ("median", "low", "high"))
            if middle is not None:
                work.ratios[text(name)] = Ratio(middle, low, high)

    def _search(
        self, group: str, method: str, best: float | None, area: float | None, entry: Entry
    ) -> None:
        key = (text(group), text(method))
        if key not in self.searches and len(self.searches) >= MOST_NAMES:
            return
        search = self.searches.setdefault(key, Search(*key))
        search.runs += 1
        if best is not None and (search.best is None or best < search.best):
            search.best, search.area, search.entry = best, area, entry.number

    def _method(self, parts: list[str], entry: Entry) -> None:
        """A result of a chip study, or a round of its relaxation: ``CEILING/METHOD[/…]``."""
        objective = number(at(entry.data, "objective"))
        if objective is None or len(parts) < 2:
            return
        area = number(at(entry.data, "area"))
        self._search(parts[0], parts[1], objective, area, entry)


def _evidence(data: Any) -> str:
    """The weakest word of the obligations of the proof that an entry of a verdict carries."""
    proof = mapping(at(data, "full")) or mapping(at(data, "proof", "full"))
    return evidence_in(proof) if proof else ""


def _keep(names: set[str], name: str) -> None:
    if len(names) < MOST_NAMES * 50:
        names.add(name[:80])


def _best_of_curve(data: Any) -> float | None:
    """The least seconds of ``[evaluations, spent, seconds]``."""
    curve = (number(point[2]) for point in items(at(data, "curve")) if len(items(point)) == 3)
    return min((v for v in curve if v is not None), default=None)
