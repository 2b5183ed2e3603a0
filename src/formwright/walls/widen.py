"""Step 2 past the paper: sets of walls by opening them, and fields that change what costs are.

Capacities are priced by :mod:`formwright.walls.sets`. A field that changes costs is outside
Proposition 1. It is screened by a bound on all its values at once, and priced by solving again
at real values of it, with all capacities opened: a step of it that pays with no capacities at
all pays with none that the ceiling admits, and one that pays only along with some walls comes
out as one move.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.moves import Ground, Height, Move, height, pick, placed, raised
from formwright.walls.reclaim import least_place
from formwright.walls.sets import (
    Corner,
    Search,
    certificate,
    move_to,
    narrowed,
    only_together,
    search,
)

_LONG = 24
"""Places ahead past which the next few and the last leave too much between them."""


@dataclass(frozen=True, slots=True)
class Widened:
    """``best``: the move to buy, solved. ``together``: its walls only pay together (``None``:
    not known). ``record``: what was searched, as plain JSON."""

    best: Move | None
    together: bool | None
    dear: int
    record: dict[str, Any]


def widen(
    ask: Asked,
    ground: Ground,
    here: Point,
    *,
    look_ahead: int,
    effort: int,
    near: Fraction,
    throughput: bool,
) -> Widened:
    """The move with the largest drop by area added that the searches find."""
    now, area = height(ask.solve(here).objective), ground.area(here)
    found = search(ask, ground, here, ask.capacities, now, goal="gain", effort=effort)
    offers: list[tuple[Point, Corner, Move]] = [
        (here, c, move_to(ground, c, area, now, "set")) for c in found.corners
    ]
    record: dict[str, Any] = {"sets": certificate(ask, found, now), "throughput": {}}
    dear = len(found.dear)
    for i in ask.others if throughput else ():
        searches, row = _field(ask, ground, here, i, now, look_ahead)
        record["throughput"][ask.library.fields[i].name] = row
        for low, corners in searches:
            offers += [(low, c, move_to(ground, c, area, now, "throughput")) for c in corners]
    best, together = _settled(ask, ground, here, offers, near)
    return Widened(best, together, dear, record)


def _settled(
    ask: Asked,
    ground: Ground,
    here: Point,
    offers: list[tuple[Point, Corner, Move]],
    near: Fraction,
) -> tuple[Move | None, bool | None]:
    """The best offer, narrowed to the walls it needs and solved at its chip.

    Narrowing changes prices, so the choice is made again until it stands.
    """
    now, area = height(ask.solve(here).objective), ground.area(here)
    done: set[Point] = set()
    while (best := pick((m for _, _, m in offers), near)) is not None:
        low, corner, _ = next(o for o in offers if o[2] is best)
        if best.point in done and ask.known(best.point) is not None:
            return best, only_together(ask, here, best.point, now)
        offers = [o for o in offers if o[2] is not best]
        corner = narrowed(ask, low, corner)
        objective = ask.solve(corner.point).objective
        if objective is None or objective >= now or not ground.affordable(corner.point):
            continue
        corner = Corner(corner.point, objective, corner.answer)
        way = best.way if len(raised(here, corner.point)) > 1 or low != here else "step"
        done.add(corner.point)
        offers = [o for o in offers if o[2].point != corner.point]
        offers.append((low, corner, move_to(ground, corner, area, now, way)))
    return None, None


def _field(
    ask: Asked, ground: Ground, here: Point, field: int, now: Height, look_ahead: int
) -> tuple[list[tuple[Point, tuple[Corner, ...]]], dict[str, Any]]:
    """Price one field that changes costs."""
    top = ground.highest(here, field)
    far = placed(ground.opened(here, ask.capacities), field, top)
    bound = ask.lower(tuple(zip(here, far, strict=True))) if top > here[field] else inf
    row: dict[str, Any] = {"bound": None if bound == inf else bound, "top": top, "steps": []}
    if bound == inf or (bound > -inf and Fraction(bound) >= now):
        return [], row
    searches: list[tuple[Point, tuple[Corner, ...]]] = []
    for low in _steps(ask, ground, here, field, top, look_ahead, now):
        found = _beside(ask, ground, low, here, now)
        searches.append((low, found.corners))
        row["steps"].append([low[field] - here[field], certificate(ask, found, now)])
    return searches, row


def _beside(ask: Asked, ground: Ground, low: Point, here: Point, now: Height) -> Search:
    """The capacities that pay along with the step to ``low``; none of them may be needed."""
    return search(
        ask,
        ground,
        low,
        ask.capacities,
        now,
        goal="gain",
        effort=2,
        base_area=ground.area(here),
    )


def _steps(
    ask: Asked,
    ground: Ground,
    here: Point,
    field: int,
    top: int,
    look_ahead: int,
    now: Height,
) -> Iterator[Point]:
    """The next places, the last that the ceiling admits, and where the field's wall would be
    cleared by what a program needs that wins without it. On a long menu, doubling steps too."""
    wanted = {here[field] + t for t in range(1, look_ahead + 1)} | {top}
    if top - here[field] > _LONG:
        wanted |= {here[field] + 2**t for t in range((top - here[field]).bit_length())}
    name = ask.library.fields[field].name
    if name in ask.counted.walls:
        opened = ground.opened(here, ask.capacities)
        answer = ask.solve(opened, frozenset({name}))
        if height(answer.objective) < now:
            wanted.add(least_place(ask, here, answer, field))
    for place in sorted(wanted):
        low = placed(here, field, place)
        if here[field] < place <= top and ground.affordable(low):
            yield low
