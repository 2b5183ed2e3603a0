"""Step 5 of Algorithm 1: area that the software does not need is given back."""

from dataclasses import dataclass

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.core import Answer
from formwright.walls.moves import Ground, height, placed
from formwright.walls.sets import corner_of


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
    """All capacities down to what the designs need, in one solve."""
    answer = ask.solve(point)
    if answer.objective is None:
        return point, ()
    low = tuple(0 if i in ask.capacities else place for i, place in enumerate(point))
    corner = corner_of(ask, ground, low, point, answer).point
    if corner == point or not ground.lawful(corner):
        return point, ()
    if height(ask.solve(corner).objective) > answer.objective:
        return point, ()
    return corner, changes(ask, point, corner)


def settle(ask: Asked, ground: Ground, point: Point) -> tuple[Point, tuple[Given, ...]]:
    """Decision fields one step down at a time, as long as the objective does not rise.

    Fields that change what programs cost are tried too: less of them may cost nothing, or even
    lower the objective where energy counts. Capacities are tried where nothing that the
    objective hangs on would be shut out.
    """
    start, moved = point, True
    while moved:
        moved = False
        for field in (*ask.others, *ask.capacities):
            answer = ask.solve(point)
            held = field in ask.capacities and _needed(ask, point, answer, field)
            if held or point[field] == 0:
                continue
            lower, now = placed(point, field, point[field] - 1), height(answer.objective)
            hopeful = ground.affordable(lower) and ask.floor(lower) <= now
            if hopeful and height(ask.solve(lower).objective) <= now:
                point, moved = lower, True
    return point, changes(ask, start, point)


def _needed(ask: Asked, point: Point, answer: Answer, field: int) -> bool:
    """A scenario that the objective hangs on stands at this place of the field."""
    worst = max(s.ratio for s in answer.scenarios)
    return any(
        ask.places(point, s)[field] == point[field]
        for s in answer.scenarios
        if answer.objective != worst or s.ratio == worst
    )


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
