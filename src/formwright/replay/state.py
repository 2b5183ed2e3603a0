"""The state of a run: agents with their continuations, memory, teams. Cheap to copy."""

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NamedTuple

from formwright.replay.code import ApplyCode, Code
from formwright.replay.compiled import Env

Path = tuple[tuple[int, tuple[int, ...]], ...]
"""An agent: the ``par`` statements from the root with the agent's place in each."""

Cell = tuple[int, int, tuple[int, ...]]
"""A physical cell: allocation, slot, index."""

Counter = tuple[Path, int, str, int]
"""A counter: the agent that forked the team, the number of the ``par``, name and place."""

Held = tuple[int, int]
"""What a cell holds: the generation and the number of the value."""


class Frame(NamedTuple):
    """A block being run. ``loop`` is the variable and bound when the block is a loop's body."""

    body: tuple[Code, ...]
    pc: int
    env: Env
    buffers: dict[str, int]
    parent: "Frame | None"
    loop: tuple[str, int] | None


class Write(NamedTuple):
    """A write that has been computed and not yet made."""

    cell: Cell
    generation: int
    at: tuple[int, ...]
    value: int
    assigns: bool


class Pending(NamedTuple):
    """An asynchronous apply on its way; ``writes`` once its reads have happened."""

    node: ApplyCode
    env: Env
    buffers: dict[str, int]
    points: tuple[tuple[int, ...], ...]
    writes: tuple[Write, ...] | None


Mode = OneOf["run", "barrier", "join", "drain", "done"]
"""``drain``: at the end of a block whose storage asynchronous applies still touch (rule P9)."""


@dataclass(slots=True)
class Agent:
    """``names``: the variables of the ``par`` that made the agent. ``groups`` are its
    unfinished asynchronous applies; the last group is open. ``storage``: for each group, the
    allocations that it touches.

    ``passed``: barriers passed in this team. ``steps``: actions done. ``points``: of the
    apply that stands next. ``writes``: of an apply whose reads are done.
    """

    path: Path
    label: str
    coordinates: tuple[int, ...]
    rank: int
    size: int
    names: tuple[str, ...]
    frame: Frame | None
    mode: Mode = "run"
    passed: int = 0
    steps: int = 0
    children: int = 0
    groups: tuple[tuple[Pending, ...], ...] = ((),)
    storage: tuple[frozenset[int], ...] = (frozenset(),)
    points: tuple[tuple[int, ...], ...] = ()
    writes: tuple[Write, ...] | None = None

    def copy(self) -> "Agent":
        return Agent(
            self.path,
            self.label,
            self.coordinates,
            self.rank,
            self.size,
            self.names,
            self.frame,
            self.mode,
            self.passed,
            self.steps,
            self.children,
            self.groups,
            self.storage,
            self.points,
            self.writes,
        )

    def key(self) -> object:
        """Equal for agents that will go on alike."""
        frame = self.frame
        place = None if frame is None else (id(frame.body), frame.pc, tuple(frame.env.values()))
        pending = tuple(
            (touched, *((p.node.number, tuple(p.env.values()), p.points, p.writes) for p in group))
            for group, touched in zip(self.groups, self.storage, strict=True)
            if group
        )
        return (self.path, self.mode, place, self.passed, pending, self.writes)


@dataclass(slots=True)
class State:
    """``assigned``: generations and cells that have had their ``=`` (rule P3)."""

    agents: dict[Path, Agent]
    memory: dict[Cell, Held]
    counters: dict[Counter, int]
    assigned: set[tuple[int, int, tuple[int, ...]]]

    def copy(self) -> "State":
        return State(
            {p: a.copy() for p, a in self.agents.items()},
            dict(self.memory),
            dict(self.counters),
            set(self.assigned),
        )

    def key(self) -> object:
        """A fingerprint: equal states go on alike under every schedule."""
        return (
            tuple(a.key() for a in self.agents.values()),
            frozenset(self.memory.items()),
            tuple(sorted(self.counters.items())),
        )


@dataclass(frozen=True, slots=True)
class Allocation:
    """One meeting of an ``alloc`` (or a tensor), with its shape for these values."""

    name: str
    shape: tuple[int, ...]
    ring: int
    generations: bool
    """Declared ``ring``: its cells are written with their generation, as ``sB<4>[0,1]``."""
