"""An area from a table: the least curve that never falls and lies nowhere below its points.

CACTI picks another organisation for each size, so its areas are not monotone; a wall that is
priced must never get cheaper as it moves out. A point below an earlier one is raised to it.
Between points the curve is a straight line; beyond the table nothing is claimed.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from formwright.ir.expr import Arith, Compare, Cond, Expr, Var, num

Points = Sequence[tuple[int | Fraction, int | Fraction]]


def envelope(points: Points) -> list[tuple[Fraction, Fraction]]:
    """``points`` (ascending in the first part) with each second part raised to those before."""
    tops = accumulate((Fraction(y) for _, y in points), max)
    return [(Fraction(x), top) for (x, _), top in zip(points, tops, strict=True)]


def raised(points: Points) -> list[int | Fraction]:
    """Where the envelope lies above the table."""
    return [x for (x, y), (_, top) in zip(points, envelope(points), strict=True) if top > y]


def curve(points: Points, name: str) -> Expr:
    """The envelope as an expression over ``chip.NAME``; it holds between first and last point."""
    found = envelope(points)
    x = Var(f"chip.{name}")
    expr: Expr = num(found[-1][1])
    for (x0, y0), (x1, y1) in reversed(list(pairwise(found))):
        slope = (y1 - y0) / (x1 - x0)
        line = Arith("+", num(y0 - slope * x0), Arith("*", num(slope), x))
        expr = Cond(Compare("<=", x, num(x1)), line, expr)
    return expr
