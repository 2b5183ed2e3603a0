"""What became of one obligation, before it is timed and named."""

from collections.abc import Callable
from dataclasses import dataclass

import z3

from formwright.proof.verdict import Counterexample, Obligation, Verdict
from formwright.smt.clock import OutOfTimeError
from formwright.smt.encode import UnderivableError

FAILURES = (UnderivableError, ArithmeticError, MemoryError, z3.Z3Exception)
"""What leaves an obligation unresolved: a text that is not derived, a solver that fails."""


MEMORY = ("out of memory", "memout", "Resource limits hit")
"""What the solver says when it has no memory left."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``queries`` and ``cases`` count what a proof took; ``limited``: left open by a limit of
    the solver or of the rules, not for want of a replay; ``reused``: taken from the store."""

    verdict: Verdict
    detail: str = ""
    counterexample: Counterexample | None = None
    queries: int = 0
    cases: int = 0
    limited: bool = False
    reused: bool = False


def proved(queries: int, cases: int, reused: bool = False) -> Outcome:
    """All ``queries`` have no solution; ``cases`` of the menus were looked at."""
    split = f", {cases} cases of the menus" if cases else ""
    text = f"{queries} queries{split}"
    return Outcome("proved", text, None, queries, cases, reused=reused)


def failed(error: Exception) -> Outcome:
    """One of :data:`FAILURES` ended the work."""
    return Outcome("unresolved", reason(error), limited=True)


def reason(error: Exception) -> str:
    """Why an obligation is unresolved, for people."""
    if isinstance(error, OutOfTimeError):
        return error.reason
    if isinstance(error, MemoryError) or any(w in str(error) for w in MEMORY):
        return "memory: the solver ran out of it"
    if not isinstance(error, UnderivableError):
        return f"the solver failed: {error}"
    where = "" if error.span is None else f" (line {error.span.line})"
    return f"not derived: {error.reason}{where}"


@dataclass(frozen=True, slots=True)
class Task:
    """One obligation to be: how it is settled within seconds, and how heavy that is."""

    condition: str
    name: str
    weight: int
    settle: Callable[[float], Obligation]
    group: str

    def skipped(self, why: str) -> Obligation:
        """The obligation left open without a look at it."""
        return Obligation(
            self.name, self.group, self.condition, "unresolved", "none", 0.0, detail=why
        )
