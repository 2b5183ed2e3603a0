"""A part of a large output that is judged in the whole's place: some slices of one extent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.inputs import exact
from formwright.contract.numbers import Array

LARGE: Final = 1 << 27
"""Product of the extents beyond which references of whole outputs cost seconds."""

SLICES: Final = 128
"""Slices that are judged there; exact kinds are judged everywhere, at any size."""


@dataclass(frozen=True, slots=True)
class Part:
    """``arrays`` and ``output`` of the slices ``chosen`` of the output's ``axis``.

    ``axis`` is ``None`` when they are the whole.
    """

    arrays: tuple[Array, ...]
    output: Array
    axis: int | None
    chosen: Array

    def whole_cell(self, cell: tuple[int, ...]) -> tuple[int, ...]:
        """The place in the whole output of a cell of this part."""
        if self.axis is None:
            return cell
        return tuple(int(self.chosen[c]) if a == self.axis else c for a, c in enumerate(cell))


def part_of(
    contract: Contract,
    kind: str,
    extents: Mapping[str, int],
    arrays: Sequence[Array],
    output: Array,
    seed: int,
) -> Part:
    """All of it, unless it is large and of a kind that is judged by a bound.

    Then the first, the last and some slices drawn from ``seed``, along the longest extent
    whose slices have nothing to do with each other.
    """
    whole = Part(tuple(arrays), output, None, np.arange(0))
    if prod(extents.values()) <= LARGE or exact(contract, kind):
        return whole
    apart = {name: extents[name] for name in independent(contract)}
    name = max(apart, key=lambda n: apart[n], default=None)
    if name is None or apart[name] <= SLICES:
        return whole
    size = apart[name]
    some = np.random.default_rng([seed, 2]).choice(size, SLICES, replace=False)
    chosen = np.unique([0, size - 1, *some])

    def cut(array: Array, names: tuple[str, ...]) -> Array:
        return np.take(array, chosen, axis=names.index(name)) if name in names else array

    pairs = zip(arrays, contract.inputs, strict=True)
    axis = contract.output.extents.index(name)
    cut_inputs = tuple(cut(array, operand.extents) for array, operand in pairs)
    return Part(cut_inputs, cut(output, contract.output.extents), axis, chosen)


def independent(contract: Contract) -> tuple[str, ...]:
    """Extents of the output along which each slice is computed from that slice of the inputs.

    Such an extent stands in the formula as an index of its own and nowhere else: no sum or
    maximum runs over it, nothing is compared with it, no other index is computed from it, and
    its size does not enter. Cutting it leaves the slices that are kept as they are.
    """
    text = "\n".join(contract.formula)
    indices = [
        part.strip() for found in re.findall(r"\[([^\[\]]*)\]", text) for part in found.split(",")
    ]
    outside = re.sub(r"\[[^\[\]]*\]", " ", text)

    def alone(name: str) -> bool:
        word = re.compile(rf"\b({re.escape(name)}|{re.escape(name.lower())})\b")
        elsewhere = [index for index in indices if index != name]
        return not any(word.search(place) for place in (outside, *elsewhere))

    once = [n for n in contract.output.extents if _at_most_once(contract, n)]
    return tuple(name for name in once if alone(name))


def _at_most_once(contract: Contract, name: str) -> bool:
    return all(operand.extents.count(name) <= 1 for operand in contract.operands)
