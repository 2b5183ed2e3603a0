"""Edits of storage and of what is done with it: rings, shapes, homes, operators, first values."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import get_args

from formwright.agent.repair.donors import words_at
from formwright.agent.repair.edits import Edit
from formwright.agent.repair.expressions import neighbours
from formwright.agent.repair.places import Place, line_of, statements
from formwright.ir import walk
from formwright.ir.expr import Expr, Var
from formwright.ir.program import (
    Alloc,
    Apply,
    ApplyOp,
    Buffer,
    For,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
)
from formwright.ir.template import Template
from formwright.ir.values import all_accesses


def storage_edits(template: Template) -> Iterator[Edit]:
    """Rings, shapes, owners and homes; an ``alloc`` further out or further in."""
    for place, at, stmt in statements(template):
        line = (line_of(stmt),)
        match stmt:
            case Alloc(buffers):
                for number, buffer in enumerate(buffers):
                    for new, size in _buffers(place, buffer):
                        several = (*buffers[:number], new, *buffers[number + 1 :])
                        changed = replace(stmt, buffers=several)
                        yield Edit(place.with_stmt(at, changed), "storage", line, size)
                yield from _inwards(place, at, stmt)
            case For() | Par() | If():
                for inner, alloc in enumerate(stmt.body):
                    if isinstance(alloc, Alloc):
                        rest = replace(stmt, body=(*stmt.body[:inner], *stmt.body[inner + 1 :]))
                        yield Edit(place.with_stmt(at, alloc, rest), "storage", line, 2)
            case _:
                pass


def _inwards(place: Place, at: int, alloc: Alloc) -> Iterator[Edit]:
    """As the first statement of a later block of the same block."""
    for later in range(at + 1, len(place.body)):
        stmt = place.body[later]
        if isinstance(stmt, For | Par | If):
            inner = replace(stmt, body=(alloc, *stmt.body))
            block = (*place.body[:at], *place.body[at + 1 : later], inner, *place.body[later + 1 :])
            yield Edit(place.with_block(block), "storage", (line_of(alloc),), 2)


def _buffers(place: Place, buffer: Buffer) -> Iterator[tuple[Buffer, int]]:
    words = words_at(place)
    if buffer.ring is not None:
        for new, size in neighbours(buffer.ring, words):
            yield replace(buffer, ring=new), size
    for number, extent in enumerate(buffer.shape):
        others = [(e, 1) for e in _extents(place, buffer, number)]
        for new, size in (*others, *neighbours(extent, words)):
            if new != extent:
                shape = (*buffer.shape[:number], new, *buffer.shape[number + 1 :])
                yield replace(buffer, shape=shape), size
    for dist in range(len(buffer.shape) + 1):
        if dist != buffer.dist:
            yield replace(buffer, dist=dist), 2
    homes = {"register": "scratch", "scratch": "shared", "shared": "scratch"}
    if buffer.home in homes:
        home = homes[buffer.home]
        yield replace(buffer, home=home), 3  # type: ignore[arg-type]


def _extents(place: Place, buffer: Buffer, number: int) -> Iterator[Expr]:
    """Extents of the box names that stand alone in this dimension, and of other buffers there."""
    for _, _, stmt in statements(place.template):
        if isinstance(stmt, Apply):
            box = {b.name: b.extent for b in stmt.box}
            for access in all_accesses(stmt):
                if access.buffer == buffer.name and number < len(access.index):
                    index = access.index[number]
                    if isinstance(index, Var) and index.name in box:
                        yield box[index.name]
    for other in place.buffers.values():
        if other.name != buffer.name and len(other.shape) == len(buffer.shape):
            yield other.shape[number]


def update_edits(template: Template) -> Iterator[Edit]:
    """Another operator, another first value, a value of another form."""
    for place, at, stmt in statements(template):
        if isinstance(stmt, Apply):
            line = (line_of(stmt),)
            for op in get_args(ApplyOp):
                if op != stmt.op:
                    new = replace(stmt, op=op)
                    yield Edit(place.with_stmt(at, new), "update", line)
            for value, size in _values(stmt.value):
                new = replace(stmt, value=value)
                yield Edit(place.with_stmt(at, new), "update", line, size)
    yield from _first_values(template)


def _values(value: Value) -> Iterator[tuple[Value, int]]:
    match value:
        case Literal(number):
            for constant in (0, 1, -1):
                if number != constant:
                    yield Literal(Fraction(constant)), 2
        case Op(name, args):
            yield from ((arg, 2) for arg in args)
            if len(args) == 2:
                yield replace(value, args=(args[1], args[0])), 1
                for other_name in ("+", "-", "*", "/", "max", "min"):
                    if other_name != name:
                        yield replace(value, name=other_name), 2
            else:
                for other_name in ("exp", "sqrt", "rsqrt", "neg"):
                    if other_name != name:
                        yield replace(value, name=other_name), 2
            for at, arg in enumerate(args):
                for new, size in _values(arg):
                    yield replace(value, args=(*args[:at], new, *args[at + 1 :])), size
        case Select(_, then, other):
            yield replace(value, then=other, other=then), 2
            yield then, 2
            for new, size in _values(then):
                yield replace(value, then=new), size
            for new, size in _values(other):
                yield replace(value, other=new), size
        case Read() | Index():
            pass


def _first_values(template: Template) -> Iterator[Edit]:
    """``b[…] = 0`` before what accumulates into ``b``, at each place where ``b`` is in sight."""
    accumulated: dict[str, Apply] = {}
    for _, _, stmt in statements(template):
        if isinstance(stmt, Apply) and stmt.op == "+=":
            accumulated.setdefault(stmt.destination.buffer, stmt)
    for name, apply in accumulated.items():
        box = {b.name for b in apply.box}
        if not all(isinstance(i, Var) and i.name in box for i in apply.destination.index):
            continue
        used = {i.name for i in apply.destination.index if isinstance(i, Var)}
        first: Stmt = Apply(
            tuple(b for b in apply.box if b.name in used),
            replace(apply.destination, clip=False),
            "=",
            Literal(Fraction(0)),
        )
        for place, at, stmt in statements(template):
            if name in place.buffers and _touches(stmt, name):
                edit = place.with_inserted(at, first)
                yield Edit(edit, "update", (line_of(stmt),), 2)


def _touches(stmt: Stmt, name: str) -> bool:
    return any(
        access.buffer == name
        for inner in walk.statements((stmt,))
        if isinstance(inner, Apply)
        for access in all_accesses(inner)
    )
