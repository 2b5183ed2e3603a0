"""GEMV: ``y = W x``, the weights a matrix, row by row."""

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
from formwright.contract.numbers import F64, Array
from formwright.contract.operators import products
from formwright.contract.operators.changes import (
    FLOATS,
    doubled,
    first_half,
    zeros_behind,
)
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)


def _make(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    types = contract.inputs[0].dtype, contract.inputs[1].dtype
    left, right = products.MAKERS[name](rng, values["N"], 1, values["K"], types)
    return left, right[:, 0]


def _kind(name: str) -> Kind:
    clause = products.CLAUSE_OF.get(name, "tolerance")
    exact = name in products.EXACT
    return Kind(name, products.ASKS[name], clause, partial(_make, name), exact)


def _reference(_: Contract, arrays: Arrays) -> Expected:
    whole = products.product(arrays[0], arrays[1][:, None])
    return Expected(whole.value[:, 0], whole.bound[:, 0], whole.free[:, 0])


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    w, x = (a.astype(np.float64) for a in arrays[:2])
    if x.size < 2:
        return []
    return [
        ("the product without its last term", w[:, :-1] @ x[:-1]),
        ("the product without its first term", w[:, 1:] @ x[1:]),
        ("the product of W cut to 16 bits", products.halved(arrays[0]) @ x),
        ("the product of x cut to 16 bits", w @ products.halved(arrays[1])),
    ]


def _counts(values: Values) -> tuple[int, int]:
    points = values["N"] * values["K"]
    return 2 * points, points


GEMV: Final = Operator(
    name="gemv",
    title="product of a matrix and a vector",
    formula=("y[N] = sum(k < K) W[N,k] * x[k]",),
    extents=(Extent("N", 1, MAX_EXTENT), Extent("K", 0, MAX_TERMS)),
    operands=(
        Operand("W", ("N", "K"), "input"),
        Operand("x", ("K",), "input"),
        Operand("y", ("N",), "output"),
    ),
    dtypes={"W": FLOATS, "x": FLOATS, "y": FLOATS},
    special=Special(empty="zeros"),
    clauses=products.CLAUSES,
    # The vector is one column: columns of two terms are the vector's own.
    kind_list=tuple(_kind(name) for name in products.MAKERS),
    reference=_reference,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Permute(((0, 0),), 0),
        Permute(((0, 1), (1, 0)), None),
    ),
    counts=_counts,
    relation_list=(
        doubled(1),
        first_half("N", ((0, 0),), 0),
        zeros_behind("K", ((0, 1), (1, 0))),
    ),
    suspects=_suspects,
)
