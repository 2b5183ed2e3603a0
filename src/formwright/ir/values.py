"""Names and parts of values, accesses and statements."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from formwright.ir.expr import Expr
from formwright.ir.program import (
    Access,
    Apply,
    BoxVar,
    Index,
    Literal,
    Op,
    Read,
    Select,
    Stmt,
    Value,
)
from formwright.ir.rewrite import accesses, free_names, map_access, map_stmt, map_value


def names_of(value: Value) -> frozenset[str]:
    """Free names of the index expressions of ``value``."""
    return _noted(lambda note: map_value(value, note))


def names_of_access(access: Access) -> frozenset[str]:
    return _noted(lambda note: map_access(access, note))


def row_names(access: Access) -> frozenset[str]:
    """Free names in front of the last index: what steps from row to row."""
    return frozenset[str]().union(*(free_names(i) for i in access.index[:-1]))


def names_of_stmt(stmt: Stmt) -> frozenset[str]:
    """Free names of all expressions in ``stmt``, its block included (bound ones too)."""
    return _noted(lambda note: map_stmt(stmt, note))


def _noted(run: Callable[[Callable[[Expr], Expr]], object]) -> frozenset[str]:
    found = set[str]()

    def note(expr: Expr) -> Expr:
        found.update(free_names(expr))
        return expr

    run(note)
    return frozenset(found)


def all_accesses(apply: Apply) -> tuple[Access, ...]:
    """The destination, then what is read."""
    return (apply.destination, *accesses(apply.value))


def map_accesses(value: Value, f: Callable[[Access], Access]) -> Value:
    """``value`` with ``f`` of every access in its place."""

    def change(part: Value) -> Value:
        return replace(part, access=f(part.access)) if isinstance(part, Read) else part

    return map_parts(value, change)


def map_parts(value: Value, f: Callable[[Value], Value]) -> Value:
    """``value`` with ``f`` of every part, inner ones first."""
    match value:
        case Literal() | Read() | Index():
            return f(value)
        case Op(name, args):
            return f(Op(name, tuple(map_parts(a, f) for a in args), value.span))
        case Select(cond, then, other):
            return f(Select(cond, map_parts(then, f), map_parts(other, f), value.span))
        case _:
            assert_never(value)


def parts(value: Value) -> Iterator[Value]:
    """``value`` and every part of it, outer ones first."""
    yield value
    match value:
        case Op(_, args):
            for arg in args:
                yield from parts(arg)
        case Select(_, then, other):
            yield from parts(then)
            yield from parts(other)
        case _:
            return


def swapped(value: Value, old: Value, new: Value) -> Value:
    """``value`` with every part that equals ``old`` replaced."""
    if value == old:
        return new
    match value:
        case Op(name, args):
            return Op(name, tuple(swapped(a, old, new) for a in args), value.span)
        case Select(cond, then, other):
            return Select(cond, swapped(then, old, new), swapped(other, old, new), value.span)
        case _:
            return value


def with_box(apply: Apply, box: tuple[BoxVar, ...]) -> Apply:
    """``apply`` over ``box``, names that stand nowhere in it left out."""
    used = names_of_stmt(replace(apply, box=()))
    return replace(apply, box=tuple(b for b in box if b.name in used))
