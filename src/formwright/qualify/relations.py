"""The contract's metamorphic relations: two calls are held against each other.

They need no value of the reference, only its bounds: a reference that is wrong in the way a
kernel is wrong does not hide a fault from them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from formwright.contract.contract import Contract, outside
from formwright.contract.expected import Expected
from formwright.contract.judge import Finding
from formwright.contract.numbers import F64, Array, to_double
from formwright.contract.operators import operator
from formwright.contract.operators.family import Negate, Permute, Symmetry
from formwright.contract.reference import expected
from formwright.qualify.clauses import Fault
from formwright.qualify.plan import Trial

Arrays = tuple[Array, ...]
Call = Callable[[Mapping[str, int], Arrays], "Array | Fault"]
"""Runs the library on these inputs: its output, or what went wrong."""


@dataclass(frozen=True, slots=True)
class Related:
    """A second call, and how its output is compared with that of the first."""

    name: str
    extents: Mapping[str, int]
    arrays: Arrays
    pair: Callable[[F64, F64], tuple[F64, F64]]
    exact: bool = False


def unlike(
    contract: Contract,
    kind: str,
    trial: Trial,
    arrays: Arrays,
    output: Array,
    first: Expected,
    call: Call,
) -> Fault | int:
    """The first relation that two outputs break, or how many they keep.

    ``first`` has the bounds of ``output``, which ``arrays`` gave.
    """
    kept = 0
    for related in _related(contract, trial.extents, arrays, trial.seed):
        if outside(contract, related.extents) is not None:
            continue
        got = call(related.extents, related.arrays)
        if isinstance(got, Fault):
            return got
        second = expected(contract, kind, related.arrays)
        with np.errstate(invalid="ignore"):
            allowed = sum(np.abs(b) for b in related.pair(first.bound, second.bound))
            free = related.pair(first.free.astype(np.float64), second.free.astype(np.float64))
            left, right = related.pair(to_double(output), to_double(got))
            limit = 0.0 if related.exact else allowed
            near = (left == right) | (np.abs(left - right) <= limit)
            near |= (free[0] != 0) | (free[1] != 0) | (np.isnan(left) & np.isnan(right))
        if not near.all():
            return _fault(related.name, kind, near, left, right, np.asarray(limit))
        kept += 1
    return kept


def _related(
    contract: Contract, extents: Mapping[str, int], arrays: Arrays, seed: int
) -> Iterator[Related]:
    known = operator(contract.operator)
    rng = np.random.default_rng([seed, 3])
    for symmetry in known.symmetries(contract):
        yield _symmetric(symmetry, extents, arrays, rng)
    for relation in known.relations(contract):
        changed = relation.change(contract, extents, arrays, seed)
        if changed is not None:
            yield Related(relation.name, *changed, relation.pair, relation.exact)


def _symmetric(
    symmetry: Symmetry, extents: Mapping[str, int], arrays: Arrays, rng: np.random.Generator
) -> Related:
    index, axis = symmetry.inputs[0]
    size = arrays[index].shape[axis]
    match symmetry:
        case Negate(inputs=axes, output_axis=out):
            signs = np.where(rng.random(size) < 0.5, -1, 1)

            def negated(array: Array, along: int) -> Array:
                shape = [1] * array.ndim
                shape[along] = -1
                return np.asarray(array * signs.reshape(shape).astype(array.dtype))

            changed = _changed(arrays, axes, negated)
            pair = _first_changed(lambda first: negated(first, out))
            return Related("negated slices", extents, changed, pair)
        case Permute(inputs=axes, output_axis=to):
            order = rng.permutation(size)

            def permuted(array: Array, along: int) -> Array:
                return np.ascontiguousarray(np.take(array, order, axis=along))

            changed = _changed(arrays, axes, permuted)
            if to is None:
                return Related("permuted terms", extents, changed, lambda a, b: (a, b))
            pair = _first_changed(lambda first: permuted(first, to))
            return Related("permuted slices", extents, changed, pair)
        case _:
            assert_never(symmetry)


def _first_changed(change: Callable[[F64], F64]) -> Callable[[F64, F64], tuple[F64, F64]]:
    return lambda first, second: (change(first), second)


def _changed(
    arrays: Arrays, axes: tuple[tuple[int, int], ...], change: Callable[[Array, int], Array]
) -> Arrays:
    found = list(arrays)
    for index, axis in axes:
        found[index] = change(found[index], axis)
    return tuple(found)


def _fault(name: str, kind: str, near: Array, left: F64, right: F64, limit: Array) -> Fault:
    cell = tuple(int(i) for i in np.unravel_index(int(np.argmin(near)), near.shape))
    detail = f"relation {name}: {int((~near).sum())} of {near.size} cells of two calls disagree"
    allowed = float(np.broadcast_to(limit, near.shape)[cell])
    finding = Finding("metamorphic", detail, cell, float(right[cell]), float(left[cell]), allowed)
    return Fault("metamorphic", detail, kind, finding)
