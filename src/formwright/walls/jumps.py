"""Where walls that costs read would have to be: a guess, to be priced by solving there.

Removing such a wall is no bound, since moving it changes what programs cost. But the designs that
win without these walls say which values belong together, at the costs of the chip as it is.
"""

from collections.abc import Iterable

from formwright.chip.library import Point
from formwright.walls.asked import Asked
from formwright.walls.moves import Ground, placed
from formwright.walls.reclaim import least_place


def jumps(ask: Asked, ground: Ground, chips: Iterable[Point]) -> list[Point]:
    """For each of ``chips``, the values that the designs need which win there without walls that
    costs read. Nothing where there are fewer than two such walls: steps of one find the rest."""
    fields = ask.library.fields
    read = [i for i in ask.others if fields[i].name in ask.counted.walls]
    if len(read) < 2:
        return []
    names = frozenset(fields[i].name for i in read)
    found: list[Point] = []
    for chip in chips:
        opened = ground.opened(chip, ask.capacities)
        answer = ask.solve(opened, names)
        if answer.objective is None:
            continue
        point = chip
        for i in read:
            point = placed(point, i, least_place(ask, opened, answer, i))
        if point not in found and ground.affordable(point):
            found.append(point)
    return found
