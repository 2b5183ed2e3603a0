"""Which defects of a run bear out which condition."""

from dataclasses import dataclass, replace

from formwright.replay.compare import CellDefect, DefectKind
from formwright.replay.events import Anomaly, AnomalyKind
from formwright.replay.runner import Outcome

ORDER_CONDITIONS = frozenset(
    {
        "race",
        "readiness",
        "lifetime",
        "order",
        "single",
        "uniform",
        "progress",
        "phase",
        "agreement",
    }
)
"""Conditions that need adversarial schedules; the others are seen in the textual order."""

_CELLS: dict[str, frozenset[DefectKind]] = {
    "single": frozenset({"doubled", "swapped", "missing", "foreign"}),
    "race": frozenset({"doubled", "swapped", "missing", "foreign"}),
    "readiness": frozenset({"swapped", "missing", "foreign"}),
    "lifetime": frozenset({"swapped", "missing", "foreign"}),
    "order": frozenset({"doubled", "swapped", "missing", "foreign"}),
    "phantom": frozenset({"foreign", "swapped", "doubled"}),
    "exact_once": frozenset({"doubled"}),
    "coverage": frozenset({"missing", "swapped", "unwritten"}),
    "defined": frozenset({"unwritten"}),
}

_ANOMALIES: dict[str, frozenset[AnomalyKind]] = {
    "address": frozenset({"address", "outside"}),
    "uniform": frozenset({"uniform"}),
    "single": frozenset({"single"}),
    "race": frozenset({"undefined", "stale", "overwritten", "order", "single"}),
    "readiness": frozenset({"undefined", "stale"}),
    "lifetime": frozenset({"stale", "overwritten", "undefined", "order"}),
    "order": frozenset({"order", "undefined", "stale", "overwritten"}),
    "phantom": frozenset({"address", "outside"}),
    "exact_once": frozenset({"single"}),
}

_ANOMALY_FIRST = frozenset({"address", "uniform", "single", "readiness", "order", "phantom"})
"""Where the cause on the way says more than its effect on an output."""

_NEEDS_ANOMALY = frozenset({"readiness", "lifetime"})
"""Conditions about what a read meets: a wrong output alone may have another cause."""


def telling(condition: str) -> frozenset[AnomalyKind]:
    """Anomalies of which the first is a finding, whatever the outputs are in the end.

    None where an output says more, or where a run must be held against another.
    """
    if condition in _NEEDS_ANOMALY | (_ANOMALY_FIRST - {"uniform"}):  # that may end in a deadlock
        return _ANOMALIES[condition]
    return frozenset()


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen: an output cell, an anomaly, or a deadlock."""

    sentence: str
    cell: CellDefect | None = None
    anomaly: Anomaly | None = None


def finding(
    condition: str, buffer: str, outcome: Outcome, known: Outcome | None = None
) -> Finding | None:
    """The defect of the run that bears out ``condition``; ``None`` if there is none.

    A condition without an entry of its own takes any defect of an output. ``buffer``: the
    one that the claim is about; what happens to it is told first. ``known``: the run in
    the textual order; a race must show something that this does not.
    """
    if condition == "race" and known is not None:
        outcome = _beyond(outcome, known)
    if condition in ("uniform", "progress", "phase") and outcome.stuck:
        return Finding("deadlock: " + "; ".join(outcome.stuck))
    if condition == "progress":
        return None
    if condition == "divisor":
        return Finding(outcome.error) if outcome.error else None
    kinds = _CELLS.get(condition, frozenset() if condition in _ANOMALIES else None)
    odd = [a for a in outcome.anomalies if a.kind in _ANOMALIES.get(condition, frozenset())]
    cells = [(c, text) for c in outcome.cells for kind, text in c.sentences if _in(kind, kinds)]
    if condition in _NEEDS_ANOMALY and not odd:
        return None
    if odd and (condition in _ANOMALY_FIRST or not cells):
        anomaly = next((a for a in odd if a.buffer == buffer), odd[0])
        return Finding(f"{anomaly.agent or 'the program'} {anomaly.text}", None, anomaly)
    if cells:
        return Finding(cells[0][1], cells[0][0], odd[0] if odd else None)
    return None


def _in(kind: DefectKind, kinds: frozenset[DefectKind] | None) -> bool:
    return kinds is None or kind in kinds


def _beyond(outcome: Outcome, known: Outcome) -> Outcome:
    """The defects that depend on the schedule."""
    cells = {(c.index, c.text) for c in known.cells}
    texts = {a.text for a in known.anomalies}
    return replace(
        outcome,
        cells=tuple(c for c in outcome.cells if (c.index, c.text) not in cells),
        anomalies=tuple(a for a in outcome.anomalies if a.text not in texts),
    )
