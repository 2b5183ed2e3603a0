"""Metamorphic relations that several families declare, as data."""

from collections.abc import Callable
from typing import Final

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.numbers import F64, Array, DType
from formwright.contract.operators.family import Arrays, Axis, Metamorphic, Values

FLOATS: Final[tuple[DType, ...]] = ("f32", "bf16", "f16")
"""The element types that most operands may have."""

Changed = tuple[dict[str, int], Arrays] | None


def _with(arrays: Arrays, axes: tuple[Axis, ...], change: Callable[[Array, int], Array]) -> Arrays:
    found = list(arrays)
    for number, axis in axes:
        found[number] = np.ascontiguousarray(change(found[number], axis))
    return tuple(found)


def doubled(*inputs: int) -> Metamorphic:
    """These inputs times 2 give the output times 2 (or 2 to their number): no bit is rounded."""
    factor = 2.0 ** len(inputs)

    def change(_: Contract, values: Values, arrays: Arrays, seed: int) -> Changed:
        found = list(arrays)
        for number in inputs:
            with np.errstate(over="ignore", invalid="ignore"):
                twice = found[number] * found[number].dtype.type(2)
            if not np.array_equal(np.isfinite(twice), np.isfinite(found[number])):
                return None
            found[number] = twice
        return dict(values), tuple(found)

    def pair(first: F64, second: F64) -> tuple[F64, F64]:
        return first * factor, second

    return Metamorphic("scale", f"inputs times 2 give the output times {factor:g}", change, pair)


def first_half(extent: str, axes: tuple[Axis, ...], output_axis: int) -> Metamorphic:
    """The first half of the slices alone gives the first half of the output."""

    def change(_: Contract, values: Values, arrays: Arrays, seed: int) -> Changed:
        half = (values[extent] + 1) // 2
        if half == values[extent]:
            return None
        cut = _with(arrays, axes, lambda a, axis: np.take(a, np.arange(half), axis=axis))
        return {**values, extent: half}, cut

    def pair(first: F64, second: F64) -> tuple[F64, F64]:
        kept = np.arange(second.shape[output_axis])
        return np.take(first, kept, axis=output_axis), second

    says = f"half of {extent} gives half of the output"
    return Metamorphic(f"split {extent}", says, change, pair)


def added(
    name: str,
    says: str,
    extent: str,
    axes: tuple[Axis, ...],
    fill: Callable[[Array, int], Array],
    output_axis: int | None,
    count: int = 3,
) -> Metamorphic:
    """``count`` more slices that leave the others' outputs as they are.

    ``fill`` makes the slices for an input and an axis; with an ``output_axis`` the output has
    more slices too, which are not compared.
    """

    def change(contract: Contract, values: Values, arrays: Arrays, seed: int) -> Changed:
        def longer(array: Array, axis: int) -> Array:
            shape = list(array.shape)
            shape[axis] = count
            more = fill(np.zeros(shape, np.float64), seed).astype(array.dtype)
            return np.concatenate([array, more], axis=axis)

        return {**values, extent: values[extent] + count}, _with(arrays, axes, longer)

    def pair(first: F64, second: F64) -> tuple[F64, F64]:
        if output_axis is None:
            return first, second
        return first, np.take(second, np.arange(first.shape[output_axis]), axis=output_axis)

    return Metamorphic(name, says, change, pair)


def zeros_behind(extent: str, axes: tuple[Axis, ...]) -> Metamorphic:
    """More terms that are zero give the same sums."""
    says = f"zeros behind {extent} change nothing"
    return added(f"pad {extent}", says, extent, axes, lambda zeros, _: zeros, None)


def anything_behind(extent: str, axes: tuple[Axis, ...], output_axis: int) -> Metamorphic:
    """More slices that the first ones may not see, NaN among them."""

    def fill(zeros: Array, seed: int) -> Array:
        drawn = np.random.default_rng([seed, 5]).standard_normal(zeros.shape)
        drawn[..., 0] = np.nan
        return drawn

    says = f"what stands behind {extent} is not seen, NaN included"
    return added(f"extend {extent}", says, extent, axes, fill, output_axis)
