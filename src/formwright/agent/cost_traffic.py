"""Bytes that a program reads again, and from which cache.

A loop that an access does not name reads the same cells in each of its iterations. Between two
readings lie the cells that the loops inside it touch: if these fit a cache, that cache serves them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from formwright.agent.cost_loops import Grid, Leaf, Loop, Walk, is_single
from formwright.agent.cost_terms import minus, mul
from formwright.ir.expr import Expr, Var, num
from formwright.ir.program import Access
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.types import BYTES
from formwright.ir.values import names_of_access, row_names

LINE_BYTES = num(64)
"""A cell that is read across rows brings its line along."""


@dataclass(frozen=True, slots=True)
class Again:
    """``moved`` bytes read by all agents beyond the first time, with ``held`` bytes between."""

    buffer: str
    moved: Expr
    held: Expr


def read_again(walk: Walk, grid: Grid, tensors: frozenset[str], seen: set[str]) -> Iterator[Again]:
    """What the agents of ``grid`` read again. Registers cost nothing here.

    ``seen``: tensors that were read before; those of ``grid`` are added.
    """
    own = set[str]()
    for place, leaf in enumerate(grid.leaves):
        for access in dict.fromkeys(accesses(leaf.apply.value)):
            buffer = walk.buffers.get(access.buffer)
            if buffer is not None and buffer.home == "register":
                continue
            if _just_met(access, leaf, grid.leaves[:place]):
                continue
            nest, size = _view(walk, access, leaf, tensors)
            around = leaf.loops[: len(leaf.loops) - len(nest.outer)]
            often = mul([*(loop.count for loop in around), leaf.share])
            if access.buffer in own:
                yield from _once_more(access.buffer, nest, size, often)
            elif access.buffer not in tensors or access.buffer in seen:
                yield from _once_more(access.buffer, nest, size, often, of_all=True)
            own.add(access.buffer)
            yield from _reuse(access.buffer, nest, size, often)
    seen |= own


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops that count for an access; ``outer`` are those around the apply."""

    outer: tuple[Loop, ...]
    box: tuple[Loop, ...]
    names: frozenset[str]


def _view(walk: Walk, access: Access, leaf: Leaf, tensors: frozenset[str]) -> tuple[_Nest, Expr]:
    """Storage of an agent's own is new for each agent: loops around its alloc do not count."""
    depth = 0 if access.buffer in tensors else walk.depths.get(access.buffer, 0)
    names = names_of_access(access)
    size = _cell_bytes(walk, access.buffer, tensors)
    nest = _Nest(leaf.loops[depth:], leaf.box, names)
    indexed = [loop.name for loop in (*nest.outer, *nest.box) if loop.name in names]
    last = free_names(access.index[-1]) if access.index else frozenset[str]()
    if indexed and len(access.index) > 1 and indexed[-1] not in last:
        # Across rows: a line for each cell, and the loops along the row read the same lines again.
        across = frozenset(n for n in names if n not in last or n in row_names(access))
        return _Nest(nest.outer, nest.box, across), LINE_BYTES
    return nest, size


def _cell_bytes(walk: Walk, buffer: str, tensors: frozenset[str]) -> Expr:
    if buffer in tensors:
        return Var(f"bytes.{buffer}")
    return num(BYTES[walk.buffers[buffer].dtype])


def _once_more(
    buffer: str, nest: _Nest, size: Expr, often: Expr, *, of_all: bool = False
) -> Iterator[Again]:
    """All cells once: between lies what an agent touches of them, or ``of_all`` agents."""
    named = [loop for loop in (*nest.outer, *nest.box) if loop.name in nest.names]
    moved = mul([often, size, *(loop.count for loop in named)])
    inside = [loop.count for loop in named if of_all or loop.kind != "grid"]
    yield Again(buffer, moved, mul([size, *inside]))


def _reuse(buffer: str, nest: _Nest, size: Expr, often: Expr) -> Iterator[Again]:
    """A loop around the apply that does not name the access reads what those inside it touch."""
    loops = (*nest.outer, *nest.box)
    for place, loop in enumerate(nest.outer):
        inner = [n for n in loops[place + 1 :] if n.name in nest.names]
        if loop.name in nest.names or is_single(loop) or not inner:
            continue
        held = mul([size, *(n.count for n in inner)])
        before = mul([n.count for n in nest.outer[:place]])
        again = minus(loop.count, num(1))
        yield Again(buffer, mul([often, before, again, held]), held)


def _just_met(access: Access, leaf: Leaf, before: list[Leaf]) -> bool:
    """Another apply of the same block has just touched the very cells."""
    for other in reversed(before):
        if other.block != leaf.block:
            return False
        touched = (other.apply.destination, *accesses(other.apply.value))
        if any((a.buffer, a.index) == (access.buffer, access.index) for a in touched):
            return True
    return False
