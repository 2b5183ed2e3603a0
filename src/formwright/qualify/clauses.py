"""Which clause of the contract a fault breaks, and what that makes of the checks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from formwright.contract.judge import Finding
from formwright.measure.outcome import (
    Crashed,
    Failed,
    Failure,
    Forbidden,
    Hung,
    Lingering,
    Mismatch,
    Mutated,
    OutOfBounds,
    Overdrawn,
    Refused,
    Unwritten,
)
from formwright.qualify.checks import CLAUSES, Check, Example, Verdict
from formwright.qualify.plan import Trial, strides


@dataclass(frozen=True, slots=True)
class Fault:
    """One call that went wrong. ``crash``: it ended on a signal, away from guard pages."""

    clause: str
    detail: str
    kind: str | None
    finding: Finding | None = None
    crash: bool = False


OPTIONAL: Final = ("threads", "ahead")
"""Clauses that not every contract and call has."""

EVERY_CALL: Final = (
    "returns",
    "sandbox",
    "memory",
    "inputs_unchanged",
    "padding",
    "written",
    "finite",
    "constant",
    "fresh",
    "defined",
)
"""Clauses that every call tests, whatever its inputs are."""

ADDS: Final = {
    "alignment": "on tensors aligned to one element",
    "strides": "with padded rows",
    "threads": "with more threads",
    "ahead": "on inputs prepared ahead",
}
"""What a trial of a group adds to a plain one, in words."""


def of_failure(failure: Failure, trial: Trial) -> tuple[str, str]:
    """The clause that a failed call breaks, and the words for it."""
    match failure:
        case Refused():
            return "starts", failure.message
        case Crashed() if trial.group == "alignment":
            # Away from the guard pages, on data that were right when they stood at a page's start.
            return "alignment", f"on tensors aligned to one element it {failure.message}"
        case Crashed() | Hung() | Failed():
            return "returns", failure.message
        case OutOfBounds(side="between"):
            return "padding", f"it {failure.message}"
        case OutOfBounds():
            return "memory", f"it {failure.message}"
        case Mutated():
            return "inputs_unchanged", f"it {failure.message}"
        case Forbidden() | Overdrawn() | Lingering():
            return "sandbox", failure.message
        case Unwritten():
            return "written", failure.message
        case Mismatch():
            return "tolerance", failure.message
        case _:
            assert_never(failure)


def checks_of(
    faults: list[tuple[Trial, Fault]], tested: Counter[str], complete: bool, optional: Sequence[str]
) -> tuple[Check, ...]:
    """The refuted checks first, then every other clause with the runs behind it.

    ``complete``: every trial was run. ``optional`` clauses without a run are left out.
    """
    found: dict[str, Check] = {}
    for trial, fault in faults:
        found.setdefault(
            fault.clause,
            Check(
                fault.clause,
                "refuted",
                fault.detail,
                tested[fault.clause] + 1,
                _example(trial, fault),
            ),
        )
    checks = list(found.values())
    for name, says in CLAUSES.items():
        if name in found or (name in optional and complete and not tested[name]):
            continue
        verdict: Verdict = "held" if complete and tested[name] else "unresolved"
        detail = says if verdict == "held" else "not decided: an earlier check failed"
        checks.append(Check(name, verdict, detail, tested[name]))
    return tuple(checks)


def _example(trial: Trial, fault: Fault) -> Example:
    finding = fault.finding
    seen = Example(trial.extents, fault.kind or "", trial.seed, trial.threads, strides(trial))
    if finding is None:
        return seen
    return Example(
        seen.extents,
        seen.kind,
        seen.seed,
        seen.threads,
        seen.strides,
        finding.cell,
        f"{finding.got:.9g}",
        f"{finding.wanted:.9g}",
        finding.bound,
    )
