"""Methods that need nothing of each other, done before the tables are made: by an executor that
spreads its jobs. What is known then is not done again, and the tables are the same."""

from fractions import Fraction
from typing import Final

from formwright.flow.codesign_relaxing import label
from formwright.flow.codesign_setting import Room
from formwright.flow.jobs import Search
from formwright.walls.outcome import outcome_from_json
from formwright.walls.study import RELAXATIONS, SEEDED, Method

FIRST: Final = 0
"""A method that its first seed cannot run is asked no more."""


def search_ahead(room: Room) -> None:
    """Every method but the relaxations, under every ceiling, from every seed: journal steps."""
    if not room.executor.spread:
        return
    methods = [m for m in room.study.search.methods if m not in RELAXATIONS]
    asked = [(budget, method) for budget in room.study.budgets for method in methods]
    room.listener.stage(f"{len(asked)} searches, and their seeds")
    room.steps.all({_key(room, b, m, FIRST): _job(room, b, m, FIRST) for b, m in asked})
    others = range(FIRST + 1, room.study.search.seeds)
    room.steps.all(
        {
            _key(room, b, m, seed): _job(room, b, m, seed)
            for b, m in asked
            if m in SEEDED and _ran(room, b, m)
            for seed in others
        }
    )


def _key(room: Room, budget: Fraction | None, method: Method, seed: int) -> str:
    at = f"{label(room, budget)}/{method}"
    return f"{at}/{seed}" if method in SEEDED else at


def _job(room: Room, budget: Fraction | None, method: Method, seed: int) -> Search:
    return Search(room.study, room.repairs, budget, method, seed)


def _ran(room: Room, budget: Fraction | None, method: Method) -> bool:
    known = room.journal.known(_key(room, budget, method, FIRST))
    assert known is not None
    first = outcome_from_json(known)
    return first.point is not None or first.solves > 0
