"""At which extents a kernel is tried, drawn from those of its contract alone."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, Literal

import numpy as np

from formwright.contract.contract import Contract, outside
from formwright.contract.operators import operator

Effort = Literal["quick", "full"]
"""``quick`` refuses what is wrong while searching; ``full`` is what qualifies."""

Shape = dict[str, int]

MOST_POINTS: Final = 1 << 22
"""The product of all extents of a drawn shape: its references cost milliseconds."""

MOST_ELEMENTS: Final = 1 << 17
"""Elements of one tensor of a drawn shape."""

DEEP: Final = 1029
"""So many terms that ``gamma_K`` alone lets 16-bit inputs pass. Odd, and above the vectors,
unrolled loops and blocks of most kernels."""

_FIRST: Final = (7, 5, 11, 3, 13, 2)
"""Large enough for an error to show its form, small enough to cost nothing.

All odd at first: a tensor that ends at a page's end then starts at no multiple of 8 bytes."""

_SMALL: Final = (3, 5, 2, 3, 2, 3)
_LONG: Final = (41, 37, 19, 23, 17, 11)
_LONGER_OF_MANY: Final = (7, 5, 19, 13, 3, 2)
"""Of operators with many extents, whose product is what a reference costs."""
_NARROW: Final = (9, 13, 5, 3, 2, 2)

REPORTED: Final[Mapping[str, tuple[Shape, ...]]] = {
    "gemm": (
        {"M": 64, "N": 64, "K": 24},
        {"M": 64, "N": 128, "K": 200},
        {"M": 126, "N": 126, "K": 1},
    ),
    "gemv": ({"N": 126, "K": 1}, {"N": 64, "K": 200}),
    "softmax": ({"R": 3, "C": 4097}, {"R": 64, "C": 1}),
    "rmsnorm": ({"T": 1, "H": 896}, {"T": 3, "H": 4097}),
}
"""Shapes at which published kernels have failed: K tails, over-reads next to one column, rows
just beyond a power of two. An operator without an entry has none on record."""


def first(contract: Contract) -> Shape | None:
    """The small odd shape that every plan begins with, or the nearest one of the domain."""
    return _inside(contract, dict(zip(contract.names, _FIRST, strict=False)))


def is_empty(contract: Contract, shape: Mapping[str, int]) -> bool:
    """Has some extent no element? Then no kind of inputs can ask anything of its own."""
    return any(shape[name] == 0 for name in contract.names)


def tiny(contract: Contract) -> list[Shape]:
    """Every extent at its least in turn, and all of them together."""
    names = contract.names
    found = [dict.fromkeys(names, 1)]
    found += [dict(zip(names, _SMALL, strict=False)) | {e.name: e.low} for e in contract.extents]
    for place, extent in enumerate(contract.extents):
        longer = _LONG if len(names) < 4 else _LONGER_OF_MANY
        turned = (*longer[place:], *longer[:place])
        long = dict(zip(names, turned, strict=False))
        found.append(long | {extent.name: max(1, extent.low)})
    return _distinct(contract, found)


def reported(contract: Contract) -> list[Shape]:
    """Published cases, as far as the domain has them."""
    return _distinct(contract, REPORTED.get(contract.operator, ()), exactly=True)


def shapes(
    contract: Contract,
    rng: np.random.Generator,
    effort: Effort,
    boundaries: Mapping[str, Sequence[int]],
) -> list[Shape]:
    """All shapes but those of workloads, small ones first; each at most once.

    ``boundaries`` names sizes at which the kernel's own blocks end (``{"K": (256,)}``).
    """
    begin = [shape for shape in (first(contract),) if shape is not None]
    ragged = [_ragged(contract, rng) for _ in range(8 if effort == "full" else 3)]
    edges = list(_edges(contract, rng, boundaries))
    known, small = reported(contract), tiny(contract)
    if effort == "quick":
        # Each block's end once, at a size drawn by the seed.
        edges = [edges[i] for i in sorted(rng.permutation(len(edges))[:4])]
        known, small = known[-2:], small[: len(contract.names) + 2]
    found = [*begin, *small, *known, *ragged, *deep(contract), *edges]
    return _distinct(contract, found, exactly=True)


def deep(contract: Contract) -> list[Shape]:
    """Long sums: each extent that is no dimension of the output, else the last one."""
    output = contract.output.extents
    long = [n for n in contract.names if n not in output] or [output[-1]]
    narrow = dict(zip(contract.names, _NARROW, strict=False))
    return _distinct(contract, [narrow | {name: DEEP} for name in long])


_BITS: Final[Mapping[int, float]] = {1: 12.0, 2: 12.0, 3: 8.5, 4: 5.5}
"""The largest extent that is drawn, in doublings, by the number of extents."""


def _ragged(contract: Contract, rng: np.random.Generator) -> Shape:
    """Log-uniform sizes, so that small and odd ones are as likely as large ones."""
    top = _BITS[min(len(contract.extents), 4)]
    drawn = {name: float(rng.uniform(0, top)) for name in contract.names}
    while True:
        shape = _inside(contract, {name: int(2**bits) for name, bits in drawn.items()})
        least = all(bits < 1 for bits in drawn.values())
        if shape is not None and (least or _fits(contract, shape)):
            return shape
        if least:
            return {e.name: max(1, e.low) for e in contract.extents}
        drawn = {name: bits * 0.9 for name, bits in drawn.items()}


def _edges(
    contract: Contract, rng: np.random.Generator, boundaries: Mapping[str, Sequence[int]]
) -> Iterator[Shape]:
    """Shapes just below, at or above the end of a block."""
    for name, sizes in sorted(boundaries.items()):
        for size in sizes:
            step = int(rng.integers(-1, 2))
            top = 40 if len(contract.extents) < 4 else 12
            small = [int(v) for v in rng.integers(2, top, len(contract.extents))]
            shape = dict(zip(contract.names, small, strict=True))
            if name in shape:
                yield shape | {name: max(1, size + step)}


def rounds(contract: Contract, rng: np.random.Generator, effort: Effort) -> list[Shape]:
    """Each extent just below, at and above a power of two, where blocks of most kernels end.

    The others are small and drawn; ``quick`` takes one of them for each extent.
    """
    found = []
    top = 24 if len(contract.extents) < 4 else 6
    for name in contract.names:
        sizes = [2**power + step for power in range(3, 8) for step in (-1, 0, 1)]
        if effort == "quick":
            sizes = [int(rng.choice(sizes))]
        for size in sizes:
            small = [int(v) for v in rng.integers(1, top, len(contract.extents))]
            found.append(dict(zip(contract.names, small, strict=True)) | {name: size})
    return _distinct(contract, found)


VECTOR: Final = 8
"""Elements of the vectors whose remainders are swept."""


def remainders(contract: Contract, rng: np.random.Generator) -> list[Shape]:
    """Each extent in turn long, with every remainder by a vector; the others are small.

    Tails of unrolled loops go wrong at one remainder, and at lengths that fill the loop.
    """
    found: list[Shape] = []
    for name in contract.names:
        for left in range(VECTOR):
            small = {
                n: int(rng.integers(1, 20 if len(contract.names) < 4 else 6))
                for n in contract.names
            }
            long = int(2 ** rng.uniform(5, 7.2)) * VECTOR + left
            found.append(small | {name: long})
    inside = _distinct(contract, found, exactly=True)
    return [shape for shape in inside if _fits(contract, shape)]


def large(contract: Contract, rng: np.random.Generator) -> list[Shape]:
    """One shape that fills no cache: an input of some 2^20 elements, ragged, few terms.

    Kernels take other ways there: streaming stores, larger blocks, indices that run further.
    """
    operand = max(contract.operands, key=lambda o: len(o.extents))
    shape = {e.name: max(e.low, 3) for e in contract.extents}
    highs = {e.name: e.high for e in contract.extents}
    places = [n for n in operand.extents if highs[n] > 2 * DEEP]
    while places and prod(contract.shape(operand, shape)) <= LARGE_ELEMENTS:
        name = places[int(rng.integers(len(places)))]
        shape[name] = 2 * shape[name] + int(rng.integers(2))
    found = _distinct(contract, [shape], exactly=True)
    work = operator(contract.operator).work
    return [s for s in found if work(contract, s).flops <= MOST_FLOPS]


LARGE_ELEMENTS: Final = 1 << 20
MOST_FLOPS: Final = 1 << 25
"""Of that shape, where its reference is to take no seconds."""


def _fits(contract: Contract, shape: Mapping[str, int]) -> bool:
    if prod(max(1, v) for v in shape.values()) > MOST_POINTS:
        return False
    return all(prod(contract.shape(o, shape)) <= MOST_ELEMENTS for o in contract.operands)


def _inside(contract: Contract, shape: Mapping[str, int]) -> Shape | None:
    """The shape with each extent in its range; a few more where the domain asks for it.

    An operator may want an even extent, or one below another: the next sizes are tried.
    """
    held = {e.name: min(max(shape.get(e.name, e.low), e.low), e.high) for e in contract.extents}
    names = list(contract.names)
    for steps in product((0, 1), repeat=min(len(names), 6)):
        near = held | {n: held[n] + s for n, s in zip(names, steps, strict=False)}
        if outside(contract, near) is None:
            return near
    return None


def _distinct(
    contract: Contract, found: Sequence[Mapping[str, int]], *, exactly: bool = False
) -> list[Shape]:
    kept: list[Shape] = []
    for shape in found:
        inside = dict(shape) if exactly else _inside(contract, shape)
        if inside is not None and outside(contract, inside) is None and inside not in kept:
            kept.append(inside)
    return kept
