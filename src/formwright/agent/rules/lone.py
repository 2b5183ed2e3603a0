"""Cells that stand alone: a buffer of shape ``[1]``, indexed by 0 or by a name of extent 1.

A blocking gives such a buffer an index; the one of extent 1 then says nothing and goes.
"""

from collections.abc import Iterable
from dataclasses import replace

from formwright.agent.rules.tree import allocated
from formwright.agent.rules.values import is_number
from formwright.ir.expr import ZERO, Expr, Var
from formwright.ir.program import Access, Alloc, Apply, Buffer, For, If, Par, Stmt
from formwright.ir.rewrite import substitute
from formwright.ir.template import Realised
from formwright.ir.values import all_accesses, map_accesses, with_box
from formwright.ir.walk import Block, statements


def lone_buffers(block: Block, among: Iterable[str]) -> frozenset[str]:
    """Those of ``among`` allocated in ``block`` that have one cell, and are used as one."""
    local = allocated(block)
    found = {n for n in among if n in local and _all_one(local[n])}
    for stmt in statements(block):
        if isinstance(stmt, Apply):
            for access in all_accesses(stmt):
                if not all(_says_nothing(i, stmt) for i in access.index):
                    found.discard(access.buffer)
    return frozenset(found)


def _says_nothing(index: Expr, apply: Apply) -> bool:
    if isinstance(index, Var):
        return any(b.name == index.name and is_number(b.extent, 1) for b in apply.box)
    return is_number(index, 0)


def _all_one(buffer: Buffer) -> bool:
    return bool(buffer.shape) and all(is_number(s, 1) for s in buffer.shape)


def without_index(block: Block, lone: frozenset[str]) -> Block:
    """``block`` with the shapes and indices of ``lone`` empty, for another index to be put in."""
    return tuple(_stmt(s, lone) for s in block)


def stages_without_index(
    realised: tuple[Realised, ...], lone: frozenset[str]
) -> tuple[Realised, ...]:
    """The section ``realise``: the names of indices that went are 0."""
    return tuple(
        replace(
            r,
            index=tuple(substitute(i, dict.fromkeys(r.names, ZERO)) for i in r.index),
            names=(),
        )
        if r.buffer in lone
        else r
        for r in realised
    )


def _stmt(stmt: Stmt, lone: frozenset[str]) -> Stmt:
    match stmt:
        case Alloc(buffers):
            emptied = (replace(b, shape=()) if b.name in lone else b for b in buffers)
            return replace(stmt, buffers=tuple(emptied))
        case For(_, _, _, body) | Par(_, _, _, body) | If(_, body):
            return replace(stmt, body=without_index(body, lone))
        case Apply(_, destination, _, value):

            def change(access: Access) -> Access:
                return replace(access, index=()) if access.buffer in lone else access

            emptied_here = replace(
                stmt, destination=change(destination), value=map_accesses(value, change)
            )
            return with_box(emptied_here, stmt.box)
        case _:
            return stmt
