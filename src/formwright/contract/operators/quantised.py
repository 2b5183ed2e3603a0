"""Products with int8 weights and a scale for each of their rows or columns."""

from functools import partial
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
from formwright.contract.numbers import F64, FLT_MAX, TINY32, U64, Array, DType, gamma, to_double
from formwright.contract.operators import draws, products
from formwright.contract.operators.changes import FLOATS, first_half, zeros_behind
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)

WEIGHTS: Final[tuple[DType, ...]] = ("i8",)
SCALES: Final[tuple[DType, ...]] = ("f32", "bf16", "f16")


def _scales(name: str, rng: Generator, count: int) -> F64:
    """About 1/128, as quantisation makes them; powers of two where the result must be exact."""
    if name in products.EXACT:
        return np.exp2(-rng.integers(0, 8, count).astype(np.float64))
    scales = (0.5 + rng.random(count)) / 128
    if name == "zeros":
        scales[rng.random(count) < 0.3] = 0
    if name == "nonfinite":
        scales[int(rng.integers(0, count))] = np.nan
    return scales


def _gemv_inputs(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    types = contract.inputs[0].dtype, contract.inputs[1].dtype
    w, x = products.MAKERS[name](rng, values["N"], 1, values["K"], types)
    if name == "denormal":
        x = draws.denormal(rng, x.shape, types[1])
    return w, x[:, 0], _scales(name, rng, values["N"])


def _gemm_inputs(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    types = contract.inputs[0].dtype, contract.inputs[1].dtype
    a, b = products.MAKERS[name](rng, values["M"], values["N"], values["K"], types)
    return a, b, _scales(name, rng, values["N"])


def _scaled(a: Array, b: Array, scale: F64) -> Expected:
    """``(a @ b) * scale``, where the scale may be put on the sum, the terms or the weights."""
    with np.errstate(invalid="ignore", over="ignore"):
        plain = products.product(a, b)
        x = np.where(np.isfinite(a), to_double(a), 0.0)
        y = np.where(np.isfinite(b), to_double(b), 0.0)
        size = np.abs(x) @ np.abs(y)
        terms = products.meet(x != 0, y != 0).astype(np.float64)
        value = plain.value * scale
        factor = np.nan_to_num(np.abs(scale))
        growth = 1.01 * gamma(np.asarray(3.0)) + 4 * U64
        bound = factor * (plain.bound + growth * size) + (terms + 1) * TINY32 * (1 + factor)
        bound = bound + TINY32 * (np.abs(x).sum(axis=1, keepdims=True) + 1) * (terms > 0)
        bound = np.where(terms * factor > 0, bound, 0.0)
        free = plain.free | ((size * np.maximum(factor, 1) >= FLT_MAX) & np.isfinite(value))
    return Expected(value, bound, free)


def _gemv(_: Contract, arrays: Arrays) -> Expected:
    w, x, scale = arrays
    whole = _scaled(w, x[:, None], to_double(scale)[:, None])
    return Expected(whole.value[:, 0], whole.bound[:, 0], whole.free[:, 0])


def _gemm(_: Contract, arrays: Arrays) -> Expected:
    a, b, scale = arrays
    return _scaled(a, b, to_double(scale)[None, :])


def _kinds(make: object) -> tuple[Kind, ...]:
    found = []
    for name in products.MAKERS:
        clause = products.CLAUSE_OF.get(name, "tolerance")
        function = _gemv_inputs if make == "gemv" else _gemm_inputs
        exact = name in products.EXACT
        found.append(Kind(name, products.ASKS[name], clause, partial(function, name), exact))
    return tuple(found)


CLAUSES: Final = {
    **products.CLAUSES,
    "tolerance": "each cell within gamma of the terms it sums and its scale, against float64",
    "selection": "a single 1 copies a weight times its scale",
}


def _gemv_counts(values: Values) -> tuple[int, int]:
    points = values["N"] * values["K"]
    return 2 * points + values["N"], points


def _gemm_counts(values: Values) -> tuple[int, int]:
    points = values["M"] * values["N"] * values["K"]
    return 2 * points + values["M"] * values["N"], points


GEMV_INT8: Final = Operator(
    name="gemv_int8",
    title="product of an int8 matrix with a scale for each row and a vector",
    formula=("y[N] = sum(k < K) W[N,k] * x[k] * scale[N]",),
    extents=(Extent("N", 1, MAX_EXTENT), Extent("K", 0, MAX_TERMS)),
    operands=(
        Operand("W", ("N", "K"), "input", "i8"),
        Operand("x", ("K",), "input"),
        Operand("scale", ("N",), "input"),
        Operand("y", ("N",), "output"),
    ),
    dtypes={"W": WEIGHTS, "x": FLOATS, "scale": SCALES, "y": FLOATS},
    special=Special(empty="zeros"),
    clauses=CLAUSES,
    kind_list=_kinds("gemv"),
    reference=_gemv,
    symmetry_list=(
        Negate(((2, 0),), 0),
        Permute(((0, 0), (2, 0)), 0),
        Permute(((0, 1), (1, 0)), None),
    ),
    counts=_gemv_counts,
    relation_list=(
        first_half("N", ((0, 0), (2, 0)), 0),
        zeros_behind("K", ((0, 1), (1, 0))),
    ),
)

GEMM_INT8: Final = Operator(
    name="gemm_int8",
    title="product of a matrix and an int8 matrix with a scale for each column",
    formula=("C[M,N] = sum(k < K) A[M,k] * B[k,N] * scale[N]",),
    extents=(Extent("M", 1, MAX_EXTENT), Extent("N", 1, MAX_EXTENT), Extent("K", 0, MAX_TERMS)),
    operands=(
        Operand("A", ("M", "K"), "input"),
        Operand("B", ("K", "N"), "input", "i8"),
        Operand("scale", ("N",), "input"),
        Operand("C", ("M", "N"), "output"),
    ),
    dtypes={"A": FLOATS, "B": WEIGHTS, "scale": SCALES, "C": FLOATS},
    special=Special(empty="zeros"),
    clauses=CLAUSES,
    kind_list=_kinds("gemm"),
    reference=_gemm,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Negate(((2, 0),), 1),
        Permute(((0, 0),), 0),
        Permute(((1, 1), (2, 0)), 1),
        Permute(((0, 1), (1, 0)), None),
    ),
    counts=_gemm_counts,
    relation_list=(
        first_half("M", ((0, 0),), 0),
        first_half("N", ((1, 1), (2, 0)), 1),
        zeros_behind("K", ((0, 1), (1, 0))),
    ),
)
