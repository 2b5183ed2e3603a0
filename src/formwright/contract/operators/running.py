"""Running error analysis: values in float64 with how far f32 arithmetic may be from them.

Higham, Accuracy and Stability of Numerical Algorithms, 3.3: every operation adds the error of
its one rounding to what it inherits. The exact values come from float64; the bounds hold for
every algorithm that rounds each operation of the formula at most once, in any order of its
sums. ``TINY32`` is what one gradual underflow changes.

Functions that f32 hardware does not round correctly have an allowance, which the contracts
state: ``EXP_ULPS`` for exp, ``RSQRT_ULPS`` for 1/sqrt. Where exp(x) is below twice
the least normal f32 (``FLUSH``), zero is allowed too.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from formwright.contract.numbers import (
    F64,
    TINY32,
    U32,
    U64,
    Array,
    DType,
    gamma,
    to_double,
    to_type,
)

EXP_ULPS: Final = 2
"""Units in the last place that exp may be off; exp(0) is 1."""

RSQRT_ULPS: Final = 2
"""Units in the last place that 1/sqrt may be off."""

EXP_ERROR: Final = 2 * EXP_ULPS * U32
"""The same as a relative error: one unit is at most 2u of the value."""

RSQRT_ERROR: Final = 2 * RSQRT_ULPS * U32

FLUSH: Final = 2.0**-126
"""The least normal f32: below twice it exp may give zero."""


@dataclass(frozen=True, slots=True)
class Value:
    """``exact`` in float64, and ``error``: how far the value of f32 arithmetic may be from it."""

    exact: F64
    error: F64


def given(array: Array) -> Value:
    """An input: exact."""
    exact = to_double(array)
    return Value(exact, np.zeros_like(exact))


def constant(value: float) -> Value:
    """A constant of the formula, rounded once to f32 unless f32 holds it."""
    exact = np.asarray(value, np.float64)
    return Value(exact, np.abs(exact - np.asarray(np.float32(value), np.float64)))


def rounded(value: Value, *, small: bool = True, roundings: int = 1) -> Value:
    """The same after rounding to f32; ``small``: the operation may underflow."""
    size = np.abs(value.exact) + value.error
    own = roundings * (U32 * size + (TINY32 if small else 0.0)) + 4 * U64 * np.abs(value.exact)
    return Value(value.exact, value.error + own)


def narrowed(value: Value, dtype: DType) -> Value:
    """The same after one rounding to nearest in ``dtype``, or without it.

    Rounding is monotone: what becomes of a number within the error lies between what becomes of
    the two ends. So a cell that ``dtype`` holds, or nearly, is given no more than its own error,
    and truncation, which may be off by twice as much as nearest, is seen.
    """
    ends = value.exact - value.error, value.exact + value.error
    off = (np.abs(to_double(to_type(end, dtype)) - value.exact) for end in ends)
    return Value(value.exact, np.maximum(value.error, np.maximum(*off)))


def add(a: Value, b: Value) -> Value:
    """Sums of f32 do not underflow: what is denormal is exact."""
    return rounded(Value(a.exact + b.exact, a.error + b.error), small=False)


def subtract(a: Value, b: Value) -> Value:
    return rounded(Value(a.exact - b.exact, a.error + b.error), small=False)


def multiply(a: Value, b: Value) -> Value:
    x, y = np.abs(a.exact), np.abs(b.exact)
    error = x * b.error + y * a.error + a.error * b.error
    return rounded(Value(a.exact * b.exact, error))


def divide(a: Value, b: Value) -> Value:
    """Also as ``a * (1/b)``: three roundings. ``b`` may not reach zero within its error."""
    least = np.abs(b.exact) - b.error
    safe = np.where(least > 0, least, np.nan)
    exact = a.exact / b.exact
    error = (a.error + np.abs(exact) * b.error) / safe
    found = rounded(Value(exact, np.where(np.isnan(error), np.inf, error)), roundings=3)
    nothing = (a.exact == 0) & (a.error == 0)
    return Value(found.exact, np.where(nothing, 0.0, found.error))


def exponential(a: Value) -> Value:
    """Its conditioning is the absolute error of the argument."""
    exact = np.exp(a.exact)
    grown = exact * np.expm1(np.minimum(a.error, 700.0))
    flushed = np.where(exact - grown < 2 * FLUSH, 2 * FLUSH, 0.0)
    error = grown + (exact + grown) * (EXP_ERROR + 4 * U64) + flushed
    return Value(exact, np.where(np.isneginf(a.exact), 0.0, error))


def rsqrt(a: Value) -> Value:
    """``1/sqrt(a)`` for a above 0: half the relative error of the argument."""
    exact = 1 / np.sqrt(a.exact)
    least = a.exact - a.error
    with np.errstate(invalid="ignore", divide="ignore"):
        off = 1 / np.sqrt(np.where(least > 0, least, np.nan)) - exact
    # Also nearly equal arguments: half the relative error, with its second order.
    error = np.where(np.isnan(off), np.inf, off)
    return Value(exact, error + (exact + error) * (RSQRT_ERROR + 4 * U64))


def total(a: Value, axis: int = -1) -> Value:
    """A sum over ``axis`` in any order: gamma of the terms that are not zero."""
    size = np.abs(a.exact) + a.error
    terms = (size > 0).sum(axis=axis, keepdims=True).astype(np.float64)
    whole = size.sum(axis=axis, keepdims=True)
    error = a.error.sum(axis=axis, keepdims=True) + gamma(terms) * whole
    own = 1.01 * a.exact.shape[axis] * U64 * whole
    return Value(a.exact.sum(axis=axis, keepdims=True), error + own)


def matmul(a: Value, b: Value) -> Value:
    """``a @ b``, inner products of rows with columns, in any order, with FMA or not.

    Each product rounds once more than it is summed (``gamma`` of one more than the terms).
    """
    k = a.exact.shape[-1]
    x, y = np.abs(a.exact), np.abs(b.exact)
    size = x + a.error, y + b.error
    exact = a.exact @ b.exact
    if size[0].all() and size[1].all():
        return Value(exact, _dense(a, b, size, float(gamma(np.asarray(float(k))))))
    left, right = (size[0] > 0).astype(np.float32), (size[1] > 0).astype(np.float32)
    terms = np.asarray(left @ right, np.float64)
    growth = gamma(np.minimum(terms + 1, float(k)))
    whole = size[0] @ size[1]
    inherited = _inherited(a, b, x, size[1])
    underflow = terms * TINY32 * (1 + growth)
    error = inherited + growth * whole + underflow + 1.01 * k * U64 * whole
    return Value(exact, np.where(terms > 0, error, 0.0))


_CHUNK: Final = 1 << 19
"""Elements of a weight matrix that are doubles at one time: they stay in a cache."""


def by_rows(a: Value, weights: Array) -> Value:
    """``a @ weights^T`` for weights [F,D] of any element type, some of their rows at a time."""
    step = max(1, _CHUNK // max(1, weights.shape[1]))
    parts = [matmul(a, given(weights[at : at + step].T)) for at in range(0, len(weights), step)]
    exact = np.concatenate([p.exact for p in parts], axis=1)
    return Value(exact, np.concatenate([p.error for p in parts], axis=1))


def _dense(a: Value, b: Value, size: tuple[F64, F64], growth: float) -> F64:
    """Every term counts, so that one product holds rounding and what is inherited from ``a``."""
    k = a.exact.shape[-1]
    own = growth + 1.01 * k * U64
    error = _product(a.error + own * size[0], size[1]) + k * TINY32 * (1 + growth)
    if b.error.any():
        error = error + np.abs(a.exact) @ b.error
    return np.asarray(error)


def _inherited(a: Value, b: Value, x: F64, y: F64) -> F64:
    found = np.zeros((*x.shape[:-1], y.shape[-1]))
    if a.error.any():
        found = found + a.error @ y
    return found + x @ b.error if b.error.any() else found


_MUCH: Final = 1 << 30
"""Multiplications beyond which a bound is worth half the time: it is then rounded upwards."""


def _product(x: F64, y: F64) -> F64:
    """``x @ y`` of numbers that are not negative, never too small."""
    k = x.shape[-1]
    if x.shape[0] * k * y.shape[-1] < _MUCH:
        return x @ y
    # Divided so that f32 neither overflows nor loses more than the last factor gives back.
    scales = float(x.max()) or 1.0, float(y.max()) or 1.0
    fast = (x / scales[0]).astype(np.float32) @ (y / scales[1]).astype(np.float32)
    lost = k * (4 * U32 + 2 * FLUSH)
    upwards = fast.astype(np.float64) * (1 + lost) + k * 2 * FLUSH
    return np.asarray(upwards * scales[0] * scales[1])


_SILU_SLOPE: Final = 1.1
"""The largest slope of ``a / (1 + exp(-a))`` is 1.0998, at a = 2.4."""


def silu(a: Value) -> Value:
    """``a / (1 + exp(-a))``; where exp overflows, zero is right within ``|a| 2^-126``.

    What is inherited from ``a`` is the smaller of two bounds: by the condition of the formula, and
    by its slope, which is nowhere above 1.1. The first says nothing where ``a`` is large.
    """
    e = np.exp(-a.exact)
    share = 1 / (1 + e)
    drift = np.expm1(np.minimum(a.error, 700.0))
    off = (drift + (1 + drift) * (EXP_ERROR + 4 * U64)) * (1 - share) + 5.1 * U32
    size = np.abs(a.exact) + a.error
    gone = np.where(a.exact - a.error < -86, size * FLUSH, 0.0) + TINY32
    exact = np.where(np.isneginf(a.exact), np.nan, a.exact * share)
    by_condition = share * (1 + drift) * (a.error + size * off)
    inherited = _SILU_SLOPE * a.error
    own = EXP_ERROR + 4 * U64 + 5.1 * U32
    by_slope = inherited + (np.abs(exact) + inherited) * own
    error = np.minimum(by_condition, by_slope) + gone
    return Value(exact, np.where((a.exact == 0) & (a.error == 0), 0.0, error))
