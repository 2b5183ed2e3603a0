"""Concavity: along one decision the cost falls to a knee and rises behind it.

The cost is the largest of some bounds. Where each of them moves one way with the decision, those
that fall and those that rise cross once in each line of designs that differ in it alone, and the
least of the line stands there: found by halving. Without bounds that rise it is the last design
of the line, the one at the edge of what fits; without bounds that fall the first.
"""

from dataclasses import dataclass

import numpy as np

from formwright.ir.expr import Expr, MinMax, Var
from formwright.ir.int_arrays import Array
from formwright.ir.structures import Knee
from formwright.milp.costing import Costing
from formwright.milp.declared import Declared, Used, held, reopened
from formwright.milp.eliminate import ranges_of
from formwright.milp.listing import Points
from formwright.milp.monotone import direction
from formwright.milp.structures_classes import reads_decision


@dataclass(slots=True)
class Lines:
    """``order`` has the points by line; line ``i`` is ``order[starts[i]:starts[i + 1]]``.

    ``falls`` and ``rises``: the bounds of the cost that do so along a line.
    """

    order: Array
    starts: Array
    falls: Expr | None = None
    rises: Expr | None = None

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def members(self, lines: Array) -> Array:
        """All points of some lines."""
        parts = [self.order[self.starts[i] : self.starts[i + 1]] for i in lines]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def least(self, values: Array) -> Array:
        """The least value of each line."""
        found: Array = np.minimum.reduceat(values[self.order], self.starts[:-1])
        return found

    def open(self, costing: Costing, lines: Array) -> None:
        """Costs points of each line until its least cost is known."""
        first, last = self.starts[lines], self.starts[lines + 1] - 1
        if self.rises is None or self.falls is None:
            costing.cost(self.order[last if self.rises is None else first])
            return
        unsure = self._halved(costing, first, last + 1)
        costing.cost(self.members(lines[unsure]))

    def _halved(self, costing: Costing, low: Array, high: Array) -> Array:
        """Narrows every line to where the rising bounds pass the falling ones; and the lines where
        floats could not tell which is larger."""
        assert self.falls is not None
        assert self.rises is not None
        low, high = low.copy(), high.copy()
        unsure = np.zeros(len(low), dtype=bool)
        while np.any(active := (low < high) & ~unsure):
            spot = np.flatnonzero(active)
            middle = (low[spot] + high[spot]) // 2
            at = self.order[middle]
            falling, one = costing.part(self.falls, at)
            rising, other = costing.part(self.rises, at)
            costing.put(at, np.maximum(falling, rising), max(one, other))
            unsure[spot] = np.abs(rising - falling) <= one + other
            past = rising >= falling
            high[spot[past]] = middle[past]
            low[spot[~past]] = middle[~past] + 1
        return unsure


def single(among: Array) -> Lines:
    """Each point a line of its own."""
    return Lines(among, np.arange(len(among) + 1))


def lines(
    points: Points, objective: Expr, declared: Declared, knee: Knee, among: Array
) -> tuple[Lines | None, Used]:
    """The points ``among`` as lines along the decision, if the cost is shown to have knees."""
    args = objective.args if isinstance(objective, MinMax) and objective.op == "max" else None
    name, ranges = knee.decision, ranges_of(points.task)
    falls: list[Expr] = []
    rises: list[Expr] = []
    for bound in args or (objective,):
        behind = reads_decision(points.task, bound, frozenset((name,)))
        sign = direction(bound, Var(name), ranges)
        if sign is None or (sign == 0 and behind):
            told = f"a bound of the cost is not shown to move one way with {name}"
            return None, reopened(declared, told)
        (falls if sign < 0 else rises).append(bound)
    if falls and rises and all(direction(b, Var(name), ranges) == 0 for b in rises):
        # What does not move is no knee: the edge is as good as any place behind it.
        falls, rises = [*falls, *rises], []
    groups = points.groups(n for n in points.places if n != name)[among]
    sorter = np.lexsort((points.places[name][among], groups))
    edges = np.flatnonzero(np.diff(groups[sorter], prepend=-1, append=-2))
    found = Lines(among[sorter], edges, _largest(falls), _largest(rises))
    kind = "knees" if falls and rises else "edges of what fits"
    return found, held(declared, f"{kind} of {found.count:,} lines of {len(among):,} designs")


def _largest(bounds: list[Expr]) -> Expr | None:
    if not bounds:
        return None
    return bounds[0] if len(bounds) == 1 else MinMax("max", tuple(bounds))
