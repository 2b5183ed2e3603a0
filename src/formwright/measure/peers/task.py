"""What a peer is asked to do, and the ways in which it can."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TRIES = 5
TRY_SECONDS = 0.3
"""Calls that tell the ways of a library apart; a slow way gets no more of them than this takes."""

Call = Callable[[], Any]
"""Does the work. What it returns, when not ``None``, is the output; else it is in the slot."""


class NotOfferedError(Exception):
    """The library has nothing for this operator, element type or processor."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The arrays of one slot in the operator's order. bfloat16 stands as uint16."""

    inputs: tuple[Any, ...]
    output: Any


@dataclass(frozen=True, slots=True)
class Task:
    """``names`` and ``dtypes`` of the inputs, then of the output; ``ahead`` are names of inputs."""

    operator: str
    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    threads: int
    slots: tuple[Slot, ...]
    ahead: tuple[str, ...] = ()
    constants: dict[str, float] = field(default_factory=dict)
    library: str = ""

    @property
    def plain(self) -> bool:
        """Whether all tensors are float32."""
        return set(self.dtypes) == {"float32"}


@dataclass(frozen=True, slots=True)
class Way:
    """``make`` prepares the calls of a slot: the timed one, and what packs ahead of it or None."""

    name: str
    make: Callable[[Slot], tuple[Call, Call | None]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The fastest way, ready for every slot."""

    name: str
    calls: list[Call]
    prepares: list[Call]


def choose(task: Task, ways: Sequence[Way], faults: tuple[type[Exception], ...]) -> Chosen:
    """Try each way on the first slot; a way that raises one of ``faults`` is left out.

    Raises:
        NotOfferedError: the library has nothing that does it.
        RuntimeError: no way works, for other reasons.
    """
    best: tuple[float, Way] | None = None
    reasons: list[str] = []
    broken = False
    for way in ways:
        try:
            seconds = _least(way, task.slots[0])
        except faults as error:
            reasons.append(f"{way.name}: {(str(error) or repr(error)).splitlines()[0]}")
            broken |= not isinstance(error, NotOfferedError)
            continue
        if best is None or seconds < best[0]:
            best = (seconds, way)
    if best is None:
        text = "; ".join(reasons) or f"no way to do {task.operator}"
        raise RuntimeError(text) if broken else NotOfferedError(text)
    made = [best[1].make(slot) for slot in task.slots]
    prepares = [prepare for _, prepare in made if prepare is not None]
    return Chosen(best[1].name, [call for call, _ in made], prepares)


def _least(way: Way, slot: Slot) -> float:
    call, prepare = way.make(slot)
    if prepare:
        prepare()
    call()
    least, begun = float("inf"), time.perf_counter()
    for _ in range(TRIES):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
        if time.perf_counter() - begun > TRY_SECONDS:
            break
    return least
