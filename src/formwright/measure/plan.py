"""How long and how much a measurement runs."""

from dataclasses import dataclass, field
from typing import Literal

from formwright.measure.sandbox import Sandbox

Caches = Literal["warm", "cold"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how much: ``batch_seconds`` of a large batch, memory and slots of a program.

    ``seconds`` bounds the rounds together: none is begun after it once ``least_rounds`` are
    done, so that large products do not take minutes for a precision that nobody needs.

    With a ``target`` the rounds end when the interval (99 %, since it is looked at again and
    again) of each other program's time over the first one's excludes it by ``margin``. A program
    slower than the fastest by the factor ``hopeless`` is not run again after two rounds.

    ``caches``: ``warm`` as the call before left them, every call on another slot; ``cold`` after a
    buffer of ``sweep_mebibytes`` was read and written between calls, outside the clock.

    ``tails`` short batches of each program give p95 and p99, ``least_tails`` of them where they
    take longer than ``tail_seconds`` together; a p95 above ``tail_limit`` times that
    of a program it is compared with is a regression.
    """

    rounds: int = 15
    least_rounds: int = 5
    seconds: float = 60.0
    batch_seconds: float = 0.02
    memory_bytes: int = 256 << 20
    slots: int = 256
    sandbox: Sandbox = field(default_factory=Sandbox)
    caches: Caches = "warm"
    sweep_mebibytes: int = 64
    target: float | None = None
    margin: float = 0.02
    hopeless: float | None = None
    tails: int = 0
    least_tails: int = 20
    tail_seconds: float = 8.0
    tail_limit: float = 1.25
