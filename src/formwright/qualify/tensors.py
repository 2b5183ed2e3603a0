"""The operands of a contract as tensors of a session, and outputs compared by their bits."""

from collections.abc import Mapping, Sequence

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.numbers import Array, format_of
from formwright.measure.tensors import Tensor


def tensors_of(
    contract: Contract, extents: Mapping[str, int], strides: Sequence[int]
) -> tuple[Tensor, ...]:
    """Inputs in the order of the call, then the output, with these row strides in elements."""
    return tuple(
        Tensor(
            o.name,
            contract.shape(o, extents),
            output=o.role == "output",
            dtype=format_of(o.dtype).numpy.name,
            row_stride=stride,
        )
        for o, stride in zip(contract.operands, strides, strict=True)
    )


def bits(array: Array) -> Array:
    """The array as unsigned integers of its element's size."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same_bits(left: Array, right: Array) -> bool:
    """Are two arrays equal bit by bit? Unlike ``==`` it tells zeros and NaN apart."""
    return left.shape == right.shape and bool(np.array_equal(bits(left), bits(right)))
