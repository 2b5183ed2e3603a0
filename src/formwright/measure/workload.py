"""Inputs that change in place between batches, with an effect on the output that is known exactly.

A kernel that answers from memory is caught because its inputs change between batches; computing a
reference anew each time would cost more than the batches. The contract's symmetries are exact:
with a row of A negated the product's row is negated, with rows permuted the product's rows are,
and every tolerance goes where its cell goes. Few slices change at a time, enough to notice.

Inputs that are packed ahead change before the packing; the others then change to those of another
case, whose reference was worked out with the same packed inputs.

Where a reference of every cell would take minutes, cells whose tolerance is infinite only have to
be numbers: a permutation of the rows hides which those are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from formwright.contract.operators.family import Negate, Permute, Symmetry
from formwright.measure.tensors import Array, Case, Tensor, widened

Signs = npt.NDArray[np.float32]
Order = npt.NDArray[np.intp]
Generator = np.random.Generator

CHANGED_BYTES = 1 << 20
"""About how much of a slot's inputs a change touches at most, beyond one or two slices."""
_SIGN = {1: 0x80, 2: 0x8000, 4: 0x80000000, 8: 1 << 63}


@dataclass(frozen=True, slots=True)
class Axis:
    """What became of an axis of the output: cell i is ``signs[i]`` times that of ``order[i]``."""

    axis: int
    signs: Signs
    order: Order


@dataclass(frozen=True, slots=True)
class Variant:
    """What a slot holds: a case, and what was done to the axes of its output.

    ``late`` are changes since the case was taken, by the inputs that are not packed ahead.
    """

    case: int
    axes: tuple[Axis, ...] = ()
    late: tuple[Axis, ...] = ()


class Workload(Protocol):
    """Where timed batches get their inputs from, and what their outputs are held against."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs in the order of the library's arguments, then the output."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents as the library expects them."""

    def load(self, slot: int) -> tuple[tuple[Array, ...], Variant]:
        """Inputs for a slot, and what they are."""

    def vary(
        self, views: Sequence[Array], variant: Variant, changed: Sequence[int], seed: int
    ) -> Variant:
        """Change the inputs of index ``changed`` in place."""

    def right(self, variant: Variant, output: Array, slack: float = 0.0) -> bool:
        """Whether every cell of ``output`` is within its tolerance, cheaply."""

    def expected(self, variant: Variant) -> tuple[Array, Array]:
        """The expected output and its tolerance, in float64."""


@dataclass(frozen=True, slots=True)
class SymmetricWorkload:
    """An operator at one shape, from ready cases and its symmetries; slots take cases in turn.

    Cases that differ in none of the inputs ``ahead`` may be exchanged after these were packed.
    """

    tensors: tuple[Tensor, ...]
    extents: tuple[int, ...]
    cases: tuple[Case, ...]
    symmetries: tuple[Symmetry, ...]
    ahead: tuple[int, ...] = ()
    _limits: dict[tuple[int, float], tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def load(self, slot: int) -> tuple[tuple[Array, ...], Variant]:
        """The inputs of one of the cases, as they are."""
        number = slot % len(self.cases)
        return self.cases[number].inputs, Variant(number)

    def vary(
        self, views: Sequence[Array], variant: Variant, changed: Sequence[int], seed: int
    ) -> Variant:
        """Negate and permute slices of the inputs ``changed``, in place, or take another case."""
        rng = np.random.default_rng(seed)
        usable = [s for s in self.symmetries if {i for i, _ in s.inputs} <= set(changed)]
        if not self.ahead or set(changed) & set(self.ahead):
            axes = variant.axes
            for symmetry in usable:
                axes = self._apply(symmetry, views, axes, rng)
            return Variant(variant.case, axes, variant.late)
        number = (variant.case + int(rng.integers(1, max(2, len(self.cases))))) % len(self.cases)
        for index in changed:
            views[index][...] = self.cases[number].inputs[index]
        late: tuple[Axis, ...] = ()
        for symmetry in usable:
            if symmetry.output_axis not in self._fixed():
                late = self._apply(symmetry, views, late, rng)
        return replace(variant, case=number, late=late)

    def _fixed(self) -> set[int | None]:
        """Axes of the output that changes of the packed inputs move."""
        return {
            s.output_axis for s in self.symmetries if {i for i, _ in s.inputs} & set(self.ahead)
        }

    def _apply(
        self, symmetry: Symmetry, views: Sequence[Array], axes: tuple[Axis, ...], rng: Generator
    ) -> tuple[Axis, ...]:
        """Change the views by a symmetry; what has become of the axes then."""
        moved = [_first(views[i], axis) for i, axis in symmetry.inputs]
        size = len(moved[0])
        least = 1 if isinstance(symmetry, Negate) else 2
        if size < least or not all(m.size for m in moved):
            return axes
        slice_bytes = sum(m.nbytes // size for m in moved)
        # Slices across rows cost a cache line for each element.
        slice_bytes *= 1 if all(axis == 0 for _, axis in symmetry.inputs) else 8
        count = min(max(least, size // 2), max(least, CHANGED_BYTES // max(1, slice_bytes)))
        picked = rng.choice(size, count, replace=False)
        state = _axis(axes, symmetry.output_axis, self.tensors[-1].shape)
        match symmetry:
            case Negate():
                for m in moved:
                    _negate(m, picked)
                if state is None:
                    return axes
                signs = state.signs.copy()
                signs[picked] *= -1
                return _with(axes, Axis(state.axis, signs, state.order))
            case Permute():
                shifted = np.concatenate((picked[-1:], picked[:-1]))
                for m in moved:
                    m[picked] = m[shifted]
                if state is None:
                    return axes
                signs, order = state.signs.copy(), state.order.copy()
                signs[picked], order[picked] = signs[shifted], order[shifted]
                return _with(axes, Axis(state.axis, signs, order))

    def right(self, variant: Variant, output: Array, slack: float = 0.0) -> bool:
        """Within the least and the greatest value of each cell, in the output's own type.

        ``slack`` widens both by that share of the greatest value that is expected: libraries
        that round intermediate results are judged by what they compute, not how exactly.
        """
        found = widened(output)
        for state in (*variant.axes, *variant.late):
            found = _undone(found, state)
        low, high = self._limit(variant.case, slack)
        with np.errstate(invalid="ignore"):
            within = found >= low
            return bool(within.all()) and bool(np.less_equal(found, high, out=within).all())

    def _limit(self, number: int, slack: float) -> tuple[Array, Array]:
        key = (number, slack)
        if key not in self._limits:
            case = self.cases[number]
            tolerance = case.tolerance
            if slack and case.expected.size:
                tolerance = 8 * tolerance + slack * np.abs(case.expected).max()
            low, high = case.expected - tolerance, case.expected + tolerance
            if self.tensors[-1].dtype != "float64":
                low, high = _inside(low, high)
            self._limits[key] = (low, high)
        return self._limits[key]

    def expected(self, variant: Variant) -> tuple[Array, Array]:
        """The case's reference and its tolerance, with what became of the axes."""
        case = self.cases[variant.case]
        value, tolerance = case.expected, case.tolerance
        for state in (*variant.axes, *variant.late):
            shape = [1] * value.ndim
            shape[state.axis] = -1
            value = np.take(value, state.order, axis=state.axis) * state.signs.reshape(shape)
            tolerance = np.take(tolerance, state.order, axis=state.axis)
        return value, tolerance


def _undone(found: Array, state: Axis) -> Array:
    """The cells as they were before what became of an axis: a copy, changed where it has to be.

    Outputs are judged thousands of times in a measurement: nothing is passed over twice.
    """
    back = np.empty_like(state.order)
    back[state.order] = np.arange(len(back))
    placed = np.take(found, back, axis=state.axis)
    negated = np.flatnonzero(state.signs[back] < 0)
    if len(negated):
        moved = _first(placed, state.axis)
        with np.errstate(invalid="ignore"):
            moved[negated] = -moved[negated]
    return placed


def _first(view: Array, axis: int) -> Array:
    """The axis in front. Inputs change thousands of times: nothing is done where it is there."""
    return view if axis == 0 else np.moveaxis(view, axis, 0)


def _negate(moved: Array, picked: Order) -> None:
    """Turn the signs of slices of the first axis; of integers, the numbers themselves."""
    if moved.dtype.kind in "iu":
        moved[picked] = -moved[picked]
        return
    bits = moved.view(f"u{moved.itemsize}")
    bits[picked] ^= bits.dtype.type(_SIGN[moved.itemsize])


def _axis(axes: tuple[Axis, ...], axis: int | None, shape: tuple[int, ...]) -> Axis | None:
    if axis is None:
        return None
    for state in axes:
        if state.axis == axis:
            return state
    size = shape[axis]
    return Axis(axis, np.ones(size, np.float32), np.arange(size))


def _with(axes: tuple[Axis, ...], state: Axis) -> tuple[Axis, ...]:
    return (*(a for a in axes if a.axis != state.axis), state)


def _inside(low: Array, high: Array) -> tuple[Array, Array]:
    """The same limits in float32, rounded inwards: no wrong cell is let through."""
    with np.errstate(over="ignore"):
        least, most = low.astype(np.float32), high.astype(np.float32)
        least = np.where(least < low, np.nextafter(least, np.float32(np.inf)), least)
        most = np.where(most > high, np.nextafter(most, np.float32(-np.inf)), most)
    return least, most
