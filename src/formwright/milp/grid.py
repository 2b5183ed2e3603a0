"""A product of axes cut into blocks that fit the cache, each ready to broadcast."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from formwright.ir.int_arrays import Array, Ints
from formwright.ir.rational_arrays import Exact
from formwright.ir.vectorise import Given, Truths

BLOCK = 1 << 19
"""Points evaluated at once."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Names that move together: ``columns[name][i]`` is the value at place ``i``."""

    columns: dict[str, Array]

    @property
    def length(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True, slots=True)
class Table:
    """Values over the product of the menus of ``names``, one dimension each, in order."""

    names: tuple[str, ...]
    values: Exact | Truths


def menu_axis(name: str, menu: tuple[int, ...]) -> Axis:
    return Axis({name: np.array(menu, dtype=np.int64)})


@dataclass(frozen=True, slots=True)
class Block:
    """``arrays`` broadcast to ``shape``; point ``i`` of the block is ``coordinates(i)``."""

    arrays: dict[str, Given]
    shape: tuple[int, ...]
    starts: tuple[int, ...]
    axes: tuple[Axis, ...]

    def coordinates(self, flat: Array) -> dict[str, Array]:
        """The value of every name at the given flat places of the block."""
        places = np.unravel_index(flat, self.shape)
        return {
            name: column[start + place]
            for axis, start, place in zip(self.axes, self.starts, places, strict=True)
            for name, column in axis.columns.items()
        }


def blocks(axes: tuple[Axis, ...], size: int = BLOCK) -> Iterator[Block]:
    """Blocks of at most ``size`` points that cover the product of ``axes`` in order."""
    lengths = [axis.length for axis in axes]
    if 0 in lengths:
        return
    cut = len(axes)
    inner = 1
    while cut > 0 and inner * lengths[cut - 1] <= size:
        cut -= 1
        inner *= lengths[cut]
    step = max(1, size // inner)
    split = cut - 1
    for outer in np.ndindex(*lengths[: max(0, split)]):
        for start in range(0, lengths[split] if split >= 0 else 1, step):
            yield _block(axes, outer, split, start, step)


def _block(
    axes: tuple[Axis, ...], outer: tuple[int, ...], split: int, start: int, step: int
) -> Block:
    """``outer`` fixes the leading axes; axis ``split`` gives ``step`` places from ``start``."""
    rank = len(axes)
    arrays: dict[str, Given] = {}
    shape: list[int] = []
    starts: list[int] = []
    for i, axis in enumerate(axes):
        first, last = 0, axis.length
        if i < len(outer):
            first, last = outer[i], outer[i] + 1
        elif i == split:
            first, last = start, min(axis.length, start + step)
        shape.append(last - first)
        starts.append(first)
        for name, column in axis.columns.items():
            if last - first == 1:
                arrays[name] = int(column[first])
            else:
                arrays[name] = column[first:last].reshape(
                    [-1 if j == i else 1 for j in range(rank)]
                )
    return Block(arrays, tuple(shape), tuple(starts), axes)


def points(axes: tuple[Axis, ...]) -> int:
    return prod(axis.length for axis in axes)


def known(
    constants: Mapping[str, Given], tables: Mapping[str, Table], block: Block
) -> dict[str, Given]:
    """Everything that an expression may name at the points of ``block``."""
    return {
        **constants,
        **block.arrays,
        **{name: _slice(table, block) for name, table in tables.items()},
    }


def _slice(table: Table, block: Block) -> Exact | Truths:
    cut: list[slice] = []
    shape: list[int] = []
    for axis, start, length in zip(block.axes, block.starts, block.shape, strict=True):
        inside = next(iter(axis.columns)) in table.names
        if inside:
            cut.append(slice(start, start + length))
        shape.append(length if inside else 1)
    index, shaped = tuple(cut), tuple(shape)
    values = table.values
    if isinstance(values, Truths):
        return Truths(_take(values.value, index, shaped))
    num, den = values.num, values.den
    return Exact(
        Ints(_take(num.a, index, shaped), num.lo, num.hi),
        Ints(_take(den.a, index, shaped), den.lo, den.hi),
    )


def _take(a: Any, index: tuple[slice, ...], shape: tuple[int, ...]) -> Any:
    # Of an array of Python integers without axes, indexing leaves the integer.
    return a if isinstance(a, (int, bool)) else np.asarray(a[index], dtype=a.dtype).reshape(shape)
