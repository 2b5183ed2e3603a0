"""Statements inside statements: one way through a program for all its readers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from formwright.ir.program import (
    Alloc,
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

Path = tuple[int, ...]
"""The places of the statements on the way down, outermost first."""
Block = tuple[Stmt, ...]


def body_of(stmt: Stmt) -> Block:
    """The statements below; none for what has no block."""
    match stmt:
        case For(body=body) | Par(body=body) | If(body=body):
            return body
        case Alloc() | Apply() | Barrier() | Commit() | Wait() | Arrive() | Await() | Hint():
            return ()
        case _:
            assert_never(stmt)


def with_body(stmt: Stmt, body: Block) -> Stmt:
    """A loop, fork or guard with another block. Raises ``ValueError`` for others."""
    match stmt:
        case For() | Par() | If():
            return replace(stmt, body=body)
        case _:
            raise ValueError("this statement has no block")


def walk(block: Sequence[Stmt], path: Path = ()) -> Iterator[tuple[Path, Stmt]]:
    """Every statement with its path, from top to bottom, outer ones first."""
    for at, stmt in enumerate(block):
        yield (*path, at), stmt
        yield from walk(body_of(stmt), (*path, at))


def statements(block: Sequence[Stmt]) -> Iterator[Stmt]:
    """As :func:`walk`, without the paths."""
    for stmt in block:
        yield stmt
        yield from statements(body_of(stmt))
