"""Structural maps over expressions and programs: children, free names, substitution."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from formwright.ir.expr import (
    Arith,
    Cell,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    BoxVar,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)

OnExpr = Callable[[Expr], Expr]


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match expr:
        case Num() | Truth() | Var():
            return ()
        case Cell(_, index):
            return index
        case Arith(_, a, b) | Compare(_, a, b) | Logic(_, a, b):
            return (a, b)
        case Neg(a) | Round(_, a) | Not(a):
            return (a,)
        case MinMax(_, args):
            return args
        case Cond(c, a, b):
            return (c, a, b)
        case Sum(_, lo, hi, body):
            return (lo, hi, body)
        case _:
            assert_never(expr)


def map_children(expr: Expr, f: OnExpr) -> Expr:
    """``expr`` with ``f`` of its direct subexpressions in their places."""
    match expr:
        case Num() | Truth() | Var():
            return expr
        case Cell(name, index):
            return Cell(name, tuple(f(i) for i in index), expr.span)
        case Arith(op, a, b):
            return Arith(op, f(a), f(b), expr.span)
        case Compare(cop, a, b):
            return Compare(cop, f(a), f(b), expr.span)
        case Logic(lop, a, b):
            return Logic(lop, f(a), f(b), expr.span)
        case Neg(a):
            return Neg(f(a), expr.span)
        case Round(rop, a):
            return Round(rop, f(a), expr.span)
        case Not(a):
            return Not(f(a), expr.span)
        case MinMax(mop, args):
            return MinMax(mop, tuple(f(a) for a in args), expr.span)
        case Cond(c, a, b):
            return Cond(f(c), f(a), f(b), expr.span)
        case Sum(var, lo, hi, body):
            return Sum(var, f(lo), f(hi), f(body), expr.span)
        case _:
            assert_never(expr)


def free_names(expr: Expr) -> frozenset[str]:
    """Names that ``expr`` needs a value for."""
    match expr:
        case Num() | Truth():
            return frozenset()
        case Var(name):
            return frozenset((name,))
        case Cell(name, index):
            return frozenset((name,)).union(*(free_names(i) for i in index))
        case Arith(_, a, b) | Compare(_, a, b) | Logic(_, a, b):
            return free_names(a) | free_names(b)
        case Neg(a) | Round(_, a) | Not(a):
            return free_names(a)
        case MinMax(_, args):
            return frozenset().union(*(free_names(a) for a in args))
        case Cond(c, a, b):
            return free_names(c) | free_names(a) | free_names(b)
        case Sum(var, lo, hi, body):
            return free_names(lo) | free_names(hi) | (free_names(body) - {var})
        case _:
            assert_never(expr)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """``expr`` with names replaced; a bound name of a sum shadows."""
    if not values:
        return expr

    def go(e: Expr) -> Expr:
        return substitute(e, values)

    match expr:
        case Var(name):
            return values.get(name, expr)
        case Sum(var, lo, hi, body):
            inner = {k: v for k, v in values.items() if k != var}
            return Sum(var, go(lo), go(hi), substitute(body, inner), expr.span)
        case _:
            return map_children(expr, go)


def interned(expr: Expr, known: dict[Expr, Expr]) -> Expr:
    """``expr`` with equal parts as one object, those of ``known`` included."""
    built = map_children(expr, lambda child: interned(child, known))
    return known.setdefault(built, built)


def map_value(value: Value, f: OnExpr) -> Value:
    """``value`` with every index expression mapped."""
    match value:
        case Literal():
            return value
        case Read(access):
            return Read(map_access(access, f), value.span)
        case Index(expr):
            return Index(f(expr), value.span)
        case Op(name, args):
            return Op(name, tuple(map_value(a, f) for a in args), value.span)
        case Select(cond, then, other):
            return Select(f(cond), map_value(then, f), map_value(other, f), value.span)
        case _:
            assert_never(value)


def map_access(access: Access, f: OnExpr) -> Access:
    generation = None if access.generation is None else f(access.generation)
    return replace(access, index=tuple(f(i) for i in access.index), generation=generation)


def map_buffer(buffer: Buffer, f: OnExpr) -> Buffer:
    ring = None if buffer.ring is None else f(buffer.ring)
    return replace(buffer, shape=tuple(f(s) for s in buffer.shape), ring=ring)


def map_stmt(stmt: Stmt, f: OnExpr) -> Stmt:
    """``stmt`` with every expression in it mapped (bound names are the caller's care)."""
    match stmt:
        case Alloc(buffers):
            return replace(stmt, buffers=tuple(map_buffer(b, f) for b in buffers))
        case For(_, lo, hi, body):
            return replace(stmt, lo=f(lo), hi=f(hi), body=map_body(body, f))
        case Par(_, _, extents, body):
            return replace(stmt, extents=tuple(f(e) for e in extents), body=map_body(body, f))
        case If(cond, body):
            return replace(stmt, cond=f(cond), body=map_body(body, f))
        case Apply(box, destination, _, value):
            return replace(
                stmt,
                box=tuple(BoxVar(b.name, f(b.extent)) for b in box),
                destination=map_access(destination, f),
                value=map_value(value, f),
            )
        case Wait(pending):
            return replace(stmt, pending=f(pending))
        case Await(_, count, index, phase):
            return replace(
                stmt,
                count=f(count),
                index=None if index is None else f(index),
                phase=None if phase is None else f(phase),
            )
        case Arrive(_, index):
            return stmt if index is None else replace(stmt, index=f(index))
        case Hint(_, factor, access):
            inner = None if access is None else map_access(access, f)
            return replace(stmt, factor=f(factor), access=inner)
        case Barrier() | Commit():
            return stmt
        case _:
            assert_never(stmt)


def map_body(body: tuple[Stmt, ...], f: OnExpr) -> tuple[Stmt, ...]:
    return tuple(map_stmt(s, f) for s in body)


def accesses(value: Value) -> Iterator[Access]:
    """Every buffer access of a value, left to right."""
    match value:
        case Literal() | Index():
            return
        case Read(access):
            yield access
        case Op(_, args):
            for arg in args:
                yield from accesses(arg)
        case Select(_, then, other):
            yield from accesses(then)
            yield from accesses(other)
        case _:
            assert_never(value)
