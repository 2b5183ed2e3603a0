"""The reference of GEMM in float64, and the error that f32 may make against it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formwright.contract.contract import Contract

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

FLT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Expected:
    """What C[M,N] must be.

    ``value`` is float64 and holds NaN and infinities where the contract asks for them.
    ``bound`` is the allowed error of the finite cells. ``free`` marks cells whose sums may
    overflow f32: the contract says nothing about them.
    """

    value: F64
    bound: F64
    free: Mask


def reference(contract: Contract, a: F32, b: F32) -> F64:
    """``a @ b`` in float64; NaN and infinities as the contract's clause ``nonfinite`` says."""
    return expected(contract, a, b).value


def tolerance(contract: Contract, a: F32, b: F32) -> F64:
    """The allowed error of each component for finite inputs of shapes (M,K) and (K,N)."""
    return expected(contract, a, b).bound


def exactly(a: F32, b: F32) -> Expected:
    """As :func:`expected`, for finite inputs whose product f32 holds without any error."""
    value = a.astype(np.float64) @ b.astype(np.float64)
    return Expected(value, np.zeros_like(value), np.zeros(value.shape, bool))


def expected(contract: Contract, a: F32, b: F32) -> Expected:
    """Value and allowed error of each cell of ``a @ b``.

    The inputs never depend on the candidate, and neither does the bound.
    """
    finite = bool(np.isfinite(a).all() and np.isfinite(b).all())
    x = np.where(np.isfinite(a), a, 0).astype(np.float64)
    y = np.where(np.isfinite(b), b, 0).astype(np.float64)
    value = x @ y
    magnitude = np.abs(x) @ np.abs(y)
    bound = _bound(contract, x, y, magnitude)
    free = magnitude + bound >= FLT_MAX
    if not finite:
        value = np.where(free, value, _propagate(a, b, value))
    return Expected(value, bound, free & np.isfinite(value))


def gamma(terms: F64, roundoff: float) -> F64:
    """``n u / (1 - n u)`` for each count ``n``."""
    return terms * roundoff / (1 - terms * roundoff)


def _bound(contract: Contract, x: F64, y: F64, magnitude: F64) -> F64:
    # Products with a zero and additions of zero are exact, so a component with t terms
    # that are not zero has at most t roundings on any path, whatever K is. One more is
    # allowed, for a kernel that rounds once more when it stores.
    k = x.shape[1]
    dense = bool(x.all() and y.all())
    counts = np.full(magnitude.shape, k) if dense else _meet(x != 0, y != 0)
    terms = counts.astype(np.float64)
    growth = gamma(np.minimum(float(k), terms + 1), float(contract.tolerance.roundoff))
    underflow = terms * float(contract.tolerance.underflow) * (1 + growth)
    # Products of two f32 are exact in float64; only the reference's own sums round.
    own = 1.01 * k * 2.0**-53 * magnitude
    return np.where(terms > 0, growth * magnitude + underflow + own, 0.0)


def _propagate(a: F32, b: F32, finite: F64) -> F64:
    """IEEE sums that meet NaN or infinities: the same for every order of summation."""

    def meet(left: Mask, right: Mask) -> Mask:
        return np.asarray(_meet(left, right) > 0)

    inf_a, inf_b = np.isinf(a), np.isinf(b)
    rows = np.asarray(np.isnan(a).any(axis=1))[:, None]
    columns = np.asarray(np.isnan(b).any(axis=0))[None, :]
    nan = rows | columns | meet(inf_a, b == 0) | meet(a == 0, inf_b)
    up, down = a > 0, a < 0
    rise, fall = b > 0, b < 0
    plus = meet(up & inf_a, rise) | meet(down & inf_a, fall)
    plus |= meet(up, rise & inf_b) | meet(down, fall & inf_b)
    minus = meet(up & inf_a, fall) | meet(down & inf_a, rise)
    minus |= meet(up, fall & inf_b) | meet(down, rise & inf_b)
    value = np.where(plus, np.inf, np.where(minus, -np.inf, finite))
    return np.where(nan | (plus & minus), np.nan, value)


def _meet(left: Mask, right: Mask) -> F32:
    """For each component, how many k have both; counts below 2^24 are exact in f32."""
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32))
