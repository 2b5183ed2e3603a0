"""Who performs jobs: the protocol, and what comes back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from formwright.flow.jobs import Job
from formwright.flow.machines import Machine


@dataclass(frozen=True, slots=True)
class Done:
    """``data`` is plain JSON; ``seconds`` of the job itself, without waiting for a turn.

    ``began`` by the clock of the machine that is the same for all its processes.
    """

    data: dict[str, Any]
    machine: Machine
    began: float
    seconds: float


Outcome = Done | Exception
"""Of a job: what it came to, or the fault that it raised."""


class Hearer(Protocol):
    """Who is told how jobs fare."""

    def lost(self, key: str, where: str, why: str, *, again: bool) -> None:
        """An attempt at the job ``key`` ended without a result; ``again``: another one is made."""
        ...

    def say(self, text: str) -> None:
        """What is going on now."""
        ...


class Executor(Protocol):
    """Jobs that are given together do not need each other."""

    @property
    def spread(self) -> bool:
        """Whether jobs that are given together are done at once."""
        ...

    def bench(self, like: Machine | None) -> Machine:
        """The machine that measures, one like ``like`` where that is given.

        Raises:
            InputError: there is none that is.
        """
        ...

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        """The outcome of each of ``jobs`` by its key, as soon as it is there.

        Files that a job reads are found below ``folder``, and those that it wrote are there
        before its outcome is.

        Raises:
            InputError: a job was lost as often as it may be (of a proof that is its outcome), or a
            machine is gone that is needed.
        """
        ...
