"""When no purchase is left: area moved from where it does little to where it does more.

The capacities are searched anew from the bottoms of their menus, for an objective under the
incumbent's: first with the other fields as they are, then with other values of each field that
changes costs. A search that closes shows that no chip of those values within the ceiling is
better.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import inf
from typing import Any

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.corners import Corner
from formwright.walls.moves import Ground, Height, Move, height, placed
from formwright.walls.sets import certificate, move_to, search


@dataclass(frozen=True, slots=True)
class Exchanged:
    """``closed``: with other fields as they are, or one of them at another value, no chip within
    the ceiling beats the incumbent."""

    best: Move | None
    closed: bool
    record: dict[str, Any]


def exchange(
    ask: Asked, ground: Ground, here: Point, *, effort: int, throughput: bool
) -> Exchanged:
    """The first exchange that lowers the objective. ``effort``: solves, and half as many bounds
    again, of all searches together."""
    now = height(ask.solve(here).objective)
    bottom = tuple(0 if i in ask.capacities else p for i, p in enumerate(here))
    rows: list[dict[str, Any]] = []
    closed, began = True, ask.counted.solves
    for low, what in _starts(ask, ground, bottom, now, throughput, effort):
        left = began + effort - ask.counted.solves
        if low is None or left <= 0:
            closed = False
            continue
        found = search(
            ask, ground, low, ask.capacities, now, goal="objective", effort=left, patience=left
        )
        closed = closed and found.closed
        rows.append({**what, **certificate(ask, found, now)})
        for corner in found.corners:
            best = _solved(ask, ground, corner, ground.area(here), now)
            if best is not None:
                return Exchanged(best, False, {"searched": rows})
    return Exchanged(None, closed, {"searched": rows})


def _starts(
    ask: Asked, ground: Ground, bottom: Point, now: Height, throughput: bool, effort: int
) -> Iterator[tuple[Point | None, dict[str, Any]]]:
    """Where searches begin: the bottom, with each value of each other field. ``None`` stands for
    values that were not looked at."""
    fields = ask.library.fields
    yield bottom, {}
    for i in ask.others if throughput else ():
        places, left = _places(ask, ground, bottom, i, now, effort // 2)
        for place in places:
            if place != bottom[i]:
                yield placed(bottom, i, place), {"field": fields[i].name, "place": place}
        if left:
            yield None, {}


def _places(
    ask: Asked, ground: Ground, bottom: Point, field: int, now: Height, effort: int
) -> tuple[list[int], bool]:
    """The values of ``field`` that bounds on ranges of them do not exclude, nearest first, and
    whether ranges are left when ``effort`` bounds were asked for. Low bounds are opened first."""
    last = ground.highest(placed(bottom, field, 0), field)
    pending: list[tuple[Height, int, int]] = [(-inf, 0, last)]
    places: list[int] = []
    began = ask.counted.relaxations
    while pending and ask.counted.relaxations - began < effort:
        _, first, final = heappop(pending)
        room = ground.opened(placed(bottom, field, first), ask.capacities)
        box = list(zip(bottom, room, strict=True))
        box[field] = (first, final)
        bound = ask.lower(tuple(box))
        if bound == inf or (bound > -inf and Fraction(bound) >= now):
            continue
        if first == final:
            places.append(first)
            continue
        middle = (first + final) // 2
        heappush(pending, (bound, first, middle))
        heappush(pending, (bound, middle + 1, final))
    places += [first for _, first, final in pending if first == final]
    left = any(first != final for _, first, final in pending)
    return sorted(places, key=lambda place: (abs(place - bottom[field]), place)), left


def _solved(ask: Asked, ground: Ground, corner: Corner, area: Fraction, now: Height) -> Move | None:
    objective = ask.solve(corner.point).objective
    if objective is None or objective >= now or not ground.affordable(corner.point):
        return None
    return move_to(ground, Corner(corner.point, objective, corner.answer), area, now, "exchange")
