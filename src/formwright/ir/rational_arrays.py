"""Arrays of rationals: exact as numerator over denominator, or floats with an error bound.

Operations stay exact in 64 bits while the bounds allow it. Past that, ``wide`` goes on
exactly with Python integers; without it the result is :class:`Approx`, whose ``error`` is
a proven bound on the distance of every element from the exact value.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, lcm

import numpy as np

from formwright.ir import int_arrays as ints
from formwright.ir.int_arrays import Array, Ints, TooWideError

_ULP = 2.0**-51
"""Four half-ulps: room for the two or three roundings of one operation."""

Bad = bool | Array
"""Where an element has no value; ``False`` for nowhere."""


@dataclass(frozen=True, slots=True)
class Exact:
    """``num / den``, not reduced, ``den >= 1``."""

    num: Ints
    den: Ints
    bad: Bad = False


@dataclass(frozen=True, slots=True)
class Approx:
    """``|value - exact| <= error`` and ``|exact| + error <= size`` for every element."""

    value: Array
    error: float
    size: float
    bad: Bad = False


Number = Exact | Approx


class NeedsExactError(Exception):
    """The error bound does not settle this operation: redo it with ``wide``."""


def either(a: Bad, b: Bad) -> Bad:
    """Union of two sets of places without a value."""
    if a is False:
        return b
    return a if b is False else a | b


def rational(value: int | Fraction) -> Exact:
    exact = Fraction(value)
    return Exact(ints.constant(exact.numerator), ints.constant(exact.denominator))


def is_integer(x: Exact) -> bool:
    return isinstance(x.den.a, int) and x.den.a == 1


def add(x: Number, y: Number, wide: bool, minus: bool = False) -> Number:
    bad = either(x.bad, y.bad)
    if isinstance(x, Exact) and isinstance(y, Exact):
        try:
            left, right, den = common(x, y, wide)
            num = ints.subtract(left, right, wide) if minus else ints.add(left, right, wide)
            return _reduced(num, den, bad)
        except TooWideError:
            pass
    a, b = approx(x), approx(y)
    value = a.value - b.value if minus else a.value + b.value
    size = a.size + b.size
    return _approx(value, a.error + b.error + _ULP * size, size, bad)


def multiply(x: Number, y: Number, wide: bool) -> Number:
    bad = either(x.bad, y.bad)
    if isinstance(x, Exact) and isinstance(y, Exact):
        try:
            xn, yd = _cancel(x.num, y.den)
            yn, xd = _cancel(y.num, x.den)
            num, den = ints.multiply(xn, yn, wide), ints.multiply(xd, yd, wide)
            return _reduced(num, den, bad)
        except TooWideError:
            pass
    a, b = approx(x), approx(y)
    size = a.size * b.size
    error = a.size * b.error + b.size * a.error + _ULP * size
    return _approx(a.value * b.value, error, size, bad)


def divide(x: Number, y: Number, wide: bool) -> Number:
    """``x / y``; places where ``y <= 0`` have no value."""
    if isinstance(y, Approx):
        least = float(np.min(y.value)) - y.error if np.size(y.value) else 1.0
        if least <= 0:
            raise NeedsExactError
        a = approx(x)
        size = a.size / least
        error = (a.error + size * y.error) / least + _ULP * size
        return _approx(a.value / y.value, error, size, either(x.bad, y.bad))
    inverse = Exact(y.den, *positive(y.num, y.bad))
    return multiply(x, inverse, wide)


def positive(divisor: Ints, bad: Bad) -> tuple[Ints, Bad]:
    """``divisor`` with values below 1 marked as bad and replaced by 1."""
    if divisor.lo >= 1:
        return divisor, bad
    if isinstance(divisor.a, int):
        return ints.ONES, True
    wrong = divisor.a < 1
    safe = Ints(np.where(wrong, 1, divisor.a), 1, max(1, divisor.hi))
    return safe, either(bad, np.asarray(wrong, dtype=bool))


def negate(x: Number, wide: bool) -> Number:
    return add(rational(0), x, wide, minus=True)


def integral(x: Number, wide: bool) -> tuple[Ints, Bad]:
    """``x`` as integers; places where it is not one are bad."""
    if isinstance(x, Approx):
        raise NeedsExactError
    if is_integer(x):
        return x.num, x.bad
    broken = np.asarray(ints.remainder(x.num, x.den, wide).a != 0, dtype=bool)
    return ints.floor_divide(x.num, x.den, wide), either(x.bad, broken)


def round_to_integer(x: Number, up: bool, wide: bool) -> Number:
    """``ceil`` (``up``) or ``floor``."""
    if isinstance(x, Approx):
        raise NeedsExactError
    if is_integer(x):
        return x
    try:
        num = ints.negate(x.num, wide) if up else x.num
        whole = ints.floor_divide(num, x.den, wide)
        return Exact(ints.negate(whole, wide) if up else whole, ints.ONES, x.bad)
    except TooWideError:
        raise NeedsExactError from None


def divide_floor(x: Number, y: Number, wide: bool, remainder: bool) -> Number:
    """``x // y`` or ``x mod y`` on integers; ``y`` below 1 has no value."""
    try:
        left, left_bad = integral(x, wide)
        right, right_bad = integral(y, wide)
        divisor, bad = positive(right, either(left_bad, right_bad))
        f = ints.remainder if remainder else ints.floor_divide
        return Exact(f(left, divisor, wide), ints.ONES, bad)
    except TooWideError:
        raise NeedsExactError from None


def select(mask: Array, x: Number, y: Number, wide: bool) -> Number:
    """``x`` where ``mask`` holds, else ``y``; only the chosen side's missing values count."""
    bad: Bad = False
    if x.bad is not False or y.bad is not False:
        bad = np.where(mask, x.bad, y.bad)
    if isinstance(x, Exact) and isinstance(y, Exact):
        try:
            if isinstance(x.den.a, int) and isinstance(y.den.a, int) and x.den.a == y.den.a:
                return Exact(ints.select(mask, x.num, y.num, wide), x.den, bad)
            num, den = (
                ints.select(mask, x.num, y.num, wide),
                ints.select(mask, x.den, y.den, wide),
            )
            return Exact(num, den, bad)
        except TooWideError:
            pass
    a, b = approx(x), approx(y)
    value = np.where(mask, a.value, b.value)
    return _approx(value, max(a.error, b.error), max(a.size, b.size), bad)


def smaller(x: Number, y: Number, wide: bool, larger: bool) -> Number:
    """The elementwise minimum, or the maximum with ``larger``."""
    bad = either(x.bad, y.bad)
    if isinstance(x, Exact) and isinstance(y, Exact):
        try:
            if is_integer(x) and is_integer(y):
                return Exact(ints.pick(x.num, y.num, wide, larger), ints.ONES, bad)
            left, right, den = common(x, y, wide)
            return Exact(ints.pick(left, right, wide, larger), den, bad)
        except TooWideError:
            pass
    a, b = approx(x), approx(y)
    value = np.maximum(a.value, b.value) if larger else np.minimum(a.value, b.value)
    return _approx(value, max(a.error, b.error), max(a.size, b.size), bad)


def total(x: Number, terms: int, rank: int, wide: bool) -> Number:
    """The sum over a leading axis of ``terms`` places; ``x`` has ``rank`` axes after it.

    An ``x`` without that axis is the same at each place.
    """
    bad = x.bad
    if isinstance(bad, np.ndarray) and bad.ndim > rank:
        bad = np.asarray(bad.any(axis=0))
    if isinstance(x, Approx):
        value = _summed(x.value, terms, rank)
        size = terms * x.size
        return _approx(value, terms * x.error + terms * _ULP * size, size, bad)
    if not isinstance(x.den.a, int):
        x = _over_one_denominator(x, wide)
    low, high = terms * x.num.lo, terms * x.num.hi
    num = x.num.a
    if isinstance(num, int):
        return Exact(ints.constant(num * terms), x.den, bad)
    if low < -(2**63) or high >= 2**63:
        if not wide:
            raise NeedsExactError
        num = num.astype(object)
    return Exact(Ints(np.asarray(_summed(num, terms, rank)), low, high), x.den, bad)


def _summed(a: Array, terms: int, rank: int) -> Array:
    if a.ndim <= rank:
        return np.asarray(a * terms)
    return np.asarray(a[0] * terms if len(a) == 1 else a.sum(axis=0))


def _over_one_denominator(x: Exact, wide: bool) -> Exact:
    """``x`` over the least common multiple of its denominators."""
    assert not isinstance(x.den.a, int)
    shared = lcm(*(int(d) for d in np.unique(x.den.a)))
    factor = ints.floor_divide(ints.constant(shared), x.den, wide)
    return Exact(ints.multiply(x.num, factor, wide), ints.constant(shared), x.bad)


def common(x: Exact, y: Exact, wide: bool) -> tuple[Ints, Ints, Ints]:
    """Both numerators over one denominator."""
    if x.den.a is y.den.a:
        return x.num, y.num, x.den
    if isinstance(x.den.a, int) and isinstance(y.den.a, int):
        shared = gcd(x.den.a, y.den.a)
        left, right = ints.constant(y.den.a // shared), ints.constant(x.den.a // shared)
    else:
        left, right = y.den, x.den
    return (
        ints.multiply(x.num, left, wide),
        ints.multiply(y.num, right, wide),
        ints.multiply(x.den, left, wide),
    )


def _cancel(num: Ints, den: Ints) -> tuple[Ints, Ints]:
    if isinstance(num.a, int) and isinstance(den.a, int):
        shared = gcd(num.a, den.a)
        return ints.constant(num.a // shared), ints.constant(den.a // shared)
    return num, den


def _reduced(num: Ints, den: Ints, bad: Bad) -> Exact:
    return Exact(*_cancel(num, den), bad)


def approx(x: Number) -> Approx:
    """Floats with an error bound; raises :class:`NeedsExactError` past the range of floats."""
    if isinstance(x, Approx):
        return x
    size = Fraction(max(abs(x.num.lo), abs(x.num.hi)), max(1, x.den.lo))
    if size > 1e150 or x.den.hi > 10**150 or max(abs(x.num.lo), abs(x.num.hi)) > 10**300:
        raise NeedsExactError
    if isinstance(x.num.a, int) and isinstance(x.den.a, int):
        value = np.asarray(float(Fraction(x.num.a, x.den.a)))
    else:
        value = _floats(x.num) / _floats(x.den)
    largest = float(size) * 1.0001
    return _approx(value, largest * _ULP, largest, x.bad)


def _floats(x: Ints) -> Array:
    return np.asarray(float(x.a)) if isinstance(x.a, int) else x.a.astype(np.float64)


def _approx(value: Array, error: float, size: float, bad: Bad) -> Approx:
    if not (isfinite(size) and isfinite(error)):
        raise NeedsExactError
    return Approx(value, error * 1.0001 + 1e-290, size * 1.0001 + error, bad)
