"""The least chip that admits given designs, among chips that differ in capacities only."""

from dataclasses import dataclass
from fractions import Fraction

from formwright.chip.library import Point
from formwright.walls.asked import Asked, swapped
from formwright.walls.core import Answer, ScenarioAnswer
from formwright.walls.moves import Ground, height, placed, raised


@dataclass(frozen=True, slots=True)
class Corner:
    """The least chip that admits the designs of ``answer``, which have this objective."""

    point: Point
    objective: Fraction
    answer: Answer


def corner_of(ask: Asked, ground: Ground, low: Point, room: Point, answer: Answer) -> Corner:
    """The least chip from ``low`` with the objective that ``answer``, solved at ``room``, has.

    Each scenario takes, of its designs in ``answer`` and those seen before that serve as well,
    the ones that add the least area. What they cost at the corner is evaluated, so the corner
    is solved too: it can be no better than ``room``. Where a need has no slack that tells it, the
    least places are found by halving.
    """
    assert answer.objective is not None
    point, chosen = low, []
    for scenario in answer.scenarios:
        options = [(scenario, ask.places(room, scenario))]
        for seen in ask.options(room, scenario.name):
            fits = all(a <= b for a, b in zip(seen.places, room, strict=True))
            if fits and _serves(seen.answer, scenario, answer):
                options.append((seen.answer, seen.places))
        reached = [(joined(point, places), s) for s, places in options]
        point, best = min(reached, key=lambda r: (ground.area(within(r[0], room)), r[0]))
        chosen.append(best)
    point = within(point, room)
    kept = ask.keep(point, swapped(answer, chosen))
    if height(kept.objective) > answer.objective:
        point, kept = _halved(ask, low, room, answer)
    ask.imply(point, kept)
    return Corner(point, Fraction(height(kept.objective)), kept)


def _halved(ask: Asked, low: Point, room: Point, answer: Answer) -> tuple[Point, Answer]:
    """The least place of each wall in turn at which the designs of ``answer`` still fit."""
    point, best, wanted = room, answer, height(answer.objective)
    for i in raised(low, room):
        first, last = low[i], room[i]
        while first < last:
            middle = (first + last) // 2
            kept = ask.keep(placed(point, i, middle), answer)
            if height(kept.objective) <= wanted:
                last, best = middle, kept
            else:
                first = middle + 1
        point = placed(point, i, last)
    return point, best


def _serves(other: ScenarioAnswer, scenario: ScenarioAnswer, answer: Answer) -> bool:
    """``other`` in place of ``scenario`` leaves the objective of ``answer`` where it is."""
    if other.ratio == scenario.ratio and other.energy == scenario.energy:
        return True
    worst = max(s.ratio for s in answer.scenarios)
    return answer.objective == worst and other.ratio <= worst


def joined(one: Point, other: Point) -> Point:
    return tuple(max(a, b) for a, b in zip(one, other, strict=True))


def within(point: Point, room: Point) -> Point:
    return tuple(min(a, b) for a, b in zip(point, room, strict=True))
