"""Products of many pairs of matrices: ``C[b] = A[b] @ W[b]``."""

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
from formwright.contract.operators.changes import FLOATS, doubled, first_half, zeros_behind
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
    sizes = values["M"], values["N"], values["K"]
    pairs = [products.MAKERS[name](rng, *sizes, types) for _ in range(values["B"])]
    return np.stack([a for a, _ in pairs]), np.stack([w for _, w in pairs])


def _kind(name: str) -> Kind:
    clause = products.CLAUSE_OF.get(name, "tolerance")
    exact = name in products.EXACT
    return Kind(name, products.ASKS[name], clause, partial(_make, name), exact)


def _reference(_: Contract, arrays: Arrays) -> Expected:
    found = [products.product(a, w) for a, w in zip(*arrays, strict=True)]
    return Expected(
        np.stack([f.value for f in found]),
        np.stack([f.bound for f in found]),
        np.stack([f.free for f in found]),
    )


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    a, w = (t.astype(np.float64) for t in arrays)
    found = [("the products with the first matrix of the batch", a @ w[:1])]
    if a.shape[2] > 1:
        found.append(("the products without their last term", a[..., :-1] @ w[:, :-1]))
    return found


def _counts(values: Values) -> tuple[int, int]:
    points = values["B"] * values["M"] * values["N"] * values["K"]
    return 2 * points, points


GEMM_BATCHED: Final = Operator(
    name="gemm_batched",
    title="products of a batch of pairs of matrices",
    formula=("C[B,M,N] = sum(k < K) A[B,M,k] * W[B,k,N]",),
    extents=(
        Extent("B", 1, MAX_EXTENT),
        Extent("M", 1, MAX_EXTENT),
        Extent("N", 1, MAX_EXTENT),
        Extent("K", 0, MAX_TERMS),
    ),
    operands=(
        Operand("A", ("B", "M", "K"), "input"),
        Operand("W", ("B", "K", "N"), "input"),
        Operand("C", ("B", "M", "N"), "output"),
    ),
    dtypes=dict.fromkeys(("A", "W", "C"), FLOATS),
    special=Special(empty="zeros"),
    clauses=products.CLAUSES,
    kind_list=tuple(_kind(name) for name in products.MAKERS),
    reference=_reference,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Negate(((0, 1),), 1),
        Permute(((0, 0), (1, 0)), 0),
        Permute(((0, 1),), 1),
        Permute(((1, 2),), 2),
        Permute(((0, 2), (1, 1)), None),
    ),
    counts=_counts,
    relation_list=(
        doubled(0),
        first_half("B", ((0, 0), (1, 0)), 0),
        first_half("M", ((0, 1),), 1),
        zeros_behind("K", ((0, 2), (1, 1))),
    ),
    suspects=_suspects,
)
