"""Columns of ranges in floats rounded outward: what arithmetic does to them.

A :class:`Band` holds a lower and an upper end for every row. Over single points whose values are
integers the ends are the value itself; elsewhere they are apart by the roundings.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite, nextafter
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from formwright.ir.expr import ArithOp, CompareOp, LogicOp

Column = float | npt.NDArray[np.float64]
Mask = bool | npt.NDArray[np.bool_]

_EXACT = 2.0**53
"""Integers up to this size are floats without rounding."""
_ULP = 2.0**-52
"""Two half-ulps: the value before a rounding lies within this, relatively."""


@dataclass(frozen=True, slots=True)
class Band:
    """``lo <= value <= hi`` in every row; ``least`` and ``most`` bound all rows.

    ``whole``: both ends are integers that floats hold exactly. ``lo is hi`` for points.
    """

    lo: Column
    hi: Column
    least: float
    most: float
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A condition in every row: whether it holds at all points, and whether it may at some."""

    sure: Mask
    may: Mask


Value = Band | Verdicts


class BandsError(Exception):
    """An expression that has no bands: a sum whose ends are not constants."""


def point(value: int | Fraction) -> Band:
    """One exact number in all rows."""
    return between(value, value)


@lru_cache(maxsize=1 << 14)
def between(low: int | Fraction, high: int | Fraction) -> Band:
    """The numbers from ``low`` to ``high``, in all rows."""
    lo, hi = _below(low), _above(high)
    whole = Fraction(low).denominator == 1 == Fraction(high).denominator
    whole = whole and max(abs(lo), abs(hi)) < _EXACT
    if low == high and whole:
        return Band(lo, lo, lo, lo, True)
    return Band(lo, hi, lo, hi, whole)


def _below(value: int | Fraction) -> float:
    near = float(value)
    return near if near <= value else nextafter(near, -inf)


def _above(value: int | Fraction) -> float:
    near = float(value)
    return near if near >= value else nextafter(near, inf)


def quotients(num: npt.NDArray[Any], den: npt.NDArray[Any] | int) -> Band:
    """Exact rationals by row: integers over positive integers (``int64`` or Python's)."""
    if isinstance(den, int) and den == 1 and _fits(num):
        column = num.astype(np.float64)
        return Band(column, column, _min(column), _max(column), True)
    near = num.astype(np.float64) / np.asarray(den).astype(np.float64)
    # Three roundings of half an ulp, none where the quotient comes out even.
    reach = np.where(_even(num, den), 0.0, np.abs(near) * (2 * _ULP))
    lo, hi = near - reach, near + reach
    return Band(lo, hi, _min(lo), _max(hi))


def _even(num: npt.NDArray[Any], den: npt.NDArray[Any] | int) -> npt.NDArray[Any] | bool:
    """Where a quotient is a multiple of 2**-16 that a float surely holds."""
    if num.size == 0 or max(int(np.abs(num).max()), int(np.max(den))) >= 2**36:
        return False
    whole: npt.NDArray[Any] = (num.astype(np.int64) << 16) % den == 0
    return whole


def _fits(num: npt.NDArray[Any]) -> bool:
    return num.size == 0 or max(abs(int(num.min())), abs(int(num.max()))) < _EXACT


def _min(column: Column) -> float:
    return float(np.min(column)) if np.size(column) else 0.0


def _max(column: Column) -> float:
    return float(np.max(column)) if np.size(column) else 0.0


def conjunction(masks: Iterable[Mask]) -> Mask:
    """The rows of all of the masks."""
    all_: Mask = True
    for mask in masks:
        all_ = mask if all_ is True else np.logical_and(all_, mask)
    return all_


def _outward(lo: Column, hi: Column, least: float, most: float) -> Band:
    """Ends that a rounding has moved, put outside of where they were."""
    if least >= 0:
        return Band(lo * (1 - _ULP), hi * (1 + _ULP), least * (1 - _ULP), most * (1 + _ULP))
    size = max(abs(least), abs(most)) * _ULP
    return Band(lo - np.abs(lo) * _ULP, hi + np.abs(hi) * _ULP, least - size, most + size)


def _settled(lo: Column, hi: Column, least: float, most: float, whole: bool) -> Band:
    if whole and max(abs(least), abs(most)) < _EXACT:
        return Band(lo, hi, least, most, True)
    return _outward(lo, hi, least, most)


def arithmetic(op: ArithOp, a: Band, b: Band) -> Band:
    """The band of an operation of two, row by row."""
    whole = a.whole and b.whole
    single = a.lo is a.hi and b.lo is b.hi
    match op:
        case "+":
            lo = a.lo + b.lo
            hi = lo if single else a.hi + b.hi
            return _settled(lo, hi, a.least + b.least, a.most + b.most, whole)
        case "-":
            lo = a.lo - b.hi
            hi = lo if single else a.hi - b.lo
            return _settled(lo, hi, a.least - b.most, a.most - b.least, whole)
        case "*":
            return _product(a, b, whole, single)
        case "/":
            return _outward(*_divided(a, b))
        case "//":
            return rounded_quotient(False, a, _at_least_one(b))
        case "mod":
            return _remainder(a, _at_least_one(b), whole and single)
        case _:
            assert_never(op)


def _product(a: Band, b: Band, whole: bool, single: bool) -> Band:
    if a.least >= 0 and b.least >= 0:
        lo = a.lo * b.lo
        hi = lo if single else a.hi * b.hi
        return _settled(lo, hi, a.least * b.least, _times(a.most, b.most), whole)
    corners = [_times(x, y) for x in (a.least, a.most) for y in (b.least, b.most)]
    if single:
        lo = a.lo * b.lo
        return _settled(lo, lo, min(corners), max(corners), whole)
    ends = [np.nan_to_num(x * y, nan=0.0, posinf=inf, neginf=-inf)
            for x in (a.lo, a.hi) for y in (b.lo, b.hi)]  # fmt: skip
    lo = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
    hi = np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))
    return _settled(lo, hi, min(corners), max(corners), whole)


def _times(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def _divided(a: Band, b: Band) -> tuple[Column, Column, float, float]:
    """The quotient before rounding outward; rows without a positive divisor are unbounded."""
    if b.least > 0:
        if a.least >= 0:
            lo = a.lo / b.hi
            hi = lo if a.lo is a.hi and b.lo is b.hi else a.hi / b.lo
            return lo, hi, a.least / b.most, a.most / b.least
        lo = np.minimum(a.lo / b.hi, a.lo / b.lo)
        hi = np.maximum(a.hi / b.hi, a.hi / b.lo)
        size = max(abs(a.least), abs(a.most)) / b.least
        return lo, hi, -size, size
    with np.errstate(all="ignore"):
        good = np.asarray(b.lo) > 0
        safe = np.where(good, b.lo, 1.0)
        far = np.where(np.asarray(b.hi) > 0, b.hi, 1.0)
        low = np.where(np.asarray(a.lo) >= 0, a.lo / far, -inf)
        lo = np.where(good, np.minimum(a.lo / far, a.lo / safe), low)
        lo = np.where(np.asarray(b.hi) > 0, lo, inf)
        hi = np.where(good, np.maximum(a.hi / far, a.hi / safe), inf)
    return lo, hi, -inf if a.least < 0 else 0.0, inf


def _at_least_one(divisor: Band) -> Band:
    """Places where a whole divisor is below 1 have no value: nothing is said of them."""
    if divisor.least >= 1:
        return divisor
    lo, hi = np.maximum(divisor.lo, 1.0), np.maximum(divisor.hi, 1.0)
    return Band(lo, hi, 1.0, max(1.0, divisor.most), divisor.whole)


def rounded_quotient(up: bool, a: Band, b: Band) -> Band:
    """Of integers the rounded float quotient is the exact one: a quotient that is no integer is
    further from one, relatively, than floats of this size are apart."""
    if not (a.whole and b.whole):
        return rounded(up, _outward(*_divided(a, b)))
    lo, hi, least, most = _divided(a, b)
    return _turned(up, lo, hi, least, most)


def rounded(up: bool, a: Band) -> Band:
    """The band rounded up (else down) to whole numbers."""
    return a if a.whole else _turned(up, a.lo, a.hi, a.least, a.most)


def _turned(up: bool, lo: Column, hi: Column, least: float, most: float) -> Band:
    turn = np.ceil if up else np.floor
    low = turn(lo)
    high = low if lo is hi else turn(hi)
    ends = float(turn(least)), float(turn(most))
    whole = isfinite(ends[0]) and isfinite(ends[1]) and max(abs(e) for e in ends) < _EXACT
    return Band(low, high, ends[0], ends[1], whole)


def _remainder(a: Band, b: Band, exact: bool) -> Band:
    if exact:
        left = np.mod(a.lo, b.lo)
        return Band(left, left, 0.0, max(0.0, b.most - 1), True)
    high = np.maximum(b.hi - 1, 0.0)
    within = np.logical_and(np.asarray(a.lo) >= 0, np.asarray(a.hi) < np.asarray(b.lo))
    lo = np.where(within, a.lo, 0.0)
    top = np.where(np.asarray(a.lo) >= 0, np.minimum(high, a.hi), high)
    return Band(lo, top, 0.0, max(0.0, b.most - 1), a.whole and b.whole)


def negated(a: Band) -> Band:
    """The band of the opposite numbers."""
    lo = -a.hi
    return Band(lo, lo if a.lo is a.hi else -a.lo, -a.most, -a.least, a.whole)


def picked(largest: bool, parts: list[Band]) -> Band:
    """The largest (else the least) of several in each row."""
    pick = np.maximum if largest else np.minimum
    choose = max if largest else min
    first, *rest = parts
    lo, hi = first.lo, first.hi
    for part in rest:
        single = lo is hi and part.lo is part.hi
        lo = pick(lo, part.lo)
        hi = lo if single else pick(hi, part.hi)
    least, most = choose(p.least for p in parts), choose(p.most for p in parts)
    return Band(lo, hi, least, most, all(p.whole for p in parts))


def compared(op: CompareOp, a: Band, b: Band) -> Verdicts:
    """Whether a comparison holds at all points of the ranges, and whether at some."""
    alo, ahi, blo, bhi = (np.asarray(x) for x in (a.lo, a.hi, b.lo, b.hi))
    match op:
        case "<=":
            return Verdicts(ahi <= blo, alo <= bhi)
        case "<":
            return Verdicts(ahi < blo, alo < bhi)
        case ">=":
            return Verdicts(alo >= bhi, ahi >= blo)
        case ">":
            return Verdicts(alo > bhi, ahi > blo)
        case "=" | "!=":
            same = (alo == ahi) & (blo == bhi) & (alo == blo)
            meet = (alo <= bhi) & (blo <= ahi)
            return Verdicts(same, meet) if op == "=" else Verdicts(~meet, ~same)
        case _:
            assert_never(op)


def joined(op: LogicOp, a: Verdicts, b: Verdicts) -> Verdicts:
    """The verdicts of a condition of two."""
    match op:
        case "and":
            return Verdicts(np.logical_and(a.sure, b.sure), np.logical_and(a.may, b.may))
        case "or":
            return Verdicts(np.logical_or(a.sure, b.sure), np.logical_or(a.may, b.may))
        case "=>":
            turned = Verdicts(np.logical_not(a.may), np.logical_not(a.sure))
            return joined("or", turned, b)
        case _:
            assert_never(op)


def chosen(cond: Verdicts, then: Value, other: Value) -> Value:
    """One side or the other in each row; both where the condition is open."""
    if isinstance(then, Verdicts) or isinstance(other, Verdicts):
        if isinstance(then, Band) or isinstance(other, Band):
            raise BandsError("both sides of an if need the same kind")
        unsure = np.logical_or(
            np.logical_and(cond.sure, then.sure),
            np.logical_and(np.logical_not(cond.may), other.sure),
        )
        both = np.logical_and(then.sure, other.sure)
        may = np.logical_or(
            np.logical_and(cond.may, then.may),
            np.logical_and(np.logical_not(cond.sure), other.may),
        )
        return Verdicts(np.logical_or(unsure, both), may)
    low = np.where(cond.may, then.lo, inf)
    low = np.minimum(low, np.where(cond.sure, inf, other.lo))
    high = np.where(cond.may, then.hi, -inf)
    high = np.maximum(high, np.where(cond.sure, -inf, other.hi))
    least, most = min(then.least, other.least), max(then.most, other.most)
    single = then.lo is then.hi and other.lo is other.hi and np.array_equal(cond.sure, cond.may)
    return Band(low, low if single else high, least, most, then.whole and other.whole)
