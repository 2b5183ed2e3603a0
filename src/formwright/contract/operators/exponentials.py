"""Softmax weights: ``exp(s - m) / z`` with the error that f32 may make, in any blocking.

The relative error of one numerator ``exp(s_j - m)`` is at most
``expm1(e_j + u (m - s_j) + (r_j + 1) ε + r_j u)``: ``e_j`` the error of the score, the
conditioning of the difference (also of a maximum that grows block by block: its steps add up
to ``m - s_j``), ``ε`` the allowance of exp, and ``r_j`` the number of scores that may be
larger, which is how often a running maximum can still rise above ``s_j`` and rescale its term.
The maximum itself cancels between numerator and sum, so its error does not count.

A contract may let the numerators be rounded to bf16, once (:func:`narrowing`). That changes a
numerator ``n = exp(-a)`` by a share of at most ``d = min(v, expm1(a))``, ``v`` the roundoff of
bf16: nearest is never further than 1 is. ``a`` is the distance from whatever maximum was found
so far, at most that from the last one, and rescaling keeps the share. So
``d_j = min(v, expm1(m - s_j))`` with the errors of both; the largest numerator is 1 and has no
rounding at all.
"""

from dataclasses import dataclass

import numpy as np

from formwright.contract.numbers import F64, TINY32, U32, U64, DType, Mask, format_of, gamma
from formwright.contract.operators.running import EXP_ERROR, FLUSH, Value

GONE = 104.0
"""``exp(-104) < 2^-150``: such a term is zero in f32."""


@dataclass(frozen=True, slots=True)
class Weights:
    """``exact`` weights that sum to 1 over the last axis; ``relative`` error of each numerator;
    ``whole`` that of their sum; ``flushed`` what may be lost of a numerator below the least
    normal number; ``terms`` how many may be other than zero."""

    exact: F64
    relative: F64
    whole: F64
    flushed: F64
    terms: F64
    total: F64
    away: F64
    """How far from 0 the exponent in f32 may be, whichever maximum has been found so far."""

    def normalised(self) -> F64:
        """Relative error of ``numerator / sum``; a division or a product with 1/z: 3 roundings."""
        low = np.where(self.whole < 1, 1 - self.whole, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            found = (1 + self.relative) * (1 + 3.1 * U32) / low - 1
        return np.where(np.isnan(found), np.inf, found)


def weights(scores: Value, keep: Mask | None = None) -> Weights:
    """Over the last axis of ``scores``; what ``keep`` leaves out has weight zero.

    For finite scores and minus infinity; other rows get NaN and no bound of use.
    """
    kept = (
        np.ones(scores.exact.shape, bool)
        if keep is None
        else np.broadcast_to(keep, scores.exact.shape)
    )
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        s = np.where(kept, scores.exact, -np.inf)
        e = np.where(np.isfinite(s), scores.error, 0.0)
        largest = s.max(axis=-1, keepdims=True)
        away = largest - s
        numerators = np.where(kept, np.exp(-away), 0.0)
        total = numerators.sum(axis=-1, keepdims=True)
        exact = numerators / total
        apart = np.where(np.isfinite(away), away, 0.0)
        worst = e.max(axis=-1, keepdims=True)
        rises = _rises(np.where(np.isfinite(s), s, -1e300), worst)
        steps = (rises + 1) * EXP_ERROR + rises * U32
        logs = e + 1.01 * U32 * (apart + e + worst) + steps + 8 * U64 * (1 + apart)
        relative = np.expm1(np.minimum(logs, 700.0))
        relative = np.where(numerators > 0, relative, 0.0)
        alive = kept & (away <= GONE + e + worst)
        terms = alive.sum(axis=-1, keepdims=True).astype(np.float64)
        whole = (exact * relative).sum(axis=-1, keepdims=True) + gamma(terms) * 1.01
        whole = whole + s.shape[-1] * U64
        small = kept & (numerators <= 2 * FLUSH * (1 + relative)) & (numerators > 0)
        flushed = np.where(small, np.minimum(numerators * (2 + relative), 2 * FLUSH), 0.0)
        # No score is above this in f32: the errors of scores that are far below do not count.
        ceiling = (s + e).max(axis=-1, keepdims=True)
        far = np.where(np.isfinite(away), ceiling - s + e + logs, 0.0)
    return Weights(exact, relative, whole, flushed + small * TINY32, terms, total, far)


def narrowing(found: Weights, dtype: DType) -> F64:
    """``d``: the share of each numerator that its rounding to ``dtype`` may change."""
    with np.errstate(over="ignore"):
        share = np.expm1(np.minimum(found.away, 1.0))
    return np.where(found.exact > 0, np.minimum(share, float(format_of(dtype).roundoff)), 0.0)


def narrow_underflow(found: Weights, dtype: DType) -> F64:
    """What else it may change of a numerator that is small: half the least denormal."""
    return np.where(found.flushed > 0, float(format_of(dtype).underflow), 0.0)


def _rises(s: F64, worst: F64) -> F64:
    """How many other scores of the row may be larger than each, errors considered."""
    size = s.shape[-1]
    lowest = s - 2 * worst
    # Thresholds stand behind the scores, so that a stable sort puts equal scores first.
    both = np.concatenate([s, lowest], axis=-1)
    order = np.argsort(both, axis=-1, kind="stable")
    below = np.cumsum(order < size, axis=-1)
    found = np.empty(both.shape)
    np.put_along_axis(found, order, below.astype(np.float64), axis=-1)
    # A score is above its own threshold, if there is any slack.
    return np.asarray(np.maximum(size - found[..., size:] - (worst > 0), 0.0))
