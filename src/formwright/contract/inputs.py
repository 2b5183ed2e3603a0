"""Inputs of any contract by kind and seed: each kind asks one question of a kernel."""

from collections.abc import Mapping, Sequence

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.numbers import Array
from formwright.contract.operators import operator
from formwright.contract.operators.family import Negate


def kinds(contract: Contract) -> tuple[str, ...]:
    """The kinds of inputs that have a meaning for this contract."""
    return operator(contract.operator).kinds(contract)


def exact(contract: Contract, kind: str) -> bool:
    """Is a wrong bit of this kind's output a fault, whatever the order of summation?"""
    return operator(contract.operator).exact(kind)


def clause_of(contract: Contract, kind: str) -> str:
    """The check that a kind of inputs is for."""
    return operator(contract.operator).clause_of(kind)


def clauses(contract: Contract) -> Mapping[str, str]:
    """The checks that judging the operator's outputs answers, and what each says."""
    return operator(contract.operator).clauses


def inputs(
    contract: Contract, kind: str, values: Mapping[str, int], seed: int
) -> tuple[Array, ...]:
    """In the order of the call, contiguous; equal arguments give equal arrays."""
    return operator(contract.operator).inputs(contract, kind, values, seed)


def slices(contract: Contract, arrays: Sequence[Array], picked: Array) -> tuple[Array, ...]:
    """The inputs of which slices ``picked`` of the output's first axis depend.

    For large outputs: the reference of some rows instead of all. Where the operator has no
    such symmetry the inputs come back whole, and ``picked`` must be all rows.
    """
    axes = sliced_axes(contract)
    if axes is None:
        return tuple(arrays)
    found = list(arrays)
    for number, axis in axes:
        found[number] = np.ascontiguousarray(np.take(found[number], picked, axis=axis))
    return tuple(found)


def sliced_axes(contract: Contract) -> tuple[tuple[int, int], ...] | None:
    """The axes of the inputs that run with the output's first axis; ``None`` if none do."""
    for symmetry in operator(contract.operator).symmetries(contract):
        if not isinstance(symmetry, Negate) and symmetry.output_axis == 0:
            return symmetry.inputs
    return None
