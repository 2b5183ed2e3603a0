"""How many cells, and bytes, the accesses of a nest touch: boxes of a buffer's index space."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from formwright.ir.expr import Num, num
from formwright.ir.program import Access, Buffer
from formwright.ir.types import BYTES
from formwright.roofline.spans import Ranges, Spans


@dataclass(frozen=True, slots=True)
class Side:
    """Indices ``lo .. hi`` of one dimension, of which ``count`` are touched."""

    lo: int
    hi: int
    count: int

    @property
    def length(self) -> int:
        return self.hi - self.lo + 1


Box = tuple[Side, ...]


def box_of(access: Access, buffer: Buffer, ranges: Ranges, spans: Spans) -> Box | None:
    """The cells of ``access`` while its names run through ``ranges``; ``None`` if there are none.

    A rectangle around them: exact where each dimension has names of its own, as in the templates
    that ship. What ``clip`` leaves out is left out. A generation is a dimension in front.
    """
    sides = []
    for number, index in enumerate(access.index):
        lo, hi = spans(index, ranges)
        if access.clip:
            lo, hi = max(lo, 0), min(hi, spans(buffer.shape[number], ranges)[1] - 1)
        if lo > hi:
            return None
        sides.append(Side(lo, hi, min(hi - lo + 1, spans.values(index, ranges))))
    if access.generation is not None:
        lo, hi = spans(access.generation, ranges)
        count = min(hi - lo + 1, spans.values(access.generation, ranges))
        sides.insert(0, Side(lo, hi, count))
    return tuple(sides)


def in_storage(box: Box, buffer: Buffer, ranges: Ranges, spans: Spans) -> Box:
    """``box`` where generations share the slots of a ring."""
    if len(box) == len(buffer.shape) or buffer.ring is None:
        return box
    slots = spans(buffer.ring, ranges)[1]
    first = box[0]
    return (Side(0, min(first.length, slots) - 1, min(first.count, slots)), *box[1:])


def union_bytes(boxes: Iterable[Box], buffer: Buffer, line: int) -> int:
    """Bytes of the cells in any of ``boxes``: at most their sum, and a rectangle around all.

    ``line``: what is moved at once; runs of neighbouring cells are rounded up to lines.
    """
    some = list(dict.fromkeys(boxes))
    if not some:
        return 0
    if len(some) == 1:
        return _bytes(some[0], buffer, line)
    around = tuple(
        Side(min(s.lo for s in sides), max(s.hi for s in sides), sum(s.count for s in sides))
        for sides in zip(*some, strict=True)
    )
    hull = tuple(Side(s.lo, s.hi, min(s.count, s.length)) for s in around)
    return min(sum(_bytes(b, buffer, line) for b in some), _bytes(hull, buffer, line))


def _bytes(box: Box, buffer: Buffer, line: int) -> int:
    size = BYTES[buffer.dtype]
    if line <= size:
        return size * prod(side.count for side in box)
    leading = len(box) - len(buffer.shape)
    run, at = 1, len(box)
    while at > leading:
        at -= 1
        side = box[at]
        if side.count < side.length:  # some of a row: a line for each, but no more than it has
            lines = min(
                side.count * _lines(run * size, line), _lines(side.length * run * size, line)
            )
            return line * lines * prod(s.count for s in box[:at])
        run *= side.length
        if buffer.shape[at - leading] != num(side.length):
            break  # the next row does not follow on
    runs = prod(s.count for s in box[:at])
    pitch = _pitch(buffer, at - leading, size)
    if runs > 1 and pitch % line:
        # Runs begin anywhere in a line: on average they touch this many bytes' worth of lines.
        return runs * (run * size + line - size)
    return line * _lines(run * size, line) * runs


def _pitch(buffer: Buffer, dimension: int, size: int) -> int:
    """Bytes from one index of the dimension before ``dimension`` to the next."""
    found = size
    for extent in buffer.shape[dimension:]:
        if isinstance(extent, Num):
            found *= int(extent.value)
    return found


def _lines(size: int, line: int) -> int:
    return -(-size // line)
