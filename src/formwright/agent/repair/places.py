"""Blocks of a program with what is in sight there, and templates with one block changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from formwright.agent.repair.edits import Make
from formwright.ir.expr import Expr
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
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
from formwright.ir.values import with_box
from formwright.ir.walk import Block


@dataclass(frozen=True, slots=True)
class Place:
    """A block of the program of ``template``.

    ``loops`` maps the names of the loops and forks around it, outermost first, to the number of
    their values (for a loop from ``lo`` on: its upper bound); ``buffers`` are those in sight at
    its start and those that it allocates itself. ``put`` gives the template with another block.
    """

    template: Template
    path: tuple[int, ...]
    body: Block
    loops: Mapping[str, Expr]
    buffers: Mapping[str, Buffer]
    is_team: bool
    put: Callable[[Block], Template]

    def with_stmt(self, at: int, *stmts: Stmt) -> Make:
        """``stmts`` in the place of statement ``at``."""
        return self.with_block((*self.body[:at], *stmts, *self.body[at + 1 :]))

    def with_inserted(self, at: int, *stmts: Stmt) -> Make:
        """``stmts`` before statement ``at``."""
        return self.with_block((*self.body[:at], *stmts, *self.body[at:]))

    def with_block(self, block: Block) -> Make:
        """Another block in its place, made when it is asked for."""
        return partial(self.put, block)


def places(template: Template) -> Iterator[Place]:
    """Every block of the program, outer ones first."""
    tensors = {b.name: b for b in template.globals}

    def put(block: Block) -> Template:
        return replace(template, program=block)

    yield from _walk(template, (), template.program, {}, tensors, False, put)


def _walk(
    template: Template,
    path: tuple[int, ...],
    body: Block,
    loops: Mapping[str, Expr],
    buffers: Mapping[str, Buffer],
    is_team: bool,
    put: Callable[[Block], Template],
) -> Iterator[Place]:
    seen = dict(buffers)
    for stmt in body:
        if isinstance(stmt, Alloc):
            seen.update((b.name, b) for b in stmt.buffers)
    yield Place(template, path, body, loops, seen, is_team, put)
    for at, stmt in enumerate(body):
        if not isinstance(stmt, For | Par | If):
            continue

        def inner(block: Block, at: int = at, stmt: For | Par | If = stmt) -> Template:
            return put((*body[:at], replace(stmt, body=block), *body[at + 1 :]))

        match stmt:
            case For(var, _, hi):
                around, team = {**loops, var: hi}, is_team
            case Par(kind, names, extents):
                around = {**loops, **dict(zip(names, extents, strict=True))}
                team = kind == "team"
            case If():
                around, team = dict(loops), is_team
        yield from _walk(template, (*path, at), stmt.body, around, seen, team, inner)


def statements(template: Template) -> Iterator[tuple[Place, int, Stmt]]:
    """Every statement with its block and its place there."""
    for place in places(template):
        for at, stmt in enumerate(place.body):
            yield place, at, stmt


def line_of(stmt: Stmt) -> int:
    """The line of the text that the statement came from, 0 for a new one."""
    return stmt.span.line if stmt.span else 0


def with_access(apply: Apply, number: int, access: Access) -> Apply:
    """The apply with another access in the place of number ``number`` of :func:`all_accesses`.

    Names of the box that nothing uses any more are gone from it.
    """
    return with_box(_with_access(apply, number, access), apply.box)


def _with_access(apply: Apply, number: int, access: Access) -> Apply:
    if number == 0:
        return replace(apply, destination=access)
    count = 0

    def go(value: Value) -> Value:
        nonlocal count
        match value:
            case Literal() | Index():
                return value
            case Read():
                count += 1
                return replace(value, access=access) if count == number else value
            case Op(_, args):
                return replace(value, args=tuple(go(a) for a in args))
            case Select(_, then, other):
                first = go(then)
                return replace(value, then=first, other=go(other))
            case _:
                assert_never(value)

    return replace(apply, value=go(apply.value))
