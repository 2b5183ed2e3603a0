"""Bottleneck dominance, monotonicity, low effective dimension: what designs cost at least.

Each gives a number that the cost of a point is surely not below. Points are costed from the least
such number upwards, until it is above the best cost that is known.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from formwright.ir.band_arrays import Band, BandsError, between, point, quotients
from formwright.ir.bands import Bands
from formwright.ir.expr import Expr, Var
from formwright.ir.int_arrays import Array
from formwright.ir.rational_arrays import Exact
from formwright.ir.structures import Bounded, Coarse, Rank
from formwright.ir.vectorise import Evaluator
from formwright.milp.algebra import never_above
from formwright.milp.declared import Declared, Used, held, reopened, unused
from formwright.milp.eliminate import ranges_of
from formwright.milp.enumerate import gathered
from formwright.milp.listing import NotShownError, Points, floats
from formwright.milp.monotone import direction, reads


def floors(
    points: Points, objective: Expr, declared: Sequence[Declared]
) -> tuple[Array, list[Used]]:
    """What each point costs at least, by all that is declared."""
    least = np.full(points.count, -np.inf)
    used: list[Used] = []
    for each in declared:
        try:
            match each.structure:
                case Rank() as rank:
                    found = _rank(points, objective, rank)
                case Bounded() as bounded:
                    found = _bounded(points, objective, bounded)
                case Coarse() as coarse:
                    found = _coarse(points, objective, coarse)
                case _:
                    continue
        except NotShownError as error:
            used.append(reopened(each, str(error)))
            continue
        if isinstance(found, str):
            used.append(unused(each, found))
            continue
        floor, why = found
        least = np.maximum(least, floor)
        used.append(held(each, why))
    return least, used


Floor = tuple[Array, str] | str
"""The numbers and what they rest on, or why there are none."""


def _rank(points: Points, objective: Expr, rank: Rank) -> Floor:
    if not never_above(rank.by, objective, ranges_of(points.task)):
        raise NotShownError("it is not shown to stay below the cost: all designs are costed")
    before = points.parts
    value, error = points.approximate(rank.by)
    return value - error, f"{points.parts - before:,} values of it order the designs"


def _regions(points: Points, decisions: Sequence[str]) -> tuple[Array, Array] | str:
    """A number for each combination of the other decisions, and the first point of each."""
    task = points.task
    behind = {n for n, t in task.tables.items() if set(decisions) & set(t.names)}
    if task.objective is not None and reads(task.objective, behind):
        return "its decisions are tied to others that are settled"
    groups = points.groups(n for n in points.places if n not in decisions)
    first = points.firsts(groups)
    if len(first) == points.count:
        return "the other decisions leave one design each"
    return groups, first


def _menu_of(points: Points, name: str) -> Array:
    return next(a.columns[name] for a in points.task.axes if name in a.columns)


def _bounded(points: Points, objective: Expr, bounded: Bounded) -> Floor:
    ranges = ranges_of(points.task)
    ends: dict[str, int] = {}
    for name in bounded.decisions:
        sign = direction(objective, Var(name), ranges)
        if sign is None:
            raise NotShownError(f"the cost is not shown to move one way with {name}")
        menu = _menu_of(points, name)
        ends[name] = int(menu.max() if sign < 0 else menu.min())
    regions = _regions(points, bounded.decisions)
    if isinstance(regions, str):
        return regions
    groups, first = regions
    columns = points.at(first)
    columns.update({n: np.full(len(first), v) for n, v in ends.items()})
    value, error = floats(Evaluator(points.given(columns)), objective, len(first))
    points.parts += len(first)
    shown = ", ".join(f"{n} = {v}" for n, v in ends.items())
    return (value - error)[groups], f"{len(first):,} regions bounded at {shown}"


def _coarse(points: Points, objective: Expr, coarse: Coarse) -> Floor:
    regions = _regions(points, coarse.decisions)
    if isinstance(regions, str):
        return regions
    groups, first = regions
    columns = points.at(first)
    given: dict[str, Band] = {n: quotients(c, 1) for n, c in columns.items()}
    for name in coarse.decisions:
        menu = _menu_of(points, name)
        given[name] = between(int(menu.min()), int(menu.max()))
    for name, value in points.task.constants.items():
        if isinstance(value, (int, Fraction)):
            given[name] = point(value)
    for name, table in points.task.tables.items():
        if not set(table.names) & set(coarse.decisions) and isinstance(table.values, Exact):
            exact = gathered(points.task, table, columns)
            assert isinstance(exact, Exact)
            shape = (len(first),)
            tops = np.broadcast_to(np.asarray(exact.num.a), shape)
            given[name] = quotients(tops, _divisor(exact, shape))
    try:
        band = Bands(given).number(objective)
    except (BandsError, KeyError) as error:
        raise NotShownError(f"the cost has no bounds over a range: {error}") from None
    points.parts += len(first)
    low = np.broadcast_to(np.asarray(band.lo, dtype=np.float64), (len(first),))
    high = np.broadcast_to(np.asarray(band.hi, dtype=np.float64), (len(first),))
    best = int(np.argmin(low))
    spread = (
        ""
        if low[best] <= 0
        else f", the best of them within a factor of {high[best] / low[best]:.3g}"
    )
    return low[groups], f"{len(first):,} regions bounded over all their values{spread}"


def _divisor(exact: Exact, shape: tuple[int, ...]) -> Array | int:
    if isinstance(exact.den.a, int):
        return exact.den.a
    return np.broadcast_to(np.asarray(exact.den.a), shape)
