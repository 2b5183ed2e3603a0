"""What validation says: one check for each clause of the contract, with what was run for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, Literal

from formwright.contract.contract import Contract
from formwright.contract.inputs import clause_of, kinds
from formwright.contract.inputs import clauses as asked

Verdict = Literal["held", "refuted", "unresolved"]

FIRST: Final[Mapping[str, str]] = {
    "starts": "the library loads in the sandbox, with this call interface, on this CPU",
    "returns": "every call ends, in time, without a crash and with code 0",
    "environment": "it leaves the floating-point environment of its process as it was",
    "sandbox": "it asks the machine for nothing but arithmetic",
    "memory": "it touches no byte outside its tensors",
    "inputs_unchanged": "it writes to no input",
    "padding": "it leaves the padding between the rows of the output alone",
    "written": "it writes every cell of the output",
    "finite": "no NaN and no infinity where the reference is a number",
    "constant": "the output depends on the inputs",
    "fresh": "the output is that of these inputs, not of an earlier call",
}
"""Clauses of every contract that are asked before those of its operator."""

LAST: Final[Mapping[str, str]] = {
    "metamorphic": "two calls whose inputs are related give outputs that are related so",
    "previous_output": "what the output held before does not matter",
    "defined": "it reads no scratch, heap or stack memory that it did not write",
    "alignment": "tensors aligned to one element are enough",
    "strides": "rows may be padded, by NaN",
    "threads": "the qualified number of threads gives the same result",
    "ahead": "inputs prepared ahead of the call give the same result",
    "repeatable": "the same call gives the same bits",
}
"""And those after them."""

OPTIONAL: Final = ("threads", "ahead", "empty_sum", "metamorphic", "strides")
"""Clauses that not every contract and call has."""


def optional(contract: Contract) -> tuple[str, ...]:
    """Those, and clauses of the operator that no kind of inputs of this contract asks about."""
    about = {clause_of(contract, kind) for kind in kinds(contract)}
    return (*OPTIONAL, *(name for name in asked(contract) if name not in about))


def clauses(contract: Contract) -> Mapping[str, str]:
    """Each clause that is tested, with what it says; the order is that of reports."""
    return {**FIRST, **asked(contract), **LAST}


@dataclass(frozen=True, slots=True)
class Example:
    """One call that went wrong; with the seed it can be made again."""

    extents: Mapping[str, int]
    kind: str
    seed: int
    threads: int
    strides: tuple[int, ...]
    cell: tuple[int, ...] | None = None
    got: str = ""
    wanted: str = ""
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One clause. ``runs`` counts the calls that tested it; evidence is never more than tested."""

    name: str
    says: str
    verdict: Verdict
    detail: str
    runs: int
    counterexample: Example | None = None
    evidence: Literal["tested"] = "tested"

    @property
    def message(self) -> str:
        """``name: what went wrong, at which shape``."""
        where = ""
        if self.counterexample is not None:
            e = self.counterexample
            shape = " ".join(f"{name}={value}" for name, value in e.extents.items())
            where = f" (at {shape}, {e.kind}, seed {e.seed}, {e.threads} threads)"
        return f"{self.name}: {self.detail}{where}"


@dataclass(frozen=True, slots=True)
class Run:
    """One set of calls: extents, row strides, seed and the kinds of inputs in order."""

    extents: Mapping[str, int]
    strides: tuple[int, ...]
    placement: str
    threads: int
    kinds: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Validation:
    """``held`` only when every clause was run and held."""

    verdict: Verdict
    checks: tuple[Check, ...]
    runs: tuple[Run, ...]
    library: str
    sandbox: str
    seconds: float

    @property
    def refuted(self) -> tuple[Check, ...]:
        """The checks that failed, the responsible one first."""
        return tuple(c for c in self.checks if c.verdict == "refuted")

    def as_json(self) -> dict[str, Any]:
        """Stable keys of the record."""
        return {
            "verdict": self.verdict,
            "library": self.library,
            "sandbox": self.sandbox,
            "seconds": round(self.seconds, 3),
            "checks": [check_json(c) for c in self.checks],
            "runs": [run_json(r) for r in self.runs],
        }


def check_json(check: Check) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": check.name,
        "says": check.says,
        "evidence": check.evidence,
        "verdict": check.verdict,
        "detail": check.detail,
        "runs": check.runs,
    }
    if check.counterexample is not None:
        e = check.counterexample
        shown["counterexample"] = {
            "extents": dict(e.extents),
            "kind": e.kind,
            "seed": e.seed,
            "threads": e.threads,
            "strides": list(e.strides),
            "cell": None if e.cell is None else list(e.cell),
            "got": e.got,
            "wanted": e.wanted,
            "bound": e.bound if e.bound is not None and isfinite(e.bound) else None,
        }
    return shown


def run_json(run: Run) -> dict[str, Any]:
    return {
        "extents": dict(run.extents),
        "strides": list(run.strides),
        "placement": run.placement,
        "threads": run.threads,
        "kinds": list(run.kinds),
        "seed": run.seed,
    }


def overall(checks: tuple[Check, ...]) -> Verdict:
    """Refuted before unresolved before held."""
    verdicts = {c.verdict for c in checks}
    if "refuted" in verdicts:
        return "refuted"
    return "held" if verdicts == {"held"} else "unresolved"
