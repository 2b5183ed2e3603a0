"""Step 5 of Algorithm 1: area that the software does not need is given back."""

from dataclasses import dataclass

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.core import Answer
from formwright.walls.corners import corner_of
from formwright.walls.moves import Ground, height, placed


@dataclass(frozen=True, slots=True)
class Given:
    """A field given back, from one place of its menu to another."""

    field: str
    before: int
    after: int


def reclaim(ask: Asked, point: Point) -> tuple[Point, tuple[Given, ...]]:
    """As written: each wall with slack one step down, kept where the objective is unchanged."""
    given: list[Given] = []
    for wall in ask.counted.walls:
        answer = ask.solve(point)
        lower = ask.library.stepped(point, wall, -1)
        if lower is None or ask.library.broken(lower) or not _slack(answer, wall):
            continue
        if ask.solve(lower).objective == answer.objective:
            at = ask.library.index(wall)
            given.append(Given(wall, point[at], lower[at]))
            point = lower
    return point, tuple(given)


def trim(ask: Asked, ground: Ground, point: Point) -> tuple[Point, tuple[Given, ...]]:
    """All capacities down to what the designs need, in one solve; then the walls that costs read
    likewise, where the objective does not rise by it."""
    start, answer = point, ask.solve(point)
    if answer.objective is None:
        return point, ()
    low = tuple(0 if i in ask.capacities else place for i, place in enumerate(point))
    corner = corner_of(ask, ground, low, point, answer).point
    point = _if_no_worse(ask, ground, point, corner)
    answer, wanted = ask.solve(point), point
    for field in ask.others:
        wanted = placed(wanted, field, min(point[field], least_place(ask, point, answer, field)))
    point = _if_no_worse(ask, ground, point, wanted)
    return point, changes(ask, start, point)


def settle(
    ask: Asked, ground: Ground, point: Point, effort: int
) -> tuple[Point, tuple[Given, ...]]:
    """Decision fields down as long as the objective does not rise, in ``effort`` solves.

    Fields that change what programs cost are tried too: less of them may cost nothing, or even
    lower the objective where energy counts; steps grow while they help. The field that takes
    the most area for a place comes first.
    """
    start, began, moved = point, ask.counted.solves, True
    while moved:
        moved = False
        for field in _dearest(ask, ground, point):
            stride = 1
            while stride and ask.counted.solves - began < effort:
                lower = _lowered(ask, ground, point, field, stride)
                if lower is not None:
                    point, moved, stride = lower, True, 2 * stride
                else:
                    stride //= 2
    return point, changes(ask, start, point)


def _dearest(ask: Asked, ground: Ground, point: Point) -> list[int]:
    fields = [i for i in (*ask.others, *ask.capacities) if point[i] > 0]
    return sorted(fields, key=lambda i: (ground.area(placed(point, i, point[i] - 1)), i))


def least_place(ask: Asked, point: Point, answer: Answer, field: int) -> int:
    """The least place of a field that the designs in ``answer`` need, by their slack at
    ``point``; the place in ``point`` where no slack tells."""
    name, menu = ask.library.fields[field].name, ask.library.fields[field].menu
    slack = [c.slack[name] for s in answer.scenarios for c in s.chosen if name in c.slack]
    if not slack:
        return point[field]
    need = menu[point[field]] - min(slack)
    return next((n for n, value in enumerate(menu) if value >= need), len(menu) - 1)


def _if_no_worse(ask: Asked, ground: Ground, point: Point, other: Point) -> Point:
    if other == point or not ground.affordable(other):
        return point
    better = height(ask.solve(other).objective) <= height(ask.solve(point).objective)
    return other if better else point


def _lowered(ask: Asked, ground: Ground, point: Point, field: int, stride: int) -> Point | None:
    if point[field] < stride:
        return None
    answer = ask.solve(point)
    lower, now = placed(point, field, point[field] - stride), height(answer.objective)
    if not ground.affordable(lower) or ask.floor(lower) > now:
        return None
    return lower if height(ask.solve(lower).objective) <= now else None


def changes(ask: Asked, before: Point, after: Point) -> tuple[Given, ...]:
    fields = ask.library.fields
    return tuple(
        Given(fields[i].name, a, b)
        for i, (a, b) in enumerate(zip(before, after, strict=True))
        if a != b
    )


def _slack(answer: Answer, wall: str) -> bool:
    """No design stands at the wall."""
    return all(c.slack.get(wall, 1) > 0 for s in answer.scenarios for c in s.chosen)
