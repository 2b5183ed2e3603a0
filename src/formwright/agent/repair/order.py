"""Edits of what happens before what: barriers, waits, and the places of statements."""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.repair.bounds import guards_at
from formwright.agent.repair.donors import Donors, words_at
from formwright.agent.repair.edits import Edit
from formwright.agent.repair.expressions import neighbours
from formwright.agent.repair.places import Place, line_of, places, statements
from formwright.ir import walk
from formwright.ir.expr import ONE, ZERO, Expr, Var
from formwright.ir.program import (
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.ir.template import Template
from formwright.ir.walk import Block

Sync = Barrier | Commit | Wait | Arrive | Await


def order_edits(template: Template, known: Donors) -> Iterator[Edit]:
    """Synchronisation put in, taken out, moved and counted otherwise; statements moved."""
    for place in places(template):
        if place.is_team:
            yield from _put_in(place, known)
    for place, at, stmt in statements(template):
        line = (line_of(stmt),)
        if _is_sync(stmt):
            yield Edit(place.with_stmt(at), "order")
            yield from _moved_sync(place, at, stmt)
            yield from _counted(place, at, stmt)
        if isinstance(stmt, Apply):
            changed = replace(stmt, asynchronous=not stmt.asynchronous)
            yield Edit(place.with_stmt(at, changed), "order", line, 3)
    for place in places(template):
        yield from _moved(place)
        yield from _in_and_out(place)
        yield from _interchanged(place)


def _put_in(place: Place, known: Donors) -> Iterator[Edit]:
    conditions = [c for c, size in guards_at(place, known) if size == 1]
    has_groups = _uses_groups(place.template.program)
    for at in range(len(place.body) + 1):
        yield Edit(place.with_inserted(at, Barrier()), "order")
        for cond in conditions:
            new = If(cond, (Barrier(),))
            yield Edit(place.with_inserted(at, new), "order", (), 2)
        if has_groups:
            yield Edit(place.with_inserted(at, Commit()), "order", (), 2)
            for pending in _pendings(place.template):
                new_wait = Wait(pending)
                yield Edit(place.with_inserted(at, new_wait), "order", (), 2)


def _pendings(template: Template) -> Iterator[Expr]:
    found: dict[Expr, None] = {ZERO: None, ONE: None}
    for _, _, stmt in statements(template):
        if isinstance(stmt, Wait):
            found[stmt.pending] = None
    for decision in template.decisions:
        if max(decision.menu) <= 8:
            found[Var(decision.name)] = None
    yield from found


def _uses_groups(body: Block) -> bool:
    return any(
        isinstance(stmt, Commit | Wait) or (isinstance(stmt, Apply) and stmt.asynchronous)
        for stmt in walk.statements(body)
    )


def _is_sync(stmt: Stmt) -> bool:
    if isinstance(stmt, If):
        return bool(stmt.body) and all(_is_sync(s) for s in stmt.body)
    return isinstance(stmt, Barrier | Commit | Wait | Arrive | Await)


def _moved_sync(place: Place, at: int, stmt: Stmt) -> Iterator[Edit]:
    """Taken out here and put in at any other place of a team."""
    for other in places(place.with_stmt(at)()):
        if not other.is_team:
            continue
        for gap in range(len(other.body) + 1):
            if other.path == place.path and gap == at:
                continue
            near = len(other.path) == len(place.path) and other.path == place.path
            size = 0 if near and abs(gap - at) <= 2 else 0.5
            yield Edit(other.with_inserted(gap, stmt), "order", (), size)
    if isinstance(stmt, If):
        for inner in stmt.body:
            yield Edit(place.with_stmt(at, inner), "order", (line_of(inner),))


def _counted(place: Place, at: int, stmt: Stmt) -> Iterator[Edit]:
    words = words_at(place)
    several: list[tuple[Stmt, int]] = []
    match stmt:
        case Wait(pending):
            several += [(replace(stmt, pending=p), 1) for p in _pendings(place.template)]
            several += [(replace(stmt, pending=p), s) for p, s in neighbours(pending, words)]
        case Await(_, count, index, phase):
            several += [(replace(stmt, count=c), s) for c, s in neighbours(count, words)]
            if index is not None:
                several += [(replace(stmt, index=i), s) for i, s in neighbours(index, words)]
            if phase is not None:
                several += [(replace(stmt, phase=p), s) for p, s in neighbours(phase, words)]
        case Arrive(_, index) if index is not None:
            several += [(replace(stmt, index=i), s) for i, s in neighbours(index, words)]
        case _:
            pass
    for new, size in several:
        if new != stmt:
            yield Edit(place.with_stmt(at, new), "order", (), size)


def _moved(place: Place) -> Iterator[Edit]:
    """A statement at another place of its block."""
    for at, stmt in enumerate(place.body):
        if isinstance(stmt, Hint) or _is_sync(stmt):
            continue
        rest = (*place.body[:at], *place.body[at + 1 :])
        for to in range(len(rest) + 1):
            if to == at or (to == at + 1 and _same(place.body, at)):
                continue
            block = (*rest[:to], stmt, *rest[to:])
            size = 1 if abs(to - at) == 1 else 2
            yield Edit(place.with_block(block), "order", (line_of(stmt),), size)


def _same(body: Block, at: int) -> bool:
    return at + 1 < len(body) and body[at] == body[at + 1]


def _in_and_out(place: Place) -> Iterator[Edit]:
    """The last or first statement of an inner block outside of it, and the other way round."""
    for at, stmt in enumerate(place.body):
        if not isinstance(stmt, For | If | Par):
            continue
        inner, before, after = stmt.body, place.body[:at], place.body[at + 1 :]
        line = (line_of(stmt),)
        if len(inner) > 1:
            last = replace(stmt, body=inner[:-1])
            first = replace(stmt, body=inner[1:])
            yield Edit(place.with_block((*before, last, inner[-1], *after)), "order", line)
            yield Edit(place.with_block((*before, inner[0], first, *after)), "order", line)
        if after:
            more = replace(stmt, body=(*inner, after[0]))
            yield Edit(place.with_block((*before, more, *after[1:])), "order", line)
        if before:
            more = replace(stmt, body=(before[-1], *inner))
            yield Edit(place.with_block((*before[:-1], more, *after)), "order", line)


def _interchanged(place: Place) -> Iterator[Edit]:
    """A loop and the only statement in it, a loop or guard, in the other order; loops as forks."""
    for at, stmt in enumerate(place.body):
        line = (line_of(stmt),)
        if isinstance(stmt, For | If) and len(stmt.body) == 1:
            inner = stmt.body[0]
            if isinstance(inner, For | If):
                outer = replace(inner, body=(replace(stmt, body=inner.body),))
                yield Edit(place.with_stmt(at, outer), "order", line, 2)
        if isinstance(stmt, Par) and stmt.kind == "grid" and len(stmt.vars) == 1:
            loop = For(stmt.vars[0], ZERO, stmt.extents[0], stmt.body, stmt.span)
            yield Edit(place.with_stmt(at, loop), "order", line, 2)
        if isinstance(stmt, For) and stmt.lo == ZERO:
            grid = Par("grid", (stmt.var,), (stmt.hi,), stmt.body, stmt.span)
            yield Edit(place.with_stmt(at, grid), "order", line, 3)
