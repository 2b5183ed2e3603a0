"""GEMM with an epilogue: a bias, a residual, an activation of the product."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from formwright.contract.contract import Contract, Operand, Special
from formwright.contract.expected import Expected
from formwright.contract.numbers import F64, FLT_MAX, U32, U64, Array, gamma, to_double
from formwright.contract.operators import draws, products, running
from formwright.contract.operators.changes import FLOATS, first_half, zeros_behind
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Symmetry,
    Values,
)
from formwright.contract.operators.gemm import GEMM
from formwright.contract.operators.running import Value

Make = Callable[[str, Contract, Generator, Values], Arrays]

PRODUCT: Final = "p[M,N] = sum(k < K) A[M,k] * B[k,N]"

CLAUSES: Final = {
    **products.CLAUSES,
    "selection": "rows with a single 1 copy rows of the other operand into the epilogue",
    "empty_sum": "K = 0 gives the epilogue of zeros",
    "epilogue": "the epilogue is that of each cell's own product",
}


def _pair(name: str, contract: Contract, rng: Generator, values: Values) -> tuple[Array, Array]:
    types = contract.inputs[0].dtype, contract.inputs[1].dtype
    drawn = "normal" if name == "epilogue" else name
    return products.MAKERS[drawn](rng, values["M"], values["N"], values["K"], types)


def _added(
    extents: tuple[str, ...], name: str, contract: Contract, rng: Generator, values: Values
) -> Arrays:
    """With a third operand of ``extents``; of the kind ``epilogue`` it outweighs the product."""
    a, b = _pair(name, contract, rng, values)
    shape = tuple(values[e] for e in extents)
    dtype = contract.inputs[2].dtype
    third: Array = np.asarray(draws.normal(rng, shape), np.float64)
    if name == "integer":
        # One more term than the product has: every partial sum stays exact.
        limit = draws.whole_limit(values["K"] + 1, *(o.dtype for o in contract.inputs))
        a, b = draws.whole(rng, a.shape, limit), draws.whole(rng, b.shape, limit)
        third = draws.whole(rng, shape, limit)
    elif name == "select":
        third = np.zeros(shape)
    elif name == "epilogue":
        third = 1024 * third
    elif name == "denormal":
        third = draws.denormal(rng, shape, dtype)
    elif name == "nonfinite":
        third[tuple(int(rng.integers(0, s)) for s in shape)] = np.nan
    return a, b, third


def _plain(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    a, b = _pair(name, contract, rng, values)
    if name == "epilogue":
        a = a * (64 / max(1.0, np.sqrt(values["K"])))
    return a, b


def _kinds(make: Make, exact: frozenset[str] = products.EXACT) -> tuple[Kind, ...]:
    names = (*products.MAKERS, "epilogue")
    found = []
    for name in names:
        asks = products.ASKS.get(name, "an epilogue that outweighs or bends the product")
        clause = products.CLAUSE_OF.get(name, "epilogue" if name == "epilogue" else "tolerance")
        if name in products.EXACT - exact:
            clause = "tolerance"
        found.append(Kind(name, asks, clause, partial(make, name), name in exact))
    return tuple(found)


def _sum_with(arrays: Arrays, third: F64) -> Expected:
    """``A @ B + third``, where the sum may begin with the third operand or end with it."""
    with np.errstate(invalid="ignore", over="ignore"):
        plain = products.product(arrays[0], arrays[1])
        left, right = (np.isfinite(a) & (to_double(a) != 0) for a in arrays[:2])
        terms = products.meet(left, right).astype(np.float64)
        value = plain.value + third
        size = np.nan_to_num(np.abs(third), posinf=0.0)
        bound = plain.bound + gamma(terms + 1) * size + 4 * U64 * size
        bound = bound + U32 * np.nan_to_num(np.abs(plain.value), posinf=0.0) * (size > 0)
        free = plain.free | (np.isfinite(value) & (np.abs(value) + bound >= FLT_MAX))
    return Expected(value, bound, free)


def _bias(_: Contract, arrays: Arrays) -> Expected:
    return _sum_with(arrays, np.broadcast_to(to_double(arrays[2]), _shape(arrays)))


def _residual(_: Contract, arrays: Arrays) -> Expected:
    return _sum_with(arrays, to_double(arrays[2]))


def _shape(arrays: Arrays) -> tuple[int, int]:
    return arrays[0].shape[0], arrays[1].shape[1]


def _relu(_: Contract, arrays: Arrays) -> Expected:
    plain = products.product(arrays[0], arrays[1])
    with np.errstate(invalid="ignore"):
        value = np.where(np.isnan(plain.value), np.nan, np.maximum(plain.value, 0.0))
        # Where the product is below zero by more than its bound the result is zero exactly.
        bound = np.where(plain.value + plain.bound < 0, 0.0, plain.bound)
    return Expected(value, bound, plain.free)


def _silu(_: Contract, arrays: Arrays) -> Expected:
    plain = products.product(arrays[0], arrays[1])
    with np.errstate(invalid="ignore", over="ignore"):
        found = running.silu(Value(plain.value, plain.bound))
    return Expected(found.exact, np.nan_to_num(found.error, posinf=np.inf), plain.free)


def _counts(more: int, values: Values) -> tuple[int, int]:
    points = values["M"] * values["N"] * values["K"]
    return 2 * points + more * values["M"] * values["N"], points


_ROWS: Final[tuple[Symmetry, ...]] = (
    Permute(((0, 0),), 0),
    Permute(((1, 1),), 1),
    Permute(((0, 1), (1, 0)), None),
)


def _operator(
    name: str,
    title: str,
    line: str,
    third: tuple[str, tuple[str, ...]] | None,
    reference: Callable[[Contract, Arrays], Expected],
    more: int,
    symmetries: tuple[Symmetry, ...],
) -> Operator:
    operands = list(GEMM.operands)
    make: Make = _plain
    rows, columns = [(0, 0)], [(1, 1)]
    if third is not None:
        operands.insert(2, Operand(third[0], third[1], "input"))
        make = partial(_added, third[1])
        columns.append((2, len(third[1]) - 1))
        if third[1] == ("M", "N"):
            rows.append((2, 0))
    exact = products.EXACT if name != "gemm_silu" else frozenset[str]()
    return Operator(
        name=name,
        title=title,
        formula=(line, PRODUCT),
        extents=GEMM.extents,
        operands=tuple(operands),
        dtypes={o.name: FLOATS for o in operands},
        special=Special(empty="zeros"),
        clauses=CLAUSES,
        kind_list=_kinds(make, exact),
        reference=reference,
        symmetry_list=symmetries,
        counts=partial(_counts, more),
        relation_list=(
            first_half("M", tuple(rows), 0),
            first_half("N", tuple(columns), 1),
            zeros_behind("K", ((0, 1), (1, 0))),
        ),
    )


GEMM_BIAS: Final = _operator(
    "gemm_bias",
    "product of two matrices, with a bias for each column",
    "C[M,N] = p[M,N] + bias[N]",
    ("bias", ("N",)),
    _bias,
    1,
    (
        Negate(((1, 1), (2, 0)), 1),
        Permute(((0, 0),), 0),
        Permute(((1, 1), (2, 0)), 1),
        Permute(((0, 1), (1, 0)), None),
    ),
)

GEMM_RESIDUAL: Final = _operator(
    "gemm_residual",
    "product of two matrices, with a matrix added",
    "C[M,N] = p[M,N] + R[M,N]",
    ("R", ("M", "N")),
    _residual,
    1,
    (
        Negate(((0, 0), (2, 0)), 0),
        Negate(((1, 1), (2, 1)), 1),
        Permute(((0, 0), (2, 0)), 0),
        Permute(((1, 1), (2, 1)), 1),
        Permute(((0, 1), (1, 0)), None),
    ),
)

GEMM_RELU: Final = _operator(
    "gemm_relu",
    "product of two matrices, cut off below zero",
    "C[M,N] = max(p[M,N], 0)",
    None,
    _relu,
    1,
    _ROWS,
)

GEMM_SILU: Final = _operator(
    "gemm_silu",
    "product of two matrices, with SiLU",
    "C[M,N] = p[M,N] / (1 + exp(-p[M,N]))",
    None,
    _silu,
    4,
    _ROWS,
)
