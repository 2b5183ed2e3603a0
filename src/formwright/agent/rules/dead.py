"""Storage that nothing reads any more goes, with what is stored there."""

from collections.abc import Iterable
from dataclasses import replace

from formwright.ir.program import Alloc, Apply, Par, Stmt
from formwright.ir.rewrite import accesses
from formwright.ir.walk import Block, body_of, statements, with_body


def without_dead(program: Block, kept: Iterable[str]) -> Block:
    """``program`` without buffers that are only written, unless they are ``kept`` for a stage."""
    before: Block = ()
    while program != before:
        before, program = program, _block(program, frozenset(kept))
    return program


def _block(block: Block, kept: frozenset[str]) -> Block:
    found = list[Stmt]()
    for place, stmt in enumerate(block):
        if isinstance(stmt, Alloc):
            read = _read(block[place + 1 :])
            gone = {b.name for b in stmt.buffers if b.name not in read | kept}
            if gone:
                left = tuple(b for b in stmt.buffers if b.name not in gone)
                rest = _without_stores(block[place + 1 :], frozenset(gone))
                return (*found, *((replace(stmt, buffers=left),) if left else ()), *rest)
        body = body_of(stmt)
        found.append(with_body(stmt, _block(body, kept)) if body else stmt)
    return tuple(found)


def _read(block: Block) -> frozenset[str]:
    return frozenset(
        a.buffer for s in statements(block) if isinstance(s, Apply) for a in accesses(s.value)
    )


def _without_stores(block: Block, gone: frozenset[str]) -> Block:
    """Stores to ``gone`` and the loops and guards that have nothing else."""
    found = list[Stmt]()
    for stmt in block:
        if isinstance(stmt, Apply) and stmt.destination.buffer in gone:
            continue
        body = body_of(stmt)
        inner = _without_stores(body, gone)
        if body and not inner and not isinstance(stmt, Par):
            continue
        found.append(with_body(stmt, inner) if body else stmt)
    return tuple(found)
