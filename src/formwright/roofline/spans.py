"""Least and greatest values of expressions, each made a function once: footprints ask many times.

The same as :func:`formwright.ir.interval.bounds` for whole numbers; what has no short form here
is left to it.
"""

from collections.abc import Callable, Mapping

from formwright.ir.expr import Arith, Expr, MinMax, Num, Round, Var
from formwright.ir.interval import Bound, Interval, bounds
from formwright.ir.rewrite import free_names

Ranges = Mapping[str, Interval]
Span = tuple[int, int]
_Made = Callable[[Ranges], Span]


class UnboundedError(Exception):
    """An index without a bound: no footprint can be given."""


class Spans:
    """``spans(expr, ranges)``; expressions are known by identity and kept alive."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Expr, _Made]] = {}
        self.names: dict[int, tuple[str, ...]] = {}

    def __call__(self, expr: Expr, ranges: Ranges) -> Span:
        """Both ends, inclusive. Raises :class:`UnboundedError`."""
        known = self.made.get(id(expr))
        if known is None:
            known = self.made[id(expr)] = (expr, _made(expr))
        return known[1](ranges)

    def values(self, expr: Expr, ranges: Ranges) -> int:
        """How many values the names of ``expr`` can have together."""
        names = self.names.get(id(expr))
        if names is None:
            names = self.names[id(expr)] = tuple(free_names(expr))
            self.made.setdefault(id(expr), (expr, _made(expr)))
        count = 1
        for name in names:
            found = ranges.get(name)
            if found is not None:
                count *= whole(found.hi) - whole(found.lo) + 1
        return count


def whole(bound: Bound) -> int:
    """The bound as an integer; raises :class:`UnboundedError` for an infinite one."""
    if type(bound) is int:
        return bound
    if isinstance(bound, float):
        raise UnboundedError
    return int(bound)


def _made(expr: Expr) -> _Made:
    match expr:
        case Num(value) if value.denominator == 1:
            point = (value.numerator, value.numerator)
            return lambda _: point
        case Var(name):
            return lambda ranges: _of_name(name, ranges)
        case Arith("+", left, right):
            return _sum(_made(left), _made(right))
        case Arith("-", left, right):
            return _difference(_made(left), _made(right))
        case Arith("*", left, right):
            return _product(_made(left), _made(right))
        case MinMax(op, args):
            parts = [_made(a) for a in args]
            return _least(parts) if op == "min" else _greatest(parts)
        case Round(op, Arith("/", above, Num(value))) if value > 0 and value.denominator == 1:
            return _quotient(_made(above), value.numerator, op == "ceil")
        case Arith("//", above, Num(value)) if value > 0 and value.denominator == 1:
            return _quotient(_made(above), value.numerator, False)
        case _:
            return lambda ranges: _by_bounds(expr, ranges)


def _of_name(name: str, ranges: Ranges) -> Span:
    found = ranges.get(name)
    if found is None:
        raise UnboundedError
    return whole(found.lo), whole(found.hi)


def _by_bounds(expr: Expr, ranges: Ranges) -> Span:
    found = bounds(expr, ranges)
    return whole(found.lo), whole(found.hi)


def _sum(left: _Made, right: _Made) -> _Made:
    def of(ranges: Ranges) -> Span:
        (a, b), (c, d) = left(ranges), right(ranges)
        return a + c, b + d

    return of


def _difference(left: _Made, right: _Made) -> _Made:
    def of(ranges: Ranges) -> Span:
        (a, b), (c, d) = left(ranges), right(ranges)
        return a - d, b - c

    return of


def _product(left: _Made, right: _Made) -> _Made:
    def of(ranges: Ranges) -> Span:
        (a, b), (c, d) = left(ranges), right(ranges)
        if a >= 0 and c >= 0:
            return a * c, b * d
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)

    return of


def _least(parts: list[_Made]) -> _Made:
    def of(ranges: Ranges) -> Span:
        found = [p(ranges) for p in parts]
        return min(a for a, _ in found), min(b for _, b in found)

    return of


def _greatest(parts: list[_Made]) -> _Made:
    def of(ranges: Ranges) -> Span:
        found = [p(ranges) for p in parts]
        return max(a for a, _ in found), max(b for _, b in found)

    return of


def _quotient(above: _Made, divisor: int, up: bool) -> _Made:
    def of(ranges: Ranges) -> Span:
        a, b = above(ranges)
        if up:
            return -(-a // divisor), -(-b // divisor)
        return a // divisor, b // divisor

    return of
