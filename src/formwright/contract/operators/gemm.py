"""GEMM: ``C = A @ B`` on row-major matrices whose rows may be padded."""

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
    Metamorphic,
    Negate,
    Operator,
    Permute,
    Values,
)


def _make(name: str, contract: Contract, rng: Generator, values: Values) -> Arrays:
    types = contract.inputs[0].dtype, contract.inputs[1].dtype
    return products.MAKERS[name](rng, values["M"], values["N"], values["K"], types)


def _kind(name: str) -> Kind:
    clause = products.CLAUSE_OF.get(name, "tolerance")
    exact = name in products.EXACT
    return Kind(name, products.ASKS[name], clause, partial(_make, name), exact)


def _reference(_: Contract, arrays: Arrays) -> Expected:
    return products.product(arrays[0], arrays[1])


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    x, y = (a.astype(np.float64) for a in arrays[:2])
    k = x.shape[1]
    if k < 2:
        return []
    left, right = products.halved(arrays[0]), products.halved(arrays[1])
    suspects = [
        ("the product without its last term", x[:, :-1] @ y[:-1]),
        ("the product without its first term", x[:, 1:] @ y[1:]),
        ("the product of A cut to 16 bits", left @ y),
        ("the product of B cut to 16 bits", x @ right),
        ("the product of inputs cut to 16 bits", left @ right),
    ]
    if x.shape[0] == k == y.shape[1]:
        suspects += [("A^T B", x.T @ y), ("A B^T", x @ y.T), ("(A B)^T", (x @ y).T)]
    if k > 8:
        # One cell tells where the sum stopped; the whole output must then agree.
        partial_sums = np.cumsum(x[0] * y[:, 0])
        stop = int(np.argmin(np.abs(partial_sums - output[0, 0]))) + 1
        suspects.append((f"the sum over k < {stop} alone", x[:, :stop] @ y[:stop]))
    return suspects


def _counts(values: Values) -> tuple[int, int]:
    points = values["M"] * values["N"] * values["K"]
    return 2 * points, points


def _transposed(
    contract: Contract, values: Values, arrays: Arrays, seed: int
) -> tuple[dict[str, int], Arrays] | None:
    a, b = arrays
    if contract.inputs[0].dtype != contract.inputs[1].dtype or contract.ahead:
        return None
    turned = tuple(np.ascontiguousarray(t.T) for t in (b, a))
    return {**values, "M": values["N"], "N": values["M"]}, turned


TRANSPOSED: Final = Metamorphic(
    "transpose",
    "the product of the transposed operands, exchanged, is the transposed product",
    _transposed,
    lambda first, second: (first.T, second),
)

GEMM: Final = Operator(
    name="gemm",
    title="product of two matrices",
    formula=("C[M,N] = sum(k < K) A[M,k] * B[k,N]",),
    extents=(Extent("M", 1, MAX_EXTENT), Extent("N", 1, MAX_EXTENT), Extent("K", 0, MAX_TERMS)),
    operands=(
        Operand("A", ("M", "K"), "input"),
        Operand("B", ("K", "N"), "input"),
        Operand("C", ("M", "N"), "output"),
    ),
    dtypes={"A": FLOATS, "B": FLOATS, "C": FLOATS},
    special=Special(empty="zeros"),
    clauses=products.CLAUSES,
    kind_list=tuple(_kind(name) for name in products.MAKERS),
    reference=_reference,
    symmetry_list=(
        Negate(((0, 0),), 0),
        Negate(((1, 1),), 1),
        Permute(((0, 0),), 0),
        Permute(((1, 1),), 1),
        Permute(((0, 1), (1, 0)), None),
    ),
    counts=_counts,
    relation_list=(
        doubled(0),
        first_half("M", ((0, 0),), 0),
        first_half("N", ((1, 1),), 1),
        zeros_behind("K", ((0, 1), (1, 0))),
        TRANSPOSED,
    ),
    suspects=_suspects,
)
