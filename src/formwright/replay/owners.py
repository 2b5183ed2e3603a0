"""Who runs a point of an apply in a team (rule P4): any choice is allowed, these are tried."""

from typing import Literal as OneOf
from typing import assert_never
from zlib import crc32

OwnerPolicy = OneOf["natural", "swapped", "columns", "apart", "random"]
"""``natural``: cells of ``dist`` buffers in blocks, other points in turn. ``swapped``: the
same from the last agent. ``columns``: ``dist`` cells in turn, others in blocks. ``apart``:
``dist`` cells on the first agent, others on the last. ``random``: by the seed."""


def owner_of_cell(
    policy: OwnerPolicy,
    buffer: str,
    index: tuple[int, ...],
    shape: tuple[int, ...],
    size: int,
    seed: int,
) -> int:
    """The agent for the first indices of a ``dist`` buffer: equal indices, equal owner.

    At random the owners of two buffers have nothing to do with one another.
    """
    place, total = 0, 1
    for i, extent in zip(index, shape, strict=True):
        place, total = place * extent + i, total * extent
    match policy:
        case "natural":
            return _block(place, total, size)
        case "swapped":
            return size - 1 - _block(place, total, size)
        case "columns":
            return place % size
        case "apart":
            return 0
        case "random":
            return crc32(repr((seed, buffer, index)).encode()) % size
        case _:
            assert_never(policy)


def owner_of_point(
    policy: OwnerPolicy, place: int, total: int, size: int, seed: int, instance: object
) -> int:
    """The agent for a point by its place in the box, row by row."""
    match policy:
        case "natural":
            return place % size
        case "swapped":
            return size - 1 - place % size
        case "columns":
            return _block(place, total, size)
        case "apart":
            return size - 1
        case "random":
            return crc32(repr((seed, place, instance)).encode()) % size
        case _:
            assert_never(policy)


def _block(place: int, total: int, size: int) -> int:
    """Out-of-range places (an unclipped index that leaves the shape) go to the nearest agent."""
    return max(0, min(size - 1, place * size // max(1, total)))
