"""Discrete menus and symmetry: designs that surely cost the same, of which one is costed."""

from collections.abc import Sequence

import numpy as np

from formwright.ir.expr import Expr, Var
from formwright.ir.int_arrays import Array
from formwright.ir.rewrite import map_children
from formwright.ir.structures import Menu, Ordered
from formwright.milp.algebra import symmetric, unified
from formwright.milp.declared import Declared, Used, held, reopened, unused
from formwright.milp.enumerate import Search
from formwright.milp.listing import NotShownError, Points
from formwright.milp.monotone import reads


def classes(
    points: Points, objective: Expr, declared: Sequence[Declared]
) -> tuple[Array, list[Used]]:
    """The first of the points that each point surely costs the same as."""
    labels = np.arange(points.count)
    relations: list[Array] = []
    used: list[Used] = []
    for each in declared:
        match each.structure:
            case Menu() as menu:
                made = _menu(points, objective, menu)
            case Ordered() as order:
                made = _order(points, objective, order)
            case _:
                continue
        if isinstance(made, str):
            used.append(reopened(each, made))
            continue
        relations.append(made)
        before = len(np.unique(labels))
        labels = _joined(labels, relations)
        after = len(np.unique(labels))
        if after == before:
            used.append(unused(each, "no two designs are alike in it here"))
        else:
            used.append(held(each, f"{after:,} designs stand for {before:,}"))
    return labels, used


def _joined(labels: Array, relations: Sequence[Array]) -> Array:
    """The least label of all points that some relations tie together."""
    while True:
        before = labels
        for groups in relations:
            least = np.full(int(groups.max(initial=-1)) + 1, len(labels))
            np.minimum.at(least, groups, labels)
            labels = least[groups]
        if np.array_equal(before, labels):
            return labels


def through(objective: Expr, by: Sequence[Expr]) -> Expr:
    """``objective`` with a name in the place of each of ``by``: ``$by.0``, ``$by.1``, …"""
    whole, *parts = unified([objective, *by])
    names = {id(part): Var(f"$by.{number}") for number, part in enumerate(parts)}
    seen: dict[int, Expr] = {}

    def go(expr: Expr) -> Expr:
        if id(expr) in names:
            return names[id(expr)]
        if id(expr) not in seen:
            seen[id(expr)] = map_children(expr, go)
        return seen[id(expr)]

    return go(whole)


def reads_decision(task: Search, expr: Expr, names: frozenset[str]) -> bool:
    """Whether ``expr`` reads one of some decisions, those behind tables included."""
    behind = {n for n, t in task.tables.items() if names & set(t.names)}
    return reads(expr, names | behind)


def _menu(points: Points, objective: Expr, menu: Menu) -> Array | str:
    rest = through(objective, menu.by)
    if reads_decision(points.task, rest, frozenset((menu.decision,))):
        return f"the cost reads {menu.decision} elsewhere too"
    try:
        ranks = [points.ranked(e) for e in menu.by]
    except NotShownError as error:
        return f"an expression of it cannot be told apart: {error}"
    return points.groups((n for n in points.places if n != menu.decision), ranks)


def _order(points: Points, objective: Expr, order: Ordered) -> Array | str:
    one, other = order.low, order.high
    behind = {n for n, t in points.task.tables.items() if {one, other} & set(t.names)}
    if reads(objective, behind) or not symmetric(objective, one, other):
        return f"to swap {one} and {other} is not shown to leave the cost as it is"
    swapped = dict(points.columns)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    places: dict[str, Array] = dict(points.places)
    inside = np.ones(points.count, dtype=bool)
    for name in (one, other):
        menu = next(a.columns[name] for a in points.task.axes if name in a.columns)
        sorter = np.argsort(menu)
        at = np.minimum(np.searchsorted(menu, swapped[name], sorter=sorter), len(menu) - 1)
        places[name] = sorter[at]
        inside &= menu[places[name]] == swapped[name]
    lengths = [a.length for a in points.task.axes]
    own = np.ravel_multi_index([points.places[n] for n in places], lengths)
    mirror = np.ravel_multi_index([places[n] for n in places], lengths)
    sorter = np.argsort(own)
    at = np.minimum(np.searchsorted(own, mirror, sorter=sorter), points.count - 1)
    partner = sorter[at]
    inside &= own[partner] == mirror
    label = np.arange(points.count)
    # A pair has the number of its first point.
    return np.where(inside, np.minimum(label, partner), label)
