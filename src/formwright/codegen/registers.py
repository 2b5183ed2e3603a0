"""Which register buffers become C variables, and which of those have lanes.

``acc[Rr,L]`` whose last index runs along rows of memory is vectors; ``tot[Rr]``, indexed by what
is a row elsewhere, is scalars. A program decides it by how it uses the buffer, all places together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from formwright.codegen.facts import largest
from formwright.codegen.fold import fold
from formwright.codegen.linear import linear
from formwright.codegen.target import Target, without_units
from formwright.ir.expr import Num, Var
from formwright.ir.program import Access, Alloc, Apply, Buffer, For, If, Par, Stmt
from formwright.ir.rewrite import accesses, free_names

MOST_REGISTERS = 4
"""Tiles may have this many times the registers of the target; the compiler spills the rest."""

MOST_SCALARS = 64

NARROW = 8
"""Lanes of a vector that every target with wider ones has as well."""


@dataclass(frozen=True, slots=True)
class Use:
    """An apply with what its buffers are: register buffers by name."""

    apply: Apply
    registers: dict[str, Buffer]

    def accesses(self) -> tuple[Access, ...]:
        return (self.apply.destination, *accesses(self.apply.value))


def lanes_of(program: Sequence[Stmt], target: Target) -> dict[int, bool]:
    """By ``id`` of each register buffer that can be variables: whether it has lanes."""
    uses = list(_uses(program, {}))
    buffers = {id(b): b for use in uses for b in use.registers.values()}
    possible = {key: b for key, b in buffers.items() if _constant(b)}
    for use in uses:
        for access in use.accesses():
            buffer = use.registers.get(access.buffer)
            if buffer is not None and not _plain(access, use.apply):
                possible.pop(id(buffer), None)
    lanes = {key: _whole_vectors(b, target) for key, b in possible.items()}
    changed = True
    while changed:
        changed = False
        for use in uses:
            for key in _no_lanes(use, lanes):
                changed, lanes[key] = True, False
    return {key: kind for key, kind in lanes.items() if kind or _size(buffers[key]) <= MOST_SCALARS}


def fitting(program: Sequence[Stmt], target: Target) -> Target:
    """``target``, or its vectors of eight lanes where more of the tiles are whole vectors then.

    A tile of 24 columns is three vectors of eight; as scalars it took eight times as long.
    """
    if target.lanes <= NARROW:
        return target
    narrow = replace(without_units(target), lanes=NARROW)
    wide, more = (sum(lanes_of(program, t).values()) for t in (target, narrow))
    return narrow if more > wide else target


def _uses(block: Sequence[Stmt], known: dict[str, Buffer]) -> Iterator[Use]:
    known = dict(known)
    for stmt in block:
        match stmt:
            case Alloc(buffers):
                for buffer in buffers:
                    known.pop(buffer.name, None)
                    if buffer.home == "register":
                        known[buffer.name] = buffer
            case Apply():
                yield Use(stmt, known)
            case For(_, _, _, body) | If(_, body) | Par(_, _, _, body):
                yield from _uses(body, known)
            case _:
                pass


def _constant(buffer: Buffer) -> bool:
    return (
        buffer.ring is None
        and buffer.dtype == "f32"
        and all(isinstance(s, Num) for s in buffer.shape)
    )


def _size(buffer: Buffer) -> int:
    size = 1
    for extent in buffer.shape:
        size *= int(extent.value) if isinstance(extent, Num) else 0
    return size


def _whole_vectors(buffer: Buffer, target: Target) -> bool:
    last = buffer.shape[-1]
    width = int(last.value) if isinstance(last, Num) else 0
    most = MOST_REGISTERS * target.registers * target.lanes
    return width > 0 and width % target.lanes == 0 and _size(buffer) <= most


def _plain(access: Access, apply: Apply) -> bool:
    """Each index a constant or a box variable of a constant number of points, none twice."""
    extents = {v.name: v.extent for v in apply.box}
    names = [i.name for i in access.index if isinstance(i, Var)]
    return len(set(names)) == len(names) and all(
        isinstance(i, Num)
        or (isinstance(i, Var) and i.name in extents and largest(extents[i.name]) is not None)
        for i in access.index
    )


def _no_lanes(use: Use, lanes: dict[int, bool]) -> list[int]:
    """Buffers that an apply cannot use in vectors."""
    tiles = [
        (id(use.registers[a.buffer]), a)
        for a in use.accesses()
        if a.buffer in use.registers and id(use.registers[a.buffer]) in lanes
    ]
    rows = {
        i.name
        for key, a in tiles
        for at, i in enumerate(a.index)
        if isinstance(i, Var) and not (lanes[key] and at == len(a.index) - 1)
    }
    found = list[int]()
    columns = set[str]()
    for key, access in tiles:
        last = access.index[-1]
        if not lanes[key] or not isinstance(last, Var):
            continue
        columns.add(last.name)
        if last.name in rows or not _along(use, last.name, lanes):
            found.append(key)
    if len(columns) > 1 and not found:
        destination = use.apply.destination
        found = [key for key, a in tiles if lanes[key] and a is destination]
        found = found or [key for key, _ in tiles if lanes[key]][:1]
    return found


def _along(use: Use, name: str, lanes: dict[int, bool]) -> bool:
    """Every access in memory has ``name`` along its rows or not at all."""
    for access in use.accesses():
        buffer = use.registers.get(access.buffer)
        if buffer is not None and id(buffer) in lanes:
            continue
        inside = [*access.index[:-1], *([] if access.generation is None else [access.generation])]
        if any(name in free_names(i) for i in inside):
            return False
        form = linear(fold(access.index[-1]))
        if form.mentions(name) and (form.coefficient(name) != 1 or form.hides(name)):
            return False
    return True
