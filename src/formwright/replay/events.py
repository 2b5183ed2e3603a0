"""What a run leaves behind: anomalies met on the way, and a trace on request."""

from dataclasses import dataclass
from typing import Literal as OneOf

from formwright.ir.program import Apply, Arrive, Await, Barrier, Commit, Wait
from formwright.replay.compiled import Env
from formwright.replay.state import Cell

AnomalyKind = OneOf[
    "undefined", "stale", "overwritten", "address", "outside", "single", "order", "uniform"
]
"""``undefined``: a read of a cell that nothing has written. ``stale``, ``overwritten``: a
read of a cell that holds an earlier, a later generation. ``address``: an index outside the
shape without clip, read; ``outside``: the same, written. ``single``: a second ``=``.
``order``: an accumulation into a cell without its ``=``. ``uniform``: agents that meet at
different barriers."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """``text`` is the predicate of a sentence about the agent."""

    kind: AnomalyKind
    agent: str
    text: str
    cell: Cell | None = None
    buffer: str = ""


@dataclass(frozen=True, slots=True)
class Touch:
    """One access of an apply as it met the memory. ``held``: the generation found there,
    ``None`` when nothing was. ``slot``: ``None`` for a buffer without ring."""

    cell: Cell
    name: str
    generation: int
    held: int | None
    slot: int | None
    write: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One action of one agent. ``passed``: barriers that it had passed."""

    agent: str
    passed: int
    stmt: Apply | Barrier | Commit | Wait | Arrive | Await
    env: Env
    points: tuple[tuple[int, ...], ...]
    touched: tuple[tuple[Touch, ...], ...]
    """For each point in turn, what it read and then wrote."""
