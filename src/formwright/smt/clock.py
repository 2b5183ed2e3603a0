"""How long one obligation may take, all retries of the solver together."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import z3

from formwright.proof.verdict import LIMITS
from formwright.smt.encode import UnderivableError

OBLIGATION_SECONDS = LIMITS.seconds
"""What one obligation may take before it is ``unresolved: time``."""


class OutOfTimeError(UnderivableError):
    """The time of the obligation is over."""


class OutOfMemoryError(OutOfTimeError):
    """The solver would need more memory than it may take."""


class Clock:
    """Bounds every call of z3 by what is left of the obligation's time.

    A call gets at most ``timeout_ms``; so the number of retries does not multiply the time.
    """

    def __init__(
        self, timeout_ms: int, seconds: float = OBLIGATION_SECONDS, memory_mb: int = LIMITS.memory
    ) -> None:
        # Past this mark z3 gives up a check; its hard limit ends the process instead.
        z3.set_param("memory_high_watermark_mb", memory_mb)
        self.memory_mb = memory_mb
        self.asked = 0
        """Queries that the solver was asked, however often it was called for one."""
        self._timeout_ms = timeout_ms
        self._seconds = self._given = seconds
        self._end = time.monotonic() + seconds

    @property
    def call_ms(self) -> int:
        """The limit of one call of the solver."""
        return self._timeout_ms

    @property
    def seconds(self) -> float:
        """The limit of the obligation that began last, all calls together."""
        return self._given

    def start(self, at_most: float | None = None) -> None:
        """A new obligation begins; ``at_most`` seconds are left for everything."""
        self._given = self._seconds if at_most is None else min(self._seconds, at_most)
        self._end = time.monotonic() + self._given

    @contextmanager
    def hurried(self, at_most_ms: int) -> Iterator[None]:
        """Calls inside get less time: what they leave open is asked again with all of it."""
        given = self._timeout_ms
        self._timeout_ms = min(given, at_most_ms)
        try:
            yield
        finally:
            self._timeout_ms = given

    def check(self, solver: Any, assumptions: Sequence[Any] = ()) -> Any:
        """``solver.check``; raises :class:`OutOfTimeError` when no time is left.

        Ctrl-C is Python's: it ends the proof when the call returns. z3 would take it, give up the
        call at best, and the proof would go on with an obligation left open for no reason.
        """
        left = int((self._end - time.monotonic()) * 1000)
        if left <= 0:
            raise OutOfTimeError(f"time: more than {self._seconds:g} s")
        solver.set("timeout", min(left, self._timeout_ms))
        solver.set("ctrl_c", False)
        found = solver.check(*assumptions)
        if found == z3.unknown and "mem" in solver.reason_unknown():
            raise OutOfMemoryError(f"memory: more than {self.memory_mb} MiB")
        return found
