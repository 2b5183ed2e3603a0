"""Sets of walls that pay together, found without trying sets.

All capacities are opened at once, each as far as the ceiling would let it go alone. If that does
not help, no relaxation within the ceiling does. If it does, the winning designs say how much of
each wall they need: the least such chip, the *corner*, is a move where the ceiling admits it, and
otherwise excludes all chips past it. Any other chip that could help lies below the corner in one
of its walls: the room is split into one room a wall, closed below the corner there and raised to
the corner in the walls before it, so that no chip is in two rooms. Raising takes area, so that
the other walls of a room may go less far. A room that does not help when it is open is settled,
with every chip in it. See docs/walls.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Literal

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.corners import Corner, corner_of, joined
from formwright.walls.moves import Ground, Height, Move, Way, gain, height, placed, raised

Goal = Literal["gain", "objective"]
"""``gain``: corners by drop per area. ``objective``: the smallest objective in the room."""


Room = tuple[Point, Point]
"""All chips from the first to the second in every capacity, within the ceiling."""


@dataclass(frozen=True, slots=True)
class Search:
    """``corners``: chips within the ceiling that beat the objective, the best first where the
    goal is the objective.

    ``settled``: rooms in which none does; ``dear``: corners over the ceiling or against a rule;
    ``unsettled``: rooms that were left when the effort was spent, that cannot hold a better move
    than one of ``corners``, or that lie past a chip against a rule which a larger one may keep.
    """

    low: Point
    corners: tuple[Corner, ...]
    settled: tuple[Room, ...]
    dear: tuple[Corner, ...]
    unsettled: tuple[Room, ...]

    @property
    def closed(self) -> bool:
        """No chip past ``low`` within the ceiling, in the walls searched, beats the objective."""
        return not self.corners and not self.unsettled


@dataclass(slots=True)
class _Frame:
    """One search while it runs. ``heap``: by priority, then age, with a bound of the objective."""

    ask: Asked
    ground: Ground
    low: Point
    walls: tuple[int, ...]
    beat: Height
    goal: Goal
    base: Fraction
    heap: list[tuple[Height, int, Height, Room]] = field(default_factory=list)
    order: "count[int]" = field(default_factory=count)
    corners: list[Corner] = field(default_factory=list)
    settled: list[Room] = field(default_factory=list)
    dear: list[Corner] = field(default_factory=list)
    skipped: list[Room] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """No room of the heap can hold a better move than those that were found."""
        if not self.heap:
            return True
        if not self.corners:
            return False
        if self.goal == "objective":
            return self.heap[0][0] >= min(c.objective for c in self.corners)
        areas = [self.ground.area(c.point) - self.base for c in self.corners]
        most = max(
            gain(self.beat, c.objective, area) for c, area in zip(self.corners, areas, strict=True)
        )
        return -self.heap[0][0] <= most < inf


def search(
    ask: Asked,
    ground: Ground,
    low: Point,
    walls: Sequence[int],
    beat: Height,
    *,
    goal: Goal,
    effort: int,
    patience: int,
    base_area: Fraction | None = None,
) -> Search:
    """The relaxations of ``walls`` from ``low``, within the ceiling, with an objective under
    ``beat``.

    ``effort``: new inner solves that are spent once a corner was found, ``patience`` before that.
    ``base_area``: what areas are added to, that of ``low`` by default.
    """
    base = ground.area(low) if base_area is None else base_area
    frame = _Frame(ask, ground, low, tuple(walls), beat, goal, base)
    began = ask.counted.solves
    if ground.within(low):
        _push(frame, low, ground.opened(low, walls), -inf)
    while not frame.done and ask.counted.solves - began < patience:
        _, _, bound, room = heappop(frame.heap)
        corner, least = _looked(frame, room)
        if len(frame.corners) == 1:
            patience = min(patience, ask.counted.solves - began + effort)
        if corner is not None:
            _split(frame, room, corner.point, max(bound, least))
            if not (ground.downward or ground.lawful(corner.point)):
                past = joined(room[0], corner.point)
                frame.skipped.append((past, room[1]))
    if goal == "objective":
        frame.corners.sort(key=lambda c: (c.objective, ground.area(c.point)))
    left = (*(entry[3] for entry in frame.heap), *frame.skipped)
    return Search(low, tuple(frame.corners), tuple(frame.settled), tuple(frame.dear), left)


def _looked(frame: _Frame, room: Room) -> tuple[Corner | None, Height]:
    """What the room is split by, a corner in it, and a bound of its objectives, where it is
    known. No corner where the room is settled."""
    high = room[1]
    if frame.ask.floor(high) >= frame.beat:
        frame.settled.append(room)
        return None, inf
    for known in frame.dear:
        if all(a <= b for a, b in zip(known.point, high, strict=True)):
            return known, -inf
    answer = frame.ask.solve(high)
    if height(answer.objective) >= frame.beat:
        frame.settled.append(room)
        return None, inf
    corner = corner_of(frame.ask, frame.ground, frame.low, high, answer)
    affordable = frame.ground.affordable(corner.point)
    (frame.corners if affordable else frame.dear).append(corner)
    return corner, corner.objective


def _split(frame: _Frame, room: Room, corner: Point, bound: Height) -> None:
    """The chips of ``room`` that do not lie past ``corner``, in rooms of their own.

    The walls that take the most area to raise come first: the rooms after them are smaller.
    """
    low, high = room
    ground = frame.ground

    def weight(i: int) -> Fraction:
        return ground.area(placed(low, i, corner[i]))

    for i in sorted(raised(low, corner), key=lambda i: (-weight(i), i)):
        _push(frame, low, placed(high, i, corner[i] - 1), bound)
        low = placed(low, i, corner[i])
        if not ground.within(low):
            return


def _push(frame: _Frame, low: Point, high: Point, bound: Height) -> None:
    high = frame.ground.opened(low, frame.walls, high)
    priority = bound
    if frame.goal == "gain":
        priority = -inf if bound == -inf else -gain(frame.beat, Fraction(bound), _least(frame, low))
    heappush(frame.heap, (priority, next(frame.order), bound, (low, high)))


def _least(frame: _Frame, low: Point) -> Fraction:
    """No chip of a room from ``low``, other than where the search began, adds less area."""
    if low != frame.low:
        return frame.ground.area(low) - frame.base
    steps = [
        frame.ground.area(placed(low, i, low[i] + 1)) - frame.base
        for i in frame.walls
        if low[i] < frame.ground.top(i)
    ]
    return min(steps, default=Fraction(0))


def only_together(ask: Asked, low: Point, point: Point, before: Height) -> bool | None:
    """Every wall raised is needed for any gain over ``low``; ``None`` where it is not known.

    Asks nothing: it reads what the search has left.
    """
    fields = raised(low, point)
    if len(fields) < 2:
        return False
    verdicts: list[bool | None] = []
    for i in fields:
        trial = placed(point, i, low[i])
        known = ask.known(trial)
        if ask.floor(trial) >= before:
            verdicts.append(True)
        else:
            verdicts.append(None if known is None else height(known.objective) >= before)
    if False in verdicts:
        return False
    return None if None in verdicts else True


def move_to(ground: Ground, corner: Corner, base_area: Fraction, beat: Height, way: Way) -> Move:
    area = ground.area(corner.point)
    added = area - base_area
    return Move(
        corner.point, corner.objective, area, added, gain(beat, corner.objective, added), way
    )


def certificate(ask: Asked, found: Search, beat: Height) -> dict[str, Any]:
    """What a search that found nothing shows, as plain JSON.

    ``rooms``: each says that no chip between these places beats the objective, since the inner
    problem at the highest chip does not. ``excluded``: chips past these places
    would, but are over the ceiling (``area`` in mm2) or break a rule. ``closed``: the two
    together are every chip within the ceiling.
    """
    fields = ask.library.fields

    def shown(room: Room) -> dict[str, list[int]]:
        return {fields[i].name: [room[0][i], room[1][i]] for i in ask.capacities}

    return {
        "from": list(found.low),
        "beat": None if beat == inf else str(beat),
        "closed": found.closed,
        "rooms": [shown(room) for room in found.settled],
        "excluded": [
            {
                "places": {fields[i].name: c.point[i] for i in ask.capacities},
                "walls": [fields[i].name for i in raised(found.low, c.point)],
                "area": str(ask.library.area(c.point)),
                "objective": str(c.objective),
            }
            for c in found.dear
        ],
        "unsettled": [shown(room) for room in found.unsettled],
    }
