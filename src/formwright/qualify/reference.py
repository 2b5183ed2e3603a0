"""The end of every fallback chain: the operator computed by NumPy, in this process."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.inputs import kinds
from formwright.contract.numbers import Array, format_of
from formwright.contract.reference import expected
from formwright.qualify.operands import extents_of, overlaps

LIBRARY: Final[Mapping[str, Callable[..., Any]]] = {"gemm": np.matmul}
"""Operators that NumPy has as a function of its own, on arrays of any type and layout."""


def by_reference(contract: Contract, inputs: tuple[Array, ...], out: Array | None) -> Array:
    """The result in NumPy, into ``out`` if there is one, whatever they share.

    Where NumPy has no such function it is the reference of the contract in float64, rounded
    once to the output's element type.
    """
    function = LIBRARY.get(contract.operator)
    if function is not None:
        result = np.asarray(function(*inputs))
    else:
        values = extents_of(contract, inputs, out)
        shape = contract.shape(contract.output, values)
        form = format_of(contract.output.dtype).numpy
        if 0 in shape:
            result = np.zeros(shape, form)
        else:
            want = expected(contract, kinds(contract)[0], inputs)
            with np.errstate(over="ignore", invalid="ignore"):
                result = want.value.astype(form)
    if out is None:
        return result
    if any(overlaps(array, out) for array in inputs):
        result = result.copy()
    out[...] = result
    return out
