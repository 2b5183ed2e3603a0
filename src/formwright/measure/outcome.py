"""What came of running a kernel: a closed union, each member with a plain message of its own."""

import signal
from dataclasses import dataclass
from typing import Literal

Access = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Ok:
    """Everything that was asked for ran, and every check that was asked for passed."""

    @property
    def message(self) -> str:
        return "ok"


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not run at all: no sandbox that is good enough, no such library, wrong ABI or CPU.

    ``offered`` is false for a library that is installed and has nothing for the operator, the
    element type or the processor: no fault of this machine's.
    """

    reason: str
    offered: bool = True

    @property
    def message(self) -> str:
        return f"refused: {self.reason}"


@dataclass(frozen=True, slots=True)
class Altered:
    """It changed how its process rounds, flushes denormals or traps, and left it so."""

    @property
    def message(self) -> str:
        return (
            "changed the floating-point environment of the process (flush-to-zero, rounding or"
            " traps) and left it so: build it without -ffast-math"
        )


@dataclass(frozen=True, slots=True)
class Failed:
    """The kernel itself returned an error code."""

    code: int

    @property
    def message(self) -> str:
        return f"the kernel returned error code {self.code}"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process ended on a signal, or without an answer (``signal`` 0)."""

    signal: int
    detail: str = ""

    @property
    def message(self) -> str:
        if self.signal == 0:
            return f"the process ended without an answer{self._tail()}"
        try:
            name = signal.Signals(self.signal).name
        except ValueError:
            name = f"signal {self.signal}"
        return f"crashed with {name}{self._tail()}"

    def _tail(self) -> str:
        return f": {self.detail}" if self.detail else ""


@dataclass(frozen=True, slots=True)
class Hung:
    """No answer by the deadline; the process group was killed."""

    seconds: float

    @property
    def message(self) -> str:
        return f"hung: no answer within {self.seconds:g} s, killed"


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """It touched memory outside a tensor: a guard page, or bytes that belong to no element.

    ``distance`` counts bytes from 1: the first byte after the end, the first before the start.
    """

    tensor: str
    access: Access
    side: Literal["before", "after", "between"]
    distance: int

    @property
    def message(self) -> str:
        verb = "reads" if self.access == "read" else "writes"
        if self.side == "between":
            return f"{verb} the padding between the rows of {self.tensor}"
        end = "after the end" if self.side == "after" else "before the start"
        return f"{verb} byte {self.distance} {end} of {self.tensor}"


@dataclass(frozen=True, slots=True)
class Mutated:
    """It wrote to an input, which is mapped read-only."""

    tensor: str

    @property
    def message(self) -> str:
        return f"writes to its input {self.tensor}"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """It asked the kernel of the machine for something that the sandbox forbids."""

    what: str
    call: str

    @property
    def message(self) -> str:
        return f"tried to {self.what} ({self.call}), which the sandbox forbids"


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Cells of the output still hold the pattern that the parent put there."""

    count: int
    cells: int
    first: tuple[int, ...]

    @property
    def message(self) -> str:
        place = ", ".join(map(str, self.first))
        return f"left {self.count} of {self.cells} output cells unwritten, the first at [{place}]"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Cells of the output are further from the reference than the tolerance allows.

    ``pattern`` says what the wrong output looks like, when it looks like something known.
    """

    count: int
    cells: int
    first: tuple[int, ...]
    got: float
    expected: float
    tolerance: float
    pattern: Literal["", "nan", "constant", "stale"] = ""

    @property
    def message(self) -> str:
        place = ", ".join(map(str, self.first))
        cells = f"{self.count} of {self.cells} output cells"
        point = (
            f"[{place}] is {self.got:.9g}, the reference {self.expected:.9g}"
            f" with tolerance {self.tolerance:.3g}"
        )
        match self.pattern:
            case "nan":
                return f"{cells} are NaN where the reference is a number, the first at [{place}]"
            case "constant":
                return f"every output cell is {self.got:.9g}, a constant: {point}"
            case "stale":
                return f"returned the output of an earlier call, for inputs that changed: {point}"
            case "":
                return f"{cells} are wrong: {point}"


@dataclass(frozen=True, slots=True)
class Overdrawn:
    """Its threads ran, or waited for a core, for longer than the threads that it was given could.

    ``busy_seconds`` is CPU time plus time in the run queue, which no load on the machine can push
    above ``wall_seconds * threads`` for a kernel that keeps to its threads.
    """

    busy_seconds: float
    wall_seconds: float
    threads: int

    @property
    def message(self) -> str:
        return (
            f"was busy for {self.busy_seconds * 1e3:.2f} ms in {self.wall_seconds * 1e3:.2f} ms"
            f" with {self.threads} thread(s): it computes where the clock does not look"
        )


@dataclass(frozen=True, slots=True)
class Lingering:
    """It went on computing after it had said that it was done."""

    cpu_seconds: float
    window_seconds: float

    @property
    def message(self) -> str:
        return (
            f"went on running after `done`: {self.cpu_seconds * 1e3:.2f} ms of CPU time"
            f" in the {self.window_seconds * 1e3:.2f} ms that followed"
        )


@dataclass(frozen=True, slots=True)
class Remembered:
    """Calls on new inputs take ``factor`` times as long as on changed ones: it keeps state."""

    factor: float

    @property
    def message(self) -> str:
        return (
            f"a call takes {self.factor:.2f} times as long on inputs that it has never seen:"
            " the times are those of answers from memory"
        )


Failure = (
    Refused
    | Altered
    | Failed
    | Crashed
    | Hung
    | OutOfBounds
    | Mutated
    | Forbidden
    | Unwritten
    | Mismatch
    | Overdrawn
    | Lingering
    | Remembered
)
Outcome = Ok | Failure


class MeasureError(Exception):
    """Raised where a failure cannot be returned as data, such as on opening a session."""

    def __init__(self, outcome: Failure) -> None:
        self.outcome = outcome
        super().__init__(outcome.message)
