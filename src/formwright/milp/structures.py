"""The best points of a search, with what its template declares to be left out.

Whatever is declared, the answer is that of :func:`formwright.milp.enumerate.search`: each
structure is used where its condition is shown, and what cannot be among the best then goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formwright.ir.expr import Expr, Scalar
from formwright.ir.fold import folded
from formwright.ir.int_arrays import Array
from formwright.ir.structures import Drop, Knee, Scenarios, Split, map_expressions
from formwright.milp.costing import Costing
from formwright.milp.declared import Declared, Used, unused
from formwright.milp.enumerate import Found, Search, ranked
from formwright.milp.listing import Points, listed
from formwright.milp.structures_classes import classes
from formwright.milp.structures_drop import kept
from formwright.milp.structures_floors import floors
from formwright.milp.structures_knee import Lines, lines, single

_STEP = 2
"""One of so many lines that are open, and one more, is opened before the next look at the best."""


@dataclass(frozen=True, slots=True)
class Structured:
    """``found`` as by an enumeration; ``parts``: values of ranks, bounds and measures."""

    found: Found
    parts: int
    used: tuple[Used, ...]


def search_structured(
    task: Search, declared: Sequence[Declared], every_tie: bool
) -> Structured | None:
    """The best points of ``task``; ``None`` where there are too many to list.

    ``declared`` has no :class:`Split` (those go before). Points that cost the same come back all.
    """
    points = listed(task)
    if points is None:
        return None
    if task.objective is None:
        return None
    if points.count == 0:
        told = tuple(unused(d, "no design meets the constraints") for d in declared)
        return Structured(Found(points.feasible, {}, ()), 0, told)
    return _searched(points, task.objective, declared, every_tie)


def _plain(declared: Sequence[Declared], constants: Mapping[str, Scalar]) -> list[Declared]:
    """With the constants put in, as in the cost that they are compared with."""
    return [
        replace(d, structure=map_expressions(d.structure, lambda e: folded(e, constants)))
        for d in declared
    ]


def _searched(
    points: Points, cost: Expr, declared: Sequence[Declared], every_tie: bool
) -> Structured:
    task = points.task
    constants = {n: v for n, v in task.constants.items() if isinstance(v, (int, Fraction))}
    objective, declared = folded(cost, constants), _plain(declared, constants)
    labels, used = classes(points, objective, declared)
    among = np.flatnonzero(labels == np.arange(points.count))
    one = task.keep == 1
    for each in declared:
        match each.structure:
            case Drop() as drop:
                if one and not every_tie:
                    among, told = kept(points, objective, each, drop, labels, among)
                else:
                    told = unused(each, "more designs than the best one are asked for")
                used.append(told)
            case Split() | Scenarios():
                used.append(unused(each, "one workload is asked for"))
    least, told_all = floors(points, objective, declared)
    used += told_all
    along, told_all = _lines(points, objective, declared, among, one)
    used += told_all
    costing = Costing(points, objective, task.keep)
    opened = _led(costing, along, least)
    if any(u.verdict == "held" for u in used) and opened < along.count:
        used = [_with(u, opened, along.count) for u in used]
    alive = _whole(costing, along)
    chosen = np.flatnonzero(np.isin(labels, labels[alive]))
    columns, values = ranked(task, points.at(chosen), every_tie)
    found = Found(points.feasible, columns, values, costing.costed)
    return Structured(found, points.parts, tuple(used))


def _with(used: Used, opened: int, count: int) -> Used:
    bounding = ("bottleneck dominance", "monotonicity", "low effective dimension")
    if used.verdict != "held" or used.title not in bounding:
        return used
    return replace(used, why=f"{used.why}; {opened:,} of {count:,} were looked into")


def _lines(
    points: Points, objective: Expr, declared: Sequence[Declared], among: Array, one: bool
) -> tuple[Lines, list[Used]]:
    """The lines of the first knee that is shown; each point by itself where there is none."""
    found: Lines | None = None
    used: list[Used] = []
    for each in declared:
        if not isinstance(each.structure, Knee):
            continue
        if not one:
            used.append(unused(each, "more designs than the best one are asked for"))
        elif found is not None:
            used.append(unused(each, "lines go along one decision only"))
        else:
            found, told = lines(points, objective, each, each.structure, among)
            used.append(told)
    return single(among) if found is None else found, used


def _led(costing: Costing, along: Lines, least: Array) -> int:
    """Opens lines from the least bound upwards until no other can matter; and how many."""
    if along.count == 0:
        return 0
    floor = along.least(least)
    order = np.argsort(floor, kind="stable")
    opened = 0
    while opened < along.count:
        step = order[opened : opened + 1 + opened // _STEP]
        step = step[floor[step] <= costing.ceiling]
        if not len(step):
            break
        along.open(costing, step)
        opened += len(step)
    return opened


def _whole(costing: Costing, along: Lines) -> Array:
    """The best points, with all that tie with them on their lines."""
    alive = costing.best()
    if along.count < len(along.order):
        line = np.empty(len(costing.done), dtype=np.int64)
        line[along.order] = np.repeat(np.arange(along.count), np.diff(along.starts))
        costing.cost(along.members(np.unique(line[alive])))
        alive = costing.best()
    return alive
