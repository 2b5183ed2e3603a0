"""Dominance: a design that another is no worse than in all that its cost is read through goes.

The place in the order of the tie-break is one of the things to be no worse in, so the first of the
best designs always stays.
"""

import numpy as np

from formwright.ir.expr import Expr, Var
from formwright.ir.int_arrays import Array
from formwright.ir.interval import bounds
from formwright.ir.structures import Drop
from formwright.milp.declared import Declared, Used, held, reopened, unused
from formwright.milp.dominance import undominated
from formwright.milp.eliminate import ranges_of
from formwright.milp.listing import NotShownError, Points
from formwright.milp.monotone import direction
from formwright.milp.structures_classes import reads_decision, through


def kept(
    points: Points, objective: Expr, declared: Declared, drop: Drop, labels: Array, among: Array
) -> tuple[Array, Used]:
    """Those of the points ``among`` that stay. Each stands for all points of its label."""
    task = points.task
    rest = through(objective, drop.by)
    if reads_decision(task, rest, frozenset(points.places)):
        return among, reopened(declared, "the cost reads decisions elsewhere too")
    ranges = ranges_of(task)
    ranges |= {f"$by.{i}": bounds(e, ranges) for i, e in enumerate(drop.by)}
    for number, _ in enumerate(drop.by):
        if direction(rest, Var(f"$by.{number}"), ranges) not in (0, 1):
            told = f"the cost is not shown to rise with the {_place(number)} of them"
            return among, reopened(declared, told)
    try:
        keys = [points.ranked(e)[among] for e in drop.by]
        rank = _first(_order(points), labels)[among]
    except NotShownError as error:
        return among, reopened(declared, f"they cannot be compared: {error}")
    stays = among[undominated([*keys, rank], rank)]
    if len(stays) == len(among):
        return among, unused(declared, "no design is worse than another in all of them")
    return stays, held(declared, f"{len(stays):,} of {len(among):,} designs stay")


def _place(number: int) -> str:
    return ("first", "second", "third")[number] if number < 3 else f"{number + 1}th"


def _order(points: Points) -> Array:
    """The place of each point by the tie-break rule: ``prefer``, then decisions in order."""
    keys = [points.columns[n] for n in reversed(points.task.order) if n in points.columns]
    keys += [points.ranked(e) for e in reversed(points.task.prefer)]
    place = np.empty(points.count, dtype=np.int64)
    place[np.lexsort(keys)] = np.arange(points.count)
    return place


def _first(order: Array, labels: Array) -> Array:
    """The least place of the points that have the same label."""
    least = np.full(len(labels), len(labels))
    np.minimum.at(least, labels, order)
    return least[labels]
