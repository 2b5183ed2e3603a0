"""Attention of grouped queries: for one query (decode) and for a prompt (prefill, causal).

``H`` key heads, ``G`` queries a head, ``S`` keys, ``D`` the size of a head. The reference
works head by head; its bound composes that of the scores' inner products with the one of
their exponentials (:mod:`formwright.contract.operators.exponentials`).
"""

from typing import Final

import numpy as np

from formwright.contract.contract import (
    MAX_EXTENT,
    MAX_TERMS,
    Contract,
    Extent,
    Operand,
    Special,
    Stages,
)
from formwright.contract.expected import Expected
from formwright.contract.numbers import (
    F64,
    FLT_MAX,
    TINY32,
    U32,
    U64,
    Array,
    Mask,
    format_of,
    gamma,
    to_double,
)
from formwright.contract.operators import attention_kinds
from formwright.contract.operators.changes import FLOATS, anything_behind, doubled, first_half
from formwright.contract.operators.exponentials import (
    Weights,
    narrow_underflow,
    narrowing,
    weights,
)
from formwright.contract.operators.family import (
    Arrays,
    Negate,
    Operator,
    Permute,
    Values,
)
from formwright.contract.operators.running import RSQRT_ERROR, Value

SMALL: Final = 1 << 19
"""Scores up to which all heads are worked out at one time."""


def scores_of(q: F64, k: F64) -> tuple[Value, Mask]:
    """``q k^T / sqrt(D)`` with the error of f32, scaled before the sums or after them.

    The mask tells rows of which a sum may overflow.
    """
    across = np.swapaxes(k, -1, -2)
    size = np.abs(q) @ np.abs(across)
    count = float(q.shape[-1])
    scale = 1 / np.sqrt(count)
    terms = np.asarray(count)
    if not (q.all() and k.all()):
        met = (q != 0).astype(np.float32) @ (across != 0).astype(np.float32)
        terms = np.asarray(met, np.float64)
    growth = gamma(np.minimum(terms + 1, count)) + 1.01 * count * U64
    # Scaled after the sums: one product more. Scaled before: each term has one rounding more,
    # and may be denormal.
    error = (1 + RSQRT_ERROR) * scale * ((growth + 2.1 * U32 + RSQRT_ERROR) * size)
    error = error + TINY32 * (np.abs(across).sum(axis=-2, keepdims=True) + 2 * terms + 2)
    found = Value((q @ across) * scale, np.where(size > 0, error, 0.0))
    return found, np.asarray((size >= FLT_MAX).any(axis=-1, keepdims=True))


def attend(q: F64, k: F64, v: F64, keep: Mask, stages: Stages = "f32") -> Expected:
    """Heads: ``q`` [...,R,D], ``k`` and ``v`` [...,S,D]; ``keep`` [R,S]: the keys a row sees.

    ``stages``: the type that a numerator may be rounded to where it meets its value.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        scores, over = scores_of(q, k)
        over = over & np.isfinite(np.where(keep, scores.exact, 0)).all(axis=-1, keepdims=True)
        found = weights(scores, keep)
        good = bool(np.isfinite(v).all())
        plain = v if good else np.where(np.isfinite(v), v, 0.0)
        exact = np.nan_to_num(found.exact)
        value = exact @ plain
        size, bound = _bound(found, plain, value, stages)
        free = ((found.total * exact) @ np.abs(plain) >= FLT_MAX * (1 - _roundoff(stages))) | over
        free = np.broadcast_to(free, value.shape) | (size + bound >= FLT_MAX)
        if not good:
            value, unsure = _propagate(found, keep, v, value)
            free = free | unsure
        seen = np.where(keep, scores.exact, -np.inf)
        lost = ~(seen < np.inf)
        lost_rows = lost.any(axis=-1, keepdims=True) | (seen == -np.inf).all(axis=-1, keepdims=True)
        value = np.where(lost_rows, np.nan, value)
    return Expected(value, np.nan_to_num(bound, posinf=np.inf), free & np.isfinite(value))


def _roundoff(stages: Stages) -> float:
    """Of a numerator; in f32 it is part of its own error."""
    return 0.0 if stages == "f32" else float(format_of(stages).roundoff)


def _bound(found: Weights, v: F64, value: F64, stages: Stages) -> tuple[F64, F64]:
    u = _roundoff(stages)
    # The shares of a sum of rounded numerators may be larger by as much.
    larger = (1 + u) / (1 - u)
    whole = found.whole * larger
    low = np.where(whole < 1, 1 - whole, np.nan)
    grown = (1 + found.relative) * (1 + gamma(found.terms + 1)) * (1 + 3.1 * U32) / low - 1
    grown = np.where(np.isnan(grown), np.inf, grown)
    share = np.where(found.exact > 0, found.exact * grown, 0.0)
    # A convex combination of the values cannot be further off than they reach.
    reach = np.abs(v).max(axis=-2, keepdims=True)
    size = np.abs(value)
    far = np.isinf(share).any(axis=-1, keepdims=True)
    off = larger * (np.where(np.isfinite(share), share, 0.0) @ np.abs(v))
    flushed = found.flushed
    if stages != "f32":
        moved = narrowing(found, stages)
        off = off + _rounding(np.where(moved > 0, found.exact * moved, 0.0), grown, v, value)
        flushed = flushed + narrow_underflow(found, stages)
    off = np.where(far, np.inf, off)
    off = np.minimum(off, size + (1.01 + 2 * u) * reach)
    return size, off + flushed @ np.abs(v) + 2 * found.terms * TINY32 * (reach > 0)


def _rounding(moved: F64, grown: F64, v: F64, value: F64) -> F64:
    """What rounding the numerators adds; ``moved`` [...,R,S] is how much of a weight it changes.

    Divided by a sum of numerators that were not rounded: ``sum(moved * |v|)``, grown as the
    weights are. By a sum of the rounded ones: the output ``O`` moves by
    ``sum(p δ (v - O)) / (1 + sum(p δ))``, with ``W = sum(moved)`` at most
    ``sum(moved |v - O|) / (1 - W)``. That sum is at most ``sum(moved |v|) + W |O|``, and
    ``sqrt(W sum(moved (v - O)^2))`` (Cauchy and Schwarz). The larger of both divisions counts.
    """
    grown = np.where(np.isfinite(grown), grown, 0.0)
    alone = (moved * (1 + grown)) @ np.abs(v)
    part = moved.sum(axis=-1, keepdims=True)
    squares, lines = moved @ (v * v), moved @ v
    around = squares - 2 * value * lines + part * value * value
    slack = 8 * v.shape[-2] * U64 * (squares + part * value * value)
    both = np.sqrt(part * (np.maximum(around, 0.0) + slack))
    both = np.minimum(both, alone + part * np.abs(value))
    return np.asarray(np.maximum(alone, both / (1 - part)))


def _propagate(found: Weights, keep: Mask, v: F64, value: F64) -> tuple[F64, Mask]:
    """NaN and infinities among the values, as far as the mask lets them be seen."""
    seen = keep.astype(np.float64)
    sure = (keep & (found.exact > 0)).astype(np.float64)
    maybe = (found.flushed > 0).astype(np.float64)
    nan = seen @ np.isnan(v) > 0
    gone = (seen - sure) @ np.isinf(v) > 0
    plus, minus = sure @ np.isposinf(v) > 0, sure @ np.isneginf(v) > 0
    value = np.where(plus, np.inf, np.where(minus, -np.inf, value))
    value = np.where(nan | gone | (plus & minus), np.nan, value)
    # A weight that f32 may keep or flush: infinity or NaN, and nothing is said.
    return value, maybe @ np.isinf(v) > 0


def _decode(contract: Contract, arrays: Arrays) -> Expected:
    q, k, v = (to_double(a) for a in arrays)
    keep = np.ones((q.shape[1], k.shape[1]), bool)
    if q.shape[0] * keep.size <= SMALL:
        return attend(q, k, v, keep, contract.stages)
    heads = (attend(q[h], k[h], v[h], keep, contract.stages) for h in range(len(q)))
    return _joined(list(heads), q.shape)


def _prefill(contract: Contract, arrays: Arrays) -> Expected:
    q, k, v = (to_double(a) for a in arrays)
    keep = np.tri(q.shape[2], dtype=bool)
    if q.shape[0] * q.shape[1] * keep.size <= SMALL:
        return attend(q, k[:, None], v[:, None], keep, contract.stages)
    heads = np.ndindex(q.shape[:2])
    parts = (attend(q[h, g], k[h], v[h], keep, contract.stages) for h, g in heads)
    return _joined(list(parts), q.shape)


def _joined(parts: list[Expected], shape: tuple[int, ...]) -> Expected:
    return Expected(
        np.concatenate([p.value for p in parts]).reshape(shape),
        np.concatenate([p.bound for p in parts]).reshape(shape),
        np.concatenate([p.free for p in parts]).reshape(shape),
    )


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    q, k, v = (to_double(a) for a in arrays)
    causal = q.ndim == 4
    rows = q if causal else q[:, :, None, :]
    s = np.einsum("hgtd,hsd->hgts", rows, k) / np.sqrt(q.shape[-1])
    masked = np.where(np.tri(s.shape[2], s.shape[3], dtype=bool), s, -np.inf) if causal else s

    def mixed(scores: F64) -> F64:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        return np.asarray(np.einsum("hgts,hsd->hgtd", p, v).reshape(q.shape))

    found = [("attention without 1/sqrt(D)", mixed(masked * np.sqrt(q.shape[-1])))]
    if causal:
        found.append(("attention without the causal mask", mixed(s)))
    elif s.shape[3] > 1:
        short = s.copy()
        short[..., -1] = -np.inf
        found.append(("attention without the last key", mixed(short)))
    return found


def _decode_counts(values: Values) -> tuple[int, int]:
    pairs = values["H"] * values["G"] * values["S"]
    return pairs * (4 * values["D"] + 4), pairs * values["D"]


def _prefill_counts(values: Values) -> tuple[int, int]:
    pairs = values["H"] * values["G"] * values["T"] * (values["T"] + 1) // 2
    return pairs * (4 * values["D"] + 4), pairs * values["D"]


CLAUSES: Final = {
    "tolerance": "each cell within the bound of its scores and exponentials, against float64",
    "shift": "scores of any magnitude: no exponential overflows, no row vanishes",
    "equal_scores": "equal scores give the mean of the values",
    "selection": "a key that outweighs all others copies its value",
    "sparse_terms": "three keys in sight within the bound of three terms: full precision",
    "rescaled": "sums are right when the maximum is found late",
    "denormals": "denormal values are kept",
    "nonfinite": "NaN and infinities propagate as the formula does, and nowhere else",
    "masked": "keys and values behind the query are not seen, NaN included",
}

DECODE: Final = Operator(
    name="decode_attention",
    title="attention of one query to its history, heads grouped",
    formula=(
        "O[H,G,D] = sum(j < S) exp(s[H,G,j] - m[H,G]) * vc[H,j,D] / z[H,G]",
        "s[H,G,S] = sum(d < D) q[H,G,d] * kc[H,S,d] * rsqrt(index(D))",
        "m[H,G] = max(j < S) s[H,G,j]",
        "z[H,G] = sum(j < S) exp(s[H,G,j] - m[H,G])",
    ),
    extents=(
        Extent("H", 1, MAX_EXTENT),
        Extent("G", 1, MAX_EXTENT),
        Extent("S", 1, MAX_TERMS),
        Extent("D", 1, MAX_TERMS),
    ),
    operands=(
        Operand("q", ("H", "G", "D"), "input"),
        Operand("kc", ("H", "S", "D"), "input"),
        Operand("vc", ("H", "S", "D"), "input"),
        Operand("O", ("H", "G", "D"), "output"),
    ),
    dtypes=dict.fromkeys(("q", "kc", "vc", "O"), FLOATS),
    special=Special(masked_row="nan"),
    clauses={n: says for n, says in CLAUSES.items() if n != "masked"},
    kind_list=attention_kinds.DECODE,
    reference=_decode,
    symmetry_list=(
        Negate(((2, 2),), 2),
        Permute(((0, 0), (1, 0), (2, 0)), 0),
        Permute(((0, 1),), 1),
        Permute(((2, 2),), 2),
        Permute(((1, 1), (2, 1)), None),
        Permute(((0, 2), (1, 2)), None),
    ),
    counts=_decode_counts,
    relation_list=(
        doubled(2),
        first_half("H", ((0, 0), (1, 0), (2, 0)), 0),
        first_half("G", ((0, 1),), 1),
    ),
    suspects=_suspects,
    narrow_stages=True,
)

PREFILL: Final = Operator(
    name="prefill_attention",
    title="causal attention of a prompt to itself, heads grouped",
    formula=(
        "O[H,G,T,D] = sum(j < T) "
        "select(j <= t, exp(s[H,G,T,j] - m[H,G,T]) * v[H,j,D] / z[H,G,T], 0)",
        "s[H,G,T,u < T] = sum(d < D) q[H,G,T,d] * k[H,u,d] * rsqrt(index(D))",
        "m[H,G,T] = max(j < T) select(j <= t, s[H,G,T,j], s[H,G,T,0])",
        "z[H,G,T] = sum(j < T) select(j <= t, exp(s[H,G,T,j] - m[H,G,T]), 0)",
    ),
    extents=(
        Extent("H", 1, MAX_EXTENT),
        Extent("G", 1, MAX_EXTENT),
        Extent("T", 1, MAX_TERMS),
        Extent("D", 1, MAX_TERMS),
    ),
    operands=(
        Operand("q", ("H", "G", "T", "D"), "input"),
        Operand("k", ("H", "T", "D"), "input"),
        Operand("v", ("H", "T", "D"), "input"),
        Operand("O", ("H", "G", "T", "D"), "output"),
    ),
    dtypes=dict.fromkeys(("q", "k", "v", "O"), FLOATS),
    special=Special(masked_row="nan", masked="ignored"),
    clauses=CLAUSES,
    kind_list=attention_kinds.PREFILL,
    reference=_prefill,
    symmetry_list=(
        Negate(((2, 2),), 3),
        Permute(((0, 0), (1, 0), (2, 0)), 0),
        Permute(((0, 1),), 1),
        Permute(((2, 2),), 3),
        Permute(((0, 3), (1, 2)), None),
    ),
    counts=_prefill_counts,
    relation_list=(
        doubled(2),
        first_half("H", ((0, 0), (1, 0), (2, 0)), 0),
        first_half("T", ((0, 2), (1, 1), (2, 1)), 2),
        anything_behind("T", ((0, 2), (1, 1), (2, 1)), 2),
    ),
    suspects=_suspects,
    narrow_stages=True,
)
