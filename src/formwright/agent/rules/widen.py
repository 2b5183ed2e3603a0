"""The one transformation under all blocking: a name's cells become a box of their own.

Below a loop or a fork over ``i`` each statement that depends on ``i`` is done for a block of cells
at once, ``i = b*R + r``, and each buffer that holds something of one ``i`` gets an index more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formwright.agent.rules.lone import lone_buffers, stages_without_index, without_index
from formwright.agent.rules.tree import allocated
from formwright.agent.rules.values import least, renamed
from formwright.ir.expr import ZERO, Arith, Expr, Var
from formwright.ir.fold import folded
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    BoxVar,
    Buffer,
    For,
    Hint,
    If,
    Par,
    Stmt,
)
from formwright.ir.rewrite import children, free_names, map_value, substitute
from formwright.ir.template import Realised
from formwright.ir.values import (
    all_accesses,
    map_accesses,
    names_of,
    names_of_access,
    names_of_stmt,
)
from formwright.ir.walk import Block, statements


class DoesNotFitError(Exception):
    """The text below depends on the name in a way that no box can say."""


@dataclass(frozen=True, slots=True)
class Widening:
    """``name`` becomes ``value`` with ``cell`` in ``0 .. extent``.

    ``limit``: how many cells there are at most, for applies that would leave a buffer; where the
    name stands in indices of ``tensors`` alone, rows are clipped. ``last``: the new index stands
    behind the others (lanes), not in front of them (rows).
    """

    name: str
    value: Expr
    cell: str
    extent: Expr
    limit: Expr
    last: bool
    tensors: frozenset[str]

    @property
    def first_cell(self) -> Expr:
        """The value for cell 0."""
        return substitute(self.value, {self.cell: ZERO})


def widened(block: Block, by: Widening) -> Block:
    """``block`` done for all cells of ``by``. Raises ``DoesNotFitError``."""
    grown = grown_buffers(block, by.name)
    _check_results(block, by.name, grown)
    emptied = without_index(block, lone_buffers(block, grown))
    return tuple(_stmt(s, by, grown) for s in emptied)


def grown_buffers(block: Block, name: str) -> dict[str, Buffer]:
    """Buffers allocated in ``block`` whose contents depend on ``name``."""
    local = allocated(block)
    grown = set[str]()
    changed = True
    while changed:
        changed = False
        for stmt in statements(block):
            if not isinstance(stmt, Apply):
                continue
            buffer = stmt.destination.buffer
            if buffer in grown or buffer not in local:
                continue
            if name in names_of_stmt(stmt) or any(a.buffer in grown for a in all_accesses(stmt)):
                grown.add(buffer)
                changed = True
    return {n: local[n] for n in local if n in grown}


def widened_stages(
    realised: tuple[Realised, ...], block: Block, by: Widening, names: Mapping[str, str]
) -> tuple[Realised, ...]:
    """The section ``realise`` after :func:`widened`; ``names`` gives each buffer a new index."""
    grown = grown_buffers(block, by.name)
    local = allocated(block)
    found = list[Realised]()
    for stage in stages_without_index(realised, lone_buffers(block, grown)):
        mentions = any(by.name in free_names(i) for i in stage.index)
        if stage.buffer in grown:
            cell = names[stage.buffer]
            value = substitute(by.value, {by.cell: Var(cell)})
            index = tuple(folded(substitute(i, {by.name: value})) for i in stage.index)
            cells = (*stage.names, cell) if by.last else (cell, *stage.names)
            stage = replace(stage, index=index, names=cells)
        elif mentions and stage.buffer in local:
            raise DoesNotFitError
        found.append(stage)
    return tuple(found)


def _check_results(block: Block, name: str, grown: Mapping[str, Buffer]) -> None:
    """What is written outside the block must name its cell, else cells would meet in it."""
    local = allocated(block)
    for stmt in statements(block):
        if isinstance(stmt, Apply) and stmt.destination.buffer not in local:
            depends = name in names_of_stmt(stmt) or any(
                a.buffer in grown for a in all_accesses(stmt)
            )
            if depends and name not in names_of_access(stmt.destination):
                raise DoesNotFitError


def _stmt(stmt: Stmt, by: Widening, grown: Mapping[str, Buffer]) -> Stmt:
    match stmt:
        case Alloc(buffers):
            return replace(stmt, buffers=tuple(_buffer(b, by, grown) for b in buffers))
        case For(_, lo, hi, body):
            if by.name in free_names(lo) | free_names(hi):
                raise DoesNotFitError
            return replace(stmt, body=tuple(_stmt(s, by, grown) for s in body))
        case Par(_, _, extents, body):
            if any(by.name in free_names(e) for e in extents):
                raise DoesNotFitError
            return replace(stmt, body=tuple(_stmt(s, by, grown) for s in body))
        case If(cond, body):
            if by.name in free_names(cond):
                raise DoesNotFitError
            return replace(stmt, body=tuple(_stmt(s, by, grown) for s in body))
        case Apply():
            return _apply(stmt, by, grown)
        case Hint():
            shown = renamed(stmt, {by.name: by.first_cell})
            if isinstance(shown, Hint) and shown.access is not None:
                shown = replace(shown, access=_access(shown.access, by, grown, ZERO, clip=False))
            return shown
        case _:
            if by.name in names_of_stmt(stmt):
                raise DoesNotFitError
            return stmt


def _buffer(buffer: Buffer, by: Widening, grown: Mapping[str, Buffer]) -> Buffer:
    if any(by.name in free_names(s) for s in buffer.shape):
        raise DoesNotFitError
    if buffer.name not in grown:
        return buffer
    if by.last:
        return replace(buffer, shape=(*buffer.shape, by.extent))
    dist = buffer.dist + 1 if buffer.dist else 0
    return replace(buffer, shape=(by.extent, *buffer.shape), dist=dist)


def _apply(apply: Apply, by: Widening, grown: Mapping[str, Buffer]) -> Apply:
    named = by.name in names_of_stmt(apply)
    if not named and not any(a.buffer in grown for a in all_accesses(apply)):
        return apply
    if any(by.name in free_names(b.extent) for b in apply.box):
        raise DoesNotFitError
    clipped = _only_tensors(apply, by) and not by.last and not _divides(apply)
    bounded = named and not clipped
    clip = named and not bounded
    values = {by.name: by.value}
    destination = _access(apply.destination, by, grown, Var(by.cell), clip=clip)
    value = map_accesses(
        map_value(apply.value, lambda e: substitute(e, values)),
        lambda a: _grown(a, by, grown, Var(by.cell), clip=clip),
    )
    cells = BoxVar(by.cell, least(by.extent, by.limit) if bounded else by.extent)
    box = (*apply.box, cells) if by.last else (cells, *apply.box)
    return replace(apply, destination=destination, value=value, box=box)


def _only_tensors(apply: Apply, by: Widening) -> bool:
    """The name stands in indices of tensors and nowhere else, so that clips can end the block."""
    named = [a for a in all_accesses(apply) if by.name in names_of_access(a)]
    hidden = map_accesses(apply.value, lambda a: replace(a, index=(), generation=None))
    return (
        bool(named)
        and all(a.buffer in by.tensors for a in named)
        and by.name not in names_of(hidden)
    )


def _divides(apply: Apply) -> bool:
    """Whether an index has a quotient: what a clip would compare is then hard to see through."""
    return any(_has_quotient(i) for a in all_accesses(apply) for i in a.index)


def _has_quotient(expr: Expr) -> bool:
    if isinstance(expr, Arith) and expr.op in ("//", "mod"):
        return True
    return any(_has_quotient(c) for c in children(expr))


def _access(
    access: Access, by: Widening, grown: Mapping[str, Buffer], cell: Expr, *, clip: bool
) -> Access:
    values = {by.name: by.value}
    index = tuple(substitute(i, values) for i in access.index)
    return _grown(replace(access, index=index), by, grown, cell, clip=clip)


def _grown(
    access: Access, by: Widening, grown: Mapping[str, Buffer], cell: Expr, *, clip: bool
) -> Access:
    """The index more of a grown buffer, the clip of a tensor; the name is replaced already."""
    if access.buffer in grown:
        index = (*access.index, cell) if by.last else (cell, *access.index)
        return replace(access, index=index)
    return replace(access, clip=access.clip or (clip and access.buffer in by.tensors))
