"""Schedules that try to break a program, the gentlest first."""

from collections.abc import Iterator

from formwright.replay.owners import OwnerPolicy
from formwright.replay.schedule import TEXTUAL, AsyncPolicy, Delay, Schedule

RANDOM_RUNS = 24
OTHER_SEEDS = 3
"""Further random owners that are tried with delays."""
_OTHER_OWNERS: tuple[OwnerPolicy, ...] = ("apart", "columns", "swapped", "random")
_OTHER_TIMES: tuple[AsyncPolicy, ...] = ("late", "split")


def orderly() -> Iterator[Schedule]:
    """For conditions that hold of the textual order alone (the theorem of the rules)."""
    yield TEXTUAL
    yield Schedule(order="reversed", backward=True)


def adversarial(barriers: int, agents: int, asynchronous: bool) -> Iterator[Schedule]:
    """For conditions about the order of agents.

    ``barriers``: the most that one agent passes in the textual order; ``agents``: the size of
    the largest team. One delay between two barriers comes before delays all along, and
    the latest first, where the program runs in its steady state.
    """
    yield TEXTUAL
    times: tuple[AsyncPolicy, ...] = ("early", *_OTHER_TIMES) if asynchronous else ("early",)
    for time in times[1:]:
        yield Schedule(asynchronous=time)
    for time in times:
        yield from _delays("natural", barriers, agents, time)
    yield from _between_grids()
    for owners in _OTHER_OWNERS:
        yield Schedule(owners=owners)
        for time in times:
            yield from _delays(owners, barriers, agents, time)
    for seed in range(1, OTHER_SEEDS + 1):
        yield from _delays("random", barriers, agents, "early", seed)
    for seed in range(RANDOM_RUNS):
        yield Schedule(
            order="random",
            owners="random" if seed % 2 else "natural",
            asynchronous=times[seed % len(times)],
            torn=seed % 4 > 1,
            delay=Delay(seed % max(1, agents)) if seed % 3 == 2 else None,
            seed=seed,
        )


def _delays(
    owners: OwnerPolicy, barriers: int, agents: int, time: AsyncPolicy, seed: int = 0
) -> Iterator[Schedule]:
    if agents < 2:
        return
    for after in range(barriers, -1, -1):
        for rank in range(agents):
            yield Schedule(delay=Delay(rank, after), owners=owners, asynchronous=time, seed=seed)
    for rank in range(agents):
        yield Schedule(delay=Delay(rank), owners=owners, asynchronous=time, seed=seed)
        yield Schedule(delay=Delay(rank, lead=True), owners=owners, asynchronous=time, seed=seed)


def _between_grids() -> Iterator[Schedule]:
    yield Schedule(order="lockstep", torn=True)
    yield Schedule(order="lockstep")
    yield Schedule(order="reversed", backward=True)
    for rank in range(2):
        yield Schedule(order="lockstep", delay=Delay(rank))
