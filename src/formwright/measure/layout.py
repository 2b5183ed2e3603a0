"""Where the slots of a session stand: guard pages round every tensor, in two shared files.

Inputs and outputs live in two files, because the child gets the inputs' file open for reading
only. A tensor of a slot fills pages of its own, between pages that nothing is mapped to.
"""

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from formwright.measure.tensors import Tensor

PAGE = mmap.PAGESIZE
Placement = Literal["start", "end", "spread"]
"""Where data stands in its pages: at the start (a read before it faults), at the end (a read
after it faults), or spread over cache sets as an allocator would (for timing)."""


@dataclass(frozen=True, slots=True)
class Block:
    """One tensor of one slot: ``file_offset`` and ``address`` of its pages, data at ``data``."""

    tensor: Tensor
    slot: int
    file_offset: int
    address: int
    span: int
    data: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All blocks, by slot and then by tensor, and the sizes of the two files."""

    tensors: tuple[Tensor, ...]
    blocks: tuple[tuple[Block, ...], ...]
    input_bytes: int
    output_bytes: int
    reserve: int

    def locate(self, address: int) -> tuple[Block, int] | None:
        """The block nearest to an address (relative to the base), with the offset into it."""
        best: tuple[Block, int] | None = None
        for row in self.blocks:
            for block in row:
                if block.address - PAGE <= address < block.address + block.span + PAGE:
                    best = (block, address - block.address)
        return best


def slot_bytes(tensors: Sequence[Tensor]) -> int:
    """Bytes of memory that one slot takes."""
    return sum(_span(tensor, "spread") for tensor in tensors)


def lay_out(tensors: Sequence[Tensor], slots: int, placement: Placement, alignment: int) -> Layout:
    """Lay out ``slots`` slots; ``alignment`` bytes are kept when data stands at the end."""
    files = [0, 0]
    address = PAGE
    rows = []
    for slot in range(slots):
        row = []
        for index, tensor in enumerate(tensors):
            span = _span(tensor, placement)
            data = _data_offset(tensor, span, placement, alignment, slot * len(tensors) + index)
            offset = files[tensor.output]
            row.append(Block(tensor, slot, offset, address, span, data))
            files[tensor.output] += span
            address += span + 2 * PAGE
        rows.append(tuple(row))
    return Layout(tuple(tensors), tuple(rows), files[0], files[1], address)


def _span(tensor: Tensor, placement: Placement) -> int:
    # Without elements there is nothing to touch: the pointer goes to a guard page.
    spare = PAGE - 64 if placement == "spread" and tensor.bytes else 0
    return -(-(tensor.bytes + spare) // PAGE) * PAGE


def _data_offset(
    tensor: Tensor, span: int, placement: Placement, alignment: int, number: int
) -> int:
    match placement:
        case "start":
            return 0
        case "end":
            return (span - tensor.bytes) // alignment * alignment
        case "spread":
            return 64 * (number * 5 % 32) if tensor.bytes else 0


def setup_message(
    layout: Layout,
    extents: Sequence[int],
    threads: int,
    flags: int,
    scratch_bytes: int,
    memory_bytes: int,
    cpu_seconds: int,
) -> bytes:
    """The message that tells the worker everything but the data (``struct setup`` in worker.c)."""
    mapped = [block for row in layout.blocks for block in row if block.span]
    head = struct.pack(
        "=4IiI4Q",
        len(layout.tensors),
        len(layout.blocks),
        len(mapped),
        len(extents),
        threads,
        flags,
        layout.reserve,
        scratch_bytes,
        memory_bytes,
        cpu_seconds,
    )
    maps = b"".join(
        struct.pack("=2I3Q", b.tensor.output, 0, b.file_offset, b.span, b.address) for b in mapped
    )
    strides = struct.pack(f"={len(layout.tensors)}q", *(t.stride for t in layout.tensors))
    sizes = struct.pack(f"={len(extents)}q", *extents)
    pointers = [block.address + block.data for row in layout.blocks for block in row]
    return head + maps + strides + sizes + struct.pack(f"={len(pointers)}Q", *pointers)
