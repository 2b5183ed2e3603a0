"""Which clause of the contract a fault breaks, and what that makes of the checks."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final, assert_never

from formwright.contract.contract import Contract
from formwright.contract.judge import Finding
from formwright.measure.outcome import (
    Altered,
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
    Remembered,
    Unwritten,
)
from formwright.qualify.checks import Check, Example, Verdict, clauses, optional
from formwright.qualify.plan import Trial, strides


@dataclass(frozen=True, slots=True)
class Fault:
    """One call that went wrong. ``crash``: it ended on a signal, away from guard pages."""

    clause: str
    detail: str
    kind: str | None
    finding: Finding | None = None
    crash: bool = False


EVERY_CALL: Final = (
    "returns",
    "environment",
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
        case Altered():
            return "environment", f"it {failure.message}"
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
        case Remembered():
            return "fresh", failure.message
        case Mismatch():
            return "tolerance", failure.message
        case _:
            assert_never(failure)


def checks_of(
    contract: Contract, faults: list[tuple[Trial, Fault]], tested: Counter[str], complete: bool
) -> tuple[Check, ...]:
    """The refuted checks first, then every other clause with the runs behind it.

    ``complete``: every trial was run. Optional clauses without a run are left out then.
    """
    found: dict[str, Check] = {}
    says = clauses(contract)
    absent = optional(contract)
    for trial, fault in faults:
        found.setdefault(
            fault.clause,
            Check(
                fault.clause,
                says.get(fault.clause, fault.clause),
                "refuted",
                fault.detail,
                tested[fault.clause] + 1,
                _example(contract, trial, fault),
            ),
        )
    checks = list(found.values())
    for name, text in says.items():
        if name in found or (name in absent and complete and not tested[name]):
            continue
        verdict: Verdict = "held" if complete and tested[name] else "unresolved"
        detail = text if verdict == "held" else "not decided: an earlier check failed"
        if complete and not tested[name]:
            detail = "not decided: no call of the plan asked it"
        checks.append(Check(name, text, verdict, detail, tested[name]))
    return tuple(checks)


def _example(contract: Contract, trial: Trial, fault: Fault) -> Example:
    finding = fault.finding
    seen = Example(
        dict(trial.extents), fault.kind or "", trial.seed, trial.threads, strides(contract, trial)
    )
    if finding is None:
        return seen
    return replace(
        seen,
        cell=finding.cell,
        got=f"{finding.got:.9g}",
        wanted=f"{finding.wanted:.9g}",
        bound=finding.bound,
    )
