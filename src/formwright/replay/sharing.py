"""What agents of a team share: the points of an apply (others run them all), and counters."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from formwright.ir.evaluate import EvaluationError
from formwright.replay.code import ApplyCode, SyncCode
from formwright.replay.memory import Memory, visible
from formwright.replay.owners import owner_of_cell, owner_of_point
from formwright.replay.schedule import Schedule
from formwright.replay.state import Agent, Counter, Frame, State

Point = tuple[int, ...]

BOX_LIMIT = 1_000_000
"""A box with more points is not walked; the run is given up."""


class Share(NamedTuple):
    """The place of an agent among the ``size`` agents that share the points of an apply."""

    rank: int
    size: int


class BudgetError(Exception):
    """A run is longer than its budget of points and steps."""


def share_of(state: State, agent: Agent, frame: Frame, node: ApplyCode) -> Share:
    """The agent's place among those that share the points: its team, or its role (P14)."""
    if not node.role:
        return Share(agent.rank, agent.size)
    number = agent.path[-1][0]
    members = []
    for path, other in state.agents.items():
        if path[:-1] == agent.path[:-1] and path and path[-1][0] == number:
            env = {**frame.env, **dict(zip(agent.names, path[-1][1], strict=True))}
            if all(c(env) for c in node.role):
                members.append(other.rank)
    return Share(sorted(members).index(agent.rank), len(members))


def counter_of(agent: Agent, frame: Frame, node: SyncCode) -> Counter:
    """The counter of this team's run that the statement names."""
    place = 0 if node.index is None else node.index(frame.env)
    return (agent.path[:-1], agent.path[-1][0], node.counter, place)


def owned_points(
    memory: Memory, schedule: Schedule, share: Share, agent: Agent, frame: Frame, node: ApplyCode
) -> tuple[Point, ...]:
    """The agent's points in the order in which it runs them (rule P4).

    Every agent of a team computes the same owners, so that each point is run once. Raises
    ``EvaluationError`` where accesses to ``dist`` buffers would give a point different owners.
    """
    if node.torn_owner and agent.size > 1:
        raise EvaluationError(node.torn_owner, node.stmt.span)
    extents = [e(frame.env) for e in node.extents]
    total = 1
    for extent in extents:
        total *= max(0, extent)
    if total > BOX_LIMIT:
        raise BudgetError
    points = product(*(range(e) for e in extents))
    if share.size == 1:
        owned = tuple(points)
    elif node.owner is None:
        owned = tuple(_by_place(schedule, share, agent, frame, node, total, points))
    else:
        owned = tuple(_by_cell(memory, schedule, share, frame, node, points))
    return owned[::-1] if schedule.backward else owned


def _by_place(
    schedule: Schedule,
    share: Share,
    agent: Agent,
    frame: Frame,
    node: ApplyCode,
    total: int,
    points: Iterator[Point],
) -> Iterator[Point]:
    """The place in the box decides; at random it may differ from instance to instance."""
    instance = (node.number, [v for n, v in frame.env.items() if n not in agent.names])
    for place, point in enumerate(points):
        owner = owner_of_point(schedule.owners, place, total, share.size, schedule.seed, instance)
        if owner == share.rank:
            yield point


def _by_cell(
    memory: Memory,
    schedule: Schedule,
    share: Share,
    frame: Frame,
    node: ApplyCode,
    points: Iterator[Point],
) -> Iterator[Point]:
    """The first indices of a ``dist`` buffer decide."""
    if node.owner is None:
        return
    access, count = node.owner
    shape = memory.shape(visible(frame.buffers, access.buffer))[:count]
    env = dict(frame.env)
    for point in points:
        env.update(zip(node.names, point, strict=True))
        index = tuple([i(env) for i in access.index[:count]])
        owner = owner_of_cell(
            schedule.owners, access.buffer, index, shape, share.size, schedule.seed
        )
        if owner == share.rank:
            yield point
