"""Are arrays operands of a contract, and does the domain have them as they lie in memory?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from formwright.contract.contract import Contract, Operand
from formwright.contract.numbers import Array, format_of


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call is outside the domain: ``kind`` is warned about once, ``text`` says it."""

    kind: str
    text: str


def extents_of(
    contract: Contract, inputs: Sequence[Array], out: Array | None = None
) -> dict[str, int]:
    """The extents that these arrays have. Raises ``ValueError`` when they do not agree."""
    values: dict[str, tuple[int, str]] = {}
    for operand, array in zip(contract.inputs, inputs, strict=True):
        if array.ndim != len(operand.extents):
            shape = ", ".join(operand.extents)
            raise ValueError(
                f"{operand.name} has {array.ndim} dimensions, it takes {len(operand.extents)}:"
                f" {operand.name}[{shape}]"
            )
        for name, size in zip(operand.extents, array.shape, strict=True):
            known, where = values.setdefault(name, (size, operand.name))
            if known != size:
                raise ValueError(f"{name} is {known} in {where} and {size} in {operand.name}")
    found = {name: values[name][0] for name in contract.names}
    result = contract.shape(contract.output, found)
    if out is not None and out.shape != result:
        raise ValueError(f"out has shape {out.shape}, the result {result}")
    return found


def layout_reason(operand: Operand, array: Array) -> Reason | None:
    """Why this array is outside the domain of the operand: type, alignment or strides."""
    name = operand.name
    wanted = format_of(operand.dtype).numpy
    if array.dtype != wanted or not array.dtype.isnative:
        return Reason("dtype", f"{name} holds {array.dtype}, not {wanted}")
    if array.size == 0:
        return None
    size = array.dtype.itemsize
    if array.ctypes.data % size:
        return Reason("alignment", f"{name} is not aligned to {size} bytes")
    if array.shape[-1] > 1 and array.strides[-1] != size:
        return Reason("layout", f"the rows of {name} are not contiguous")
    stride = _byte_stride(array)
    if stride is None:
        return Reason("layout", f"the rows of {name} are not one stride apart")
    if _rows(array) > 1 and (stride % size or stride < size * array.shape[-1]):
        return Reason("layout", f"the rows of {name} overlap or run backwards")
    return None


def row_stride(array: Array) -> int:
    """In elements; a tensor of one row, or an empty one, has no stride that means anything."""
    if _rows(array) <= 1 or array.size == 0:
        return max(1, int(array.shape[-1]))
    return (_byte_stride(array) or 0) // array.dtype.itemsize


def overlaps(array: Array, out: Array) -> bool:
    """May the two share a byte? Exact for column ranges of one base, else by their bounds."""
    if not np.may_share_memory(array, out):
        return False
    stride, other = _byte_stride(out), _byte_stride(array)
    if stride is None or stride != other or stride <= 0 or min(_rows(out), _rows(array)) < 2:
        return True
    size, its = out.dtype.itemsize, array.dtype.itemsize
    apart = (int(out.ctypes.data) - int(array.ctypes.data)) % stride
    return bool(apart < its * array.shape[-1] or apart + size * out.shape[-1] > stride)


def check_numbers(contract: Contract, inputs: Sequence[Array], out: Array | None) -> None:
    """Raise ``ValueError`` for what a result could not be computed from, or not be kept in.

    Whatever computes a call: NumPy would drop imaginary parts, round to integers, and leave in
    an output whose cells share memory what was written last.
    """
    for operand, array in zip(contract.inputs, inputs, strict=True):
        if not np.can_cast(array.dtype, np.float64, "same_kind"):
            raise ValueError(f"{operand.name} holds {array.dtype}, which are no real numbers")
    if out is None:
        return
    name = contract.output.name
    whole = all(array.dtype.kind in "biu" for array in inputs)
    takes = np.can_cast(np.float64, out.dtype, "same_kind")
    if not whole and not (takes and np.can_cast(out.dtype, np.float64, "same_kind")):
        raise ValueError(f"out holds {out.dtype}, {name} is {contract.output.dtype}")
    if _overlaps_itself(out):
        raise ValueError("cells of out share memory with each other")


def _overlaps_itself(array: Array) -> bool:
    """May two elements share a byte? Each stride must step over all that the smaller ones reach."""
    reach = array.dtype.itemsize
    steps = sorted((abs(t), n) for t, n in zip(array.strides, array.shape, strict=True) if n > 1)
    for stride, size in steps if array.size else ():
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def _rows(array: Array) -> int:
    return prod(array.shape[:-1])


def _byte_stride(array: Array) -> int | None:
    """Bytes from one row to the next, all leading dimensions flat; ``None`` if they are not."""
    found: int | None = None
    between = 1
    for size, stride in zip(array.shape[-2::-1], array.strides[-2::-1], strict=True):
        if size > 1:
            if found is None:
                # A dimension of one element says nothing; the first that has more does.
                found = stride // between if stride % between == 0 else None
            if found is None or stride != found * between:
                return None
        between *= size
    return 0 if found is None else found
