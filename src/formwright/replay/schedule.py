"""Schedules: who goes next, who owns a point, when asynchronous applies happen."""

from dataclasses import dataclass
from random import Random
from typing import Literal as OneOf
from typing import NamedTuple

from formwright.replay.owners import OwnerPolicy
from formwright.replay.state import Path, State

AsyncPolicy = OneOf["early", "late", "split", "phased"]
"""``early``: at once. ``late``: as late as the waits allow. ``split``: reads early, writes late.
``phased``: reads and writes are two actions of their own, each at any time."""

Order = OneOf["textual", "reversed", "lockstep", "random"]
"""Agents of grids: one after another, the same from the last, all abreast, or by the seed.
Agents of a team are abreast, statement by statement, except under ``random``."""


class Action(NamedTuple):
    """An agent's next statement, or (``pending >= 0``) one of its asynchronous applies."""

    path: Path
    pending: int = -1


@dataclass(frozen=True, slots=True)
class Delay:
    """Agent ``rank`` of each team (or grid) stands still while any other can go on.

    With ``after`` only between its barriers ``after`` and ``after + 1``. ``lead``: the other
    way round, the agent goes on while it can and the others stand still.
    """

    rank: int
    after: int | None = None
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """``torn``: an apply reads in one step and writes in a later one."""

    order: Order = "textual"
    delay: Delay | None = None
    owners: OwnerPolicy = "natural"
    asynchronous: AsyncPolicy = "early"
    torn: bool = False
    backward: bool = False
    seed: int = 0


TEXTUAL = Schedule()


class Chooser:
    """Picks the next action of a run. Deterministic for a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._random = Random(schedule.seed)

    def choose(self, state: State, enabled: list[Action]) -> Action:
        if len(enabled) == 1:
            return enabled[0]
        if self._schedule.order == "random":
            return self._at_random(state, enabled)
        return min(enabled, key=lambda action: self._priority(state, action))

    def _at_random(self, state: State, enabled: list[Action]) -> Action:
        """A delayed agent goes only when nobody else can."""
        free = [a for a in enabled if not self._held(state, a)]
        return self._random.choice(free or enabled)

    def _held(self, state: State, action: Action) -> bool:
        delay = self._schedule.delay
        if delay is None or action.pending >= 0:
            return False
        agent = state.agents[action.path]
        if not agent.path or (delay.after is not None and agent.passed != delay.after):
            return False
        return (agent.rank == delay.rank) != delay.lead

    def _priority(self, state: State, action: Action) -> tuple[object, ...]:
        schedule = self._schedule
        agent = state.agents[action.path]
        if action.pending >= 0:
            return (-1 if schedule.asynchronous == "early" else 2, 0, agent.path)
        held = 1 if self._held(state, action) else 0
        if schedule.order == "lockstep":
            halves = 2 * agent.steps + (agent.writes is not None)
            return (held, halves, agent.path)
        grid = agent.coordinates
        if schedule.order == "reversed":
            grid = tuple(-c for c in grid)
        return (held, 0, grid, agent.steps, agent.path)
