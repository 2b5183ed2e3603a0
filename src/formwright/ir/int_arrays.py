"""Integer arrays with known bounds, so that no operation overflows unseen.

A value is a Python ``int`` (a constant) or an array; arrays are ``int64`` as long as the
bounds of the result fit, then, on request, arrays of Python integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MIN, _MAX = -(2**63), 2**63 - 1


class TooWideError(Exception):
    """The result may not fit 64 bits and the caller did not ask for wide integers."""


@dataclass(frozen=True, slots=True)
class Ints:
    """``lo <= a <= hi`` for every element; ``a`` is an ``int`` exactly for a constant."""

    a: int | Array
    lo: int
    hi: int


ONES = Ints(1, 1, 1)


def constant(value: int) -> Ints:
    return Ints(value, value, value)


def of_array(array: Array) -> Ints:
    """An integer array with its least and greatest element as bounds."""
    if array.dtype != object:
        array = array.astype(np.int64, copy=False)
    if array.size == 0:
        return Ints(array, 0, 0)
    return Ints(array, int(array.min()), int(array.max()))


def add(x: Ints, y: Ints, wide: bool) -> Ints:
    return _apply(np.add, x, y, x.lo + y.lo, x.hi + y.hi, wide)


def subtract(x: Ints, y: Ints, wide: bool) -> Ints:
    return _apply(np.subtract, x, y, x.lo - y.hi, x.hi - y.lo, wide)


def multiply(x: Ints, y: Ints, wide: bool) -> Ints:
    if isinstance(x.a, int) and x.a == 1:
        return y
    if isinstance(y.a, int) and y.a == 1:
        return x
    corners = (x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi)
    return _apply(np.multiply, x, y, min(corners), max(corners), wide)


def negate(x: Ints, wide: bool) -> Ints:
    return subtract(constant(0), x, wide)


def floor_divide(x: Ints, y: Ints, wide: bool) -> Ints:
    """``x // y``, rounding down; ``y`` is at least 1 everywhere."""
    corners = (x.lo // y.lo, x.lo // y.hi, x.hi // y.lo, x.hi // y.hi)
    return _apply(np.floor_divide, x, y, min(corners), max(corners), wide)


def remainder(x: Ints, y: Ints, wide: bool) -> Ints:
    """``x mod y`` in ``0 .. y-1``; ``y`` is at least 1 everywhere."""
    return _apply(np.remainder, x, y, 0, y.hi - 1, wide)


def select(mask: Array, x: Ints, y: Ints, wide: bool) -> Ints:
    """``x`` where ``mask`` holds, else ``y``."""
    lo, hi = min(x.lo, y.lo), max(x.hi, y.hi)
    if not (lo >= _MIN and hi <= _MAX):
        if not wide:
            raise TooWideError
        return Ints(np.where(mask, _objects(x.a), _objects(y.a)), lo, hi)
    return Ints(np.where(mask, x.a, y.a), lo, hi)


def pick(x: Ints, y: Ints, wide: bool, larger: bool) -> Ints:
    """The elementwise minimum, or the maximum with ``larger``."""
    f = np.maximum if larger else np.minimum
    choose: Callable[[int, int], int] = max if larger else min
    return _apply(f, x, y, choose(x.lo, y.lo), choose(x.hi, y.hi), wide)


def _apply(f: Callable[[Any, Any], Any], x: Ints, y: Ints, lo: int, hi: int, wide: bool) -> Ints:
    if isinstance(x.a, int) and isinstance(y.a, int):
        value = int(_PYTHON[f](x.a, y.a))
        return Ints(value, value, value)
    if _fits(x) and _fits(y) and lo >= _MIN and hi <= _MAX:
        return Ints(f(x.a, y.a), lo, hi)
    if not wide:
        raise TooWideError
    return Ints(f(_objects(x.a), _objects(y.a)), lo, hi)


_PYTHON: dict[Callable[[Any, Any], Any], Callable[[int, int], int]] = {
    np.add: lambda x, y: x + y,
    np.subtract: lambda x, y: x - y,
    np.multiply: lambda x, y: x * y,
    np.floor_divide: lambda x, y: x // y,
    np.remainder: lambda x, y: x % y,
    np.minimum: min,
    np.maximum: max,
}


def _fits(x: Ints) -> bool:
    return x.lo >= _MIN and x.hi <= _MAX


def _objects(a: int | Array) -> Array:
    return np.asarray(a).astype(object) if not isinstance(a, int) else np.array(a, dtype=object)
