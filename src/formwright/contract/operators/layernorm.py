"""LayerNorm: rows less their mean, divided by the root of their variance, weighted and shifted."""

from typing import Final

import numpy as np

from formwright.contract.contract import (
    MAX_EXTENT,
    MAX_TERMS,
    Contract,
    Extent,
    Operand,
    Special,
)
from formwright.contract.expected import Expected
from formwright.contract.numbers import FLT_MAX, TINY32, U32, Array, DType, gamma
from formwright.contract.operators import draws, rmsnorm, running
from formwright.contract.operators.changes import FLOATS, first_half
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)
from formwright.contract.operators.running import Value

EPSILON: Final = 1e-5


def _make(name: str, rows: rmsnorm.Rows) -> Kind:
    asks, clause = _ASKS[name]

    def make(contract: Contract, rng: Generator, values: Values) -> Arrays:
        t, h = values["T"], values["H"]
        x = rows(rng, t, h, contract.inputs[0].dtype)
        g, b = draws.normal(rng, (h,)), draws.normal(rng, (h,))
        if name in ("few", "shifted"):
            b = np.zeros_like(b)
        if name == "nonfinite":
            g[int(rng.integers(0, h))] = np.nan
            b[int(rng.integers(0, h))] = np.inf
        return x, g, b

    return Kind(name, asks, clause, make)


def _shifted(rng: Generator, t: int, h: int, dtype: DType) -> Array:
    """A mean far above the deviations: squares less the squared mean lose everything."""
    shift = 4096.0 if dtype == "f32" else 16.0
    return np.asarray(draws.normal(rng, (t, h)) + shift)


_ASKS: Final = {
    "normal": ("the tolerance on ordinary rows", "tolerance"),
    "uniform": ("a mean that is not zero", "tolerance"),
    "shifted": ("a mean far above the deviations", "deviations"),
    "equal": ("rows of one value give the shift", "epsilon"),
    "tiny": ("a variance below epsilon", "epsilon"),
    "large": ("squares near the largest number", "range"),
    "denormal": ("denormal inputs", "epsilon"),
    "few": ("two cells a row that are not zero", "sparse_terms"),
    "last": ("the last columns outweigh the others", "tolerance"),
    "nonfinite": ("NaN and infinities", "nonfinite"),
}

KINDS: Final = tuple(_make(name, rmsnorm.ROWS.get(name, _shifted)) for name in _ASKS)

CLAUSES: Final = {
    "tolerance": "each cell within the bound of its row's mean and variance, against float64",
    "deviations": "the variance is that of the deviations from the mean, however large it is",
    "epsilon": "1/100000 is added to the variance, not to the root",
    "range": "squares up to the largest f32 do not overflow",
    "sparse_terms": "rows of two terms within their own bound",
    "nonfinite": "NaN and infinities propagate as the formula does, and nowhere else",
}


def _reference(_: Contract, arrays: Arrays) -> Expected:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        x, g, b = (running.given(a) for a in arrays)
        count = float(x.exact.shape[1])
        whole = running.total(x)
        # Divided once, or term by term: each term has a rounding more then.
        spread = U32 * np.abs(x.exact).sum(axis=1, keepdims=True) / count
        mean = running.rounded(
            Value(whole.exact / count, whole.error / count + spread), roundings=2
        )
        away = running.subtract(x, mean)
        # The deviations sum to zero, so an error of the mean, the same in all, counts squared.
        own = running.rounded(Value(away.exact, np.zeros_like(away.exact)), small=False)
        own = Value(own.exact, own.error + 2 * U32 * mean.error)
        summed = running.total(running.multiply(own, own))
        # What is summed are squares of deviations from the mean as computed.
        across = 2 * mean.error * np.abs(away.exact).sum(axis=1, keepdims=True)
        shift = np.asarray(count * mean.error * mean.error)
        further = shift + gamma(np.asarray(count + 2)) * (across + shift)
        summed = Value(summed.exact, np.asarray(summed.error + further))
        variance = running.rounded(Value(summed.exact / count, summed.error / count), roundings=2)
        root = running.rsqrt(running.add(variance, running.constant(EPSILON)))
        value = running.add(running.multiply(running.multiply(away, root), g), b)
        sizes = np.abs(away.exact), np.abs(root.exact), np.abs(g.exact)
        small = TINY32 * 1.01 * (sizes[0] + sizes[1] + sizes[2])
        free = (summed.exact + summed.error >= FLT_MAX) | (sizes[0] * sizes[2] >= FLT_MAX)
        free = free | (np.abs(x.exact).sum(axis=1, keepdims=True) >= FLT_MAX)
        free = free | (np.abs(value.exact) >= FLT_MAX)
    sure = np.isfinite(x.exact).all(axis=1, keepdims=True)
    sure = sure & np.isfinite(g.exact) & np.isfinite(b.exact)
    bound = np.nan_to_num(value.error + small, posinf=np.inf)
    return Expected(value.exact, bound, free & sure)


def _counts(values: Values) -> tuple[int, int]:
    points = values["T"] * values["H"]
    return 7 * points, points


LAYERNORM: Final = Operator(
    name="layernorm",
    title="rows less their mean, divided by the root of their variance",
    formula=(
        "Y[T,H] = (X[T,H] - s[T] / index(H)) * rsqrt(v[T] / index(H) + 1/100000) * g[H] + b[H]",
        "s[T] = sum(h < H) X[T,h]",
        "v[T] = sum(h < H) (X[T,h] - s[T] / index(H)) * (X[T,h] - s[T] / index(H))",
    ),
    extents=(Extent("T", 1, MAX_EXTENT), Extent("H", 1, MAX_TERMS)),
    operands=(
        Operand("X", ("T", "H"), "input"),
        Operand("g", ("H",), "input"),
        Operand("b", ("H",), "input"),
        Operand("Y", ("T", "H"), "output"),
    ),
    dtypes=dict.fromkeys(("X", "g", "b", "Y"), FLOATS),
    special=Special(),
    clauses=CLAUSES,
    kind_list=KINDS,
    reference=_reference,
    symmetry_list=(
        Negate(((1, 0), (2, 0)), 1),
        Permute(((0, 0),), 0),
        Permute(((0, 1), (1, 0), (2, 0)), 1),
    ),
    counts=_counts,
    relation_list=(first_half("T", ((0, 0),), 0),),
)
