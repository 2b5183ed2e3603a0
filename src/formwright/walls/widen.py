"""Step 2 past the paper: sets of walls by opening them, and fields that change what costs are.

Capacities are priced by :mod:`formwright.walls.sets`. A field that changes costs is outside
Proposition 1. All its values at once, and then single ones with all capacities opened, are
screened by bounds that are proved; those that could be bought are priced by solving at real
values of it, the capacities opened again: a field that pays only along with some walls comes
out as one move.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.jumps import jumps
from formwright.walls.moves import Ground, Height, Move, Way, gain, height, pick, placed, raised
from formwright.walls.sets import certificate, move_to, only_together, search


@dataclass(frozen=True, slots=True)
class Widened:
    """``best``: the move to buy. ``together``: its walls only pay together (``None``: not known).
    ``record``: what was searched, as plain JSON."""

    best: Move | None
    together: bool | None
    dear: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Hope:
    """A value of a field that was not solved yet: no move from it is better than ``move``."""

    field: str
    move: Move


def widen(
    ask: Asked,
    ground: Ground,
    here: Point,
    *,
    look_ahead: int,
    effort: int,
    patience: int,
    near: Fraction,
    reach: Fraction,
    throughput: bool,
) -> Widened:
    """The move to buy: of those whose gain is at least ``reach`` times the largest, the one with
    the largest drop."""
    now, area = height(ask.solve(here).objective), ground.area(here)
    found = search(
        ask, ground, here, ask.capacities, now, goal="gain", effort=effort, patience=patience
    )
    moves = [move_to(ground, c, area, now, _way(here, c.point)) for c in found.corners]
    record: dict[str, Any] = {"sets": certificate(ask, found, now), "throughput": {}}
    hopes: list[_Hope] = []
    lows = [here]
    for i in ask.others if throughput else ():
        name = ask.library.fields[i].name
        steps, record["throughput"][name] = _steps(ask, ground, here, i, now, look_ahead)
        hopes += _hopes(ask, ground, here, name, steps, now)
        lows += steps
    if throughput:
        guessed = [p for p in jumps(ask, ground, lows) if p not in lows]
        record["throughput"]["together"] = {"steps": []}
        hopes += _hopes(ask, ground, here, "together", guessed, now)
    while (best := _chosen([*moves, *(h.move for h in hopes)], near, reach)) is not None:
        hope = next((h for h in hopes if h.move is best), None)
        if hope is None:
            together = only_together(ask, here, best.point, now)
            return Widened(best, together, len(found.dear), record)
        hopes.remove(hope)
        beside = search(
            ask,
            ground,
            best.point,
            ask.capacities,
            now,
            goal="gain",
            effort=0,
            patience=4,
            base_area=area,
        )
        moves += [move_to(ground, c, area, now, "throughput") for c in beside.corners]
        steps = record["throughput"][hope.field]["steps"]
        steps.append([list(best.point), certificate(ask, beside, now)])
    return Widened(None, None, len(found.dear), record)


def _way(here: Point, point: Point) -> Way:
    return "set" if len(raised(here, point)) > 1 else "step"


def _chosen(moves: list[Move], near: Fraction, reach: Fraction) -> Move | None:
    """Long strides: many small steps with a slightly larger gain each cost many rounds."""
    best = pick(moves, near)
    if best is None or best.gain == inf:
        return best
    return min(
        (m for m in moves if m.gain >= reach * best.gain),
        key=lambda m: (m.objective, m.area, m.point),
    )


def _hopes(
    ask: Asked, ground: Ground, here: Point, field: str, lows: list[Point], now: Height
) -> list[_Hope]:
    """Of values of fields that change costs, those that bounds leave to be priced."""
    hopes: list[_Hope] = []
    for low in lows:
        bound = _bound(ask, low, ground.opened(low, ask.capacities))
        if bound >= now:
            continue
        added = ground.area(low) - ground.area(here)
        least = Fraction(0) if bound == -inf else Fraction(bound)
        worth = gain(now, least, added)
        hopes.append(_Hope(field, Move(low, least, ground.area(low), added, worth, "throughput")))
    return hopes


def _bound(ask: Asked, low: Point, high: Point) -> Height:
    """No chip between the two is under this."""
    bound = ask.lower(tuple(zip(low, high, strict=True)))
    return bound if bound in (inf, -inf) else Fraction(bound)


def _steps(
    ask: Asked, ground: Ground, here: Point, field: int, now: Height, look_ahead: int
) -> tuple[list[Point], dict[str, Any]]:
    """The places to try of a field that changes costs, unless a bound on all of them excludes it:
    the next ones, doubling steps up and down, and the last that the ceiling admits."""
    place, top = here[field], ground.highest(here, field)
    opened = ground.opened(here, ask.capacities)
    bottom = placed(here, field, 0)
    bound = _bound(ask, bottom, placed(opened, field, top)) if top > 0 else inf
    row: dict[str, Any] = {"bound": None if bound == inf else float(bound), "steps": []}
    if bound >= now:
        return [], row
    doubling = {2**t for t in range(len(ask.library.fields[field].menu).bit_length())}
    wanted = {place + t for t in range(1, look_ahead + 1)} | {top}
    wanted |= {place + t for t in doubling} | {place - t for t in doubling}
    chips = [placed(here, field, p) for p in sorted(wanted - {place}) if 0 <= p <= top]
    return [chip for chip in chips if ground.affordable(chip)], row
