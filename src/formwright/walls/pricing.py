"""Step 2 of Algorithm 1 of the paper (section 3.2), and its coupled variant."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.core import better
from formwright.walls.moves import Ground, Move, Way, gain, height


@dataclass(frozen=True, slots=True)
class Priced:
    """``moves``: those that lower the objective, within the ceiling. ``dear``: how many more do,
    but are over the ceiling. ``record``: screens and staircases as plain JSON.
    """

    moves: tuple[Move, ...]
    dear: int
    record: dict[str, Any]


def price(ask: Asked, ground: Ground, here: Point, *, look_ahead: int, coupled: bool) -> Priced:
    """Screen every wall by removing it; price the walls that pass, and their pairs.

    The coupled variant also screens each pair of walls with both removed, and prices the pairs
    that pass instead of the pairs of walls that pass.
    """
    now = ask.solve(here).objective
    walls = ask.counted.walls
    screen = {w: ask.solve(here, frozenset({w})).objective for w in walls}
    passed = [w for w in walls if better(screen[w], now)]
    pairs = list(combinations(passed, 2))
    pair_screen: dict[tuple[str, str], Fraction | None] = {}
    if coupled:
        pair_screen = {p: ask.solve(here, frozenset(p)).objective for p in combinations(walls, 2)}
        pairs = [p for p, objective in pair_screen.items() if better(objective, now)]
    singles = [(w, [_step(ask, here, [w], t) for t in range(1, look_ahead + 1)]) for w in passed]
    both = [(p, _step(ask, here, p, 1)) for p in pairs]
    points: list[tuple[Point | None, Way]] = [(p, "step") for _, ps in singles for p in ps]
    points += [(p, "pair") for _, p in both]
    moves, dear = _moves(ask, ground, here, points)
    return Priced(
        moves,
        dear,
        {
            "screen": {w: text(o) for w, o in screen.items()},
            "pair_screen": [[*p, text(o)] for p, o in pair_screen.items()],
            "staircases": {
                w: [_row(ask, ground, p, t) for t, p in enumerate(ps, 1) if p is not None]
                for w, ps in singles
            },
            "pairs": [[*w, *_row(ask, ground, p, 1)[1:]] for w, p in both if p is not None],
        },
    )


def text(objective: Fraction | None) -> str | None:
    return None if objective is None else str(objective)


def _step(ask: Asked, here: Point, walls: Sequence[str], steps: int) -> Point | None:
    """The chip that many steps up in each of ``walls``: none past a menu's end or a rule."""
    point: Point | None = here
    for wall in walls:
        point = None if point is None else ask.library.stepped(point, wall, steps)
    if point is None or ask.library.broken(point):
        return None
    ask.solve(point)
    return point


def _row(ask: Asked, ground: Ground, point: Point, steps: int) -> list[Any]:
    """Steps, objective, area in mm2."""
    return [steps, text(ask.solve(point).objective), str(ground.area(point))]


def _moves(
    ask: Asked, ground: Ground, here: Point, points: Sequence[tuple[Point | None, Way]]
) -> tuple[tuple[Move, ...], int]:
    now = ask.solve(here).objective
    moves, dear = [], 0
    for point, way in points:
        objective = None if point is None else ask.solve(point).objective
        if point is None or objective is None or not better(objective, now):
            continue
        if not ground.within(point):
            dear += 1
            continue
        added = ground.area(point) - ground.area(here)
        worth = gain(height(now), objective, added)
        moves.append(Move(point, objective, ground.area(point), added, worth, way))
    return tuple(moves), dear
