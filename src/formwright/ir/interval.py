"""Interval bounds of expressions: every value that ``evaluate`` can give lies inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf
from typing import assert_never

from formwright.ir.expr import (
    Arith,
    ArithOp,
    Cell,
    Compare,
    CompareOp,
    Cond,
    Expr,
    Logic,
    LogicOp,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)

Bound = int | Fraction | float
"""An exact number, or ``inf`` and ``-inf``; no other float occurs."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from ``lo`` to ``hi``. A condition is 0 (false) or 1 (true)."""

    lo: Bound = -inf
    hi: Bound = inf

    def __contains__(self, value: int | Fraction) -> bool:
        return self.lo <= value <= self.hi


ANY = Interval()
_FALSE = Interval(0, 0)
_TRUE = Interval(1, 1)
_EITHER = Interval(0, 1)


def bounds(expr: Expr, ranges: Mapping[str, Interval]) -> Interval:
    """An interval with the value of ``expr`` at every point of ``ranges`` that has a value.

    Names without a range are unbounded. Points where ``expr`` has no value (a divisor
    below 1) are left out.
    """
    match expr:
        case Num(value):
            # Integers as such: arithmetic on them is many times faster than on rationals.
            plain = value.numerator if value.denominator == 1 else value
            return Interval(plain, plain)
        case Truth(verdict):
            return _TRUE if verdict else _FALSE
        case Var(name):
            return ranges.get(name, ANY)
        case Cell():
            return ANY
        case Arith(op, left, right):
            return _arith(op, bounds(left, ranges), bounds(right, ranges))
        case Neg(arg):
            inner = bounds(arg, ranges)
            return Interval(-inner.hi, -inner.lo)
        case MinMax(op, args):
            parts = [bounds(a, ranges) for a in args]
            pick = min if op == "min" else max
            return Interval(pick(p.lo for p in parts), pick(p.hi for p in parts))
        case Round(op, arg):
            inner = bounds(arg, ranges)
            return Interval(_round(op == "ceil", inner.lo), _round(op == "ceil", inner.hi))
        case Compare(op, left, right):
            return _compare(op, bounds(left, ranges), bounds(right, ranges))
        case Logic(op, left, right):
            return _logic(op, bounds(left, ranges), bounds(right, ranges))
        case Not(arg):
            inner = bounds(arg, ranges)
            return Interval(_sub(1, inner.hi), _sub(1, inner.lo))
        case Cond(cond, then, other):
            return _cond(bounds(cond, ranges), then, other, ranges)
        case Sum():
            return _sum(expr, ranges)
        case _:
            assert_never(expr)


def _cond(cond: Interval, then: Expr, other: Expr, ranges: Mapping[str, Interval]) -> Interval:
    if cond.lo >= 1:
        return bounds(then, ranges)
    if cond.hi <= 0:
        return bounds(other, ranges)
    a, b = bounds(then, ranges), bounds(other, ranges)
    return Interval(min(a.lo, b.lo), max(a.hi, b.hi))


def _sum(expr: Sum, ranges: Mapping[str, Interval]) -> Interval:
    lo, hi = bounds(expr.lo, ranges), bounds(expr.hi, ranges)
    longest = max(0, _sub(hi.hi, lo.lo))
    if longest == 0:
        return Interval(0, 0)
    body = bounds(expr.body, {**ranges, expr.var: Interval(lo.lo, _sub(hi.hi, 1))})
    return _hull(Interval(max(0, _sub(hi.lo, lo.hi)), longest), body)


def _arith(op: ArithOp, left: Interval, right: Interval) -> Interval:
    match op:
        case "+":
            return Interval(_add(left.lo, right.lo), _add(left.hi, right.hi))
        case "-":
            return Interval(_sub(left.lo, right.hi), _sub(left.hi, right.lo))
        case "*":
            return _hull(left, right)
        case "/":
            return _hull(left, _reciprocal(right))
        case "//":
            divisor = Interval(max(1, right.lo), max(1, right.hi))
            inner = _hull(left, _reciprocal(divisor))
            return Interval(_round(False, inner.lo), _round(False, inner.hi))
        case "mod":
            if left.lo >= 0 and left.hi < max(1, right.lo):
                return left
            highest = max(0, _sub(right.hi, 1))
            return Interval(0, min(highest, left.hi) if left.lo >= 0 else highest)
        case _:
            assert_never(op)


def _compare(op: CompareOp, left: Interval, right: Interval) -> Interval:
    match op:
        case "<":
            return _verdict(left.hi < right.lo, left.lo >= right.hi)
        case "<=":
            return _verdict(left.hi <= right.lo, left.lo > right.hi)
        case ">" | ">=":
            return _compare("<" if op == ">" else "<=", right, left)
        case "=" | "!=":
            same = left.lo == left.hi == right.lo == right.hi
            apart = left.hi < right.lo or left.lo > right.hi
            return _verdict(same, apart) if op == "=" else _verdict(apart, same)
        case _:
            assert_never(op)


def _logic(op: LogicOp, left: Interval, right: Interval) -> Interval:
    match op:
        case "and":
            return Interval(min(left.lo, right.lo), min(left.hi, right.hi))
        case "or":
            return Interval(max(left.lo, right.lo), max(left.hi, right.hi))
        case "=>":
            return Interval(max(_sub(1, left.hi), right.lo), max(_sub(1, left.lo), right.hi))
        case _:
            assert_never(op)


def _verdict(always: bool, never: bool) -> Interval:
    if always:
        return _TRUE
    return _FALSE if never else _EITHER


def _finite(value: Bound) -> bool:
    return not isinstance(value, float)


def _add(a: Bound, b: Bound) -> Bound:
    """Sum of two lower or two upper bounds; an infinite one wins."""
    if _finite(a) and _finite(b):
        return a + b
    return b if _finite(a) else a


def _sub(a: Bound, b: Bound) -> Bound:
    return _add(a, -b)


def _times(a: Bound, b: Bound) -> Bound:
    """Product with ``0 * inf = 0``, as a bound of products needs."""
    if a == 0 or b == 0:
        return 0
    if _finite(a) and _finite(b):
        return a * b
    return inf if (a > 0) == (b > 0) else -inf


def _hull(left: Interval, right: Interval) -> Interval:
    corners = [_times(a, b) for a, b in product((left.lo, left.hi), (right.lo, right.hi))]
    return Interval(min(corners), max(corners))


def _reciprocal(divisor: Interval) -> Interval:
    """Of the positive part of ``divisor``."""
    low: Bound = 0 if not _finite(divisor.hi) else inf
    if _finite(divisor.hi) and divisor.hi > 0:
        low = 1 / Fraction(divisor.hi)
    high: Bound = inf
    if _finite(divisor.lo) and divisor.lo > 0:
        high = 1 / Fraction(divisor.lo)
    return Interval(min(low, high), high)


def _round(up: bool, value: Bound) -> Bound:
    if not _finite(value):
        return value
    return ceil(value) if up else floor(value)
