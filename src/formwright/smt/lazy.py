"""What is read or divided by only under a condition (rule P13, and ``evaluate``'s laziness)."""

from collections.abc import Iterator
from dataclasses import dataclass
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
from formwright.ir.program import Access, Apply, Index, Literal, Op, Read, Select, Value

Way = tuple[Expr, ...]
"""Conditions that hold where something is evaluated, in the order of their evaluation."""


@dataclass(frozen=True, slots=True)
class Reach:
    """An access that is made only ``when`` the selects around it choose its side."""

    access: Access
    when: Way = ()


def reads_of(value: Value, when: Way = ()) -> Iterator[Reach]:
    """Every read of a value with what must hold for it to be made."""
    match value:
        case Literal() | Index():
            return
        case Read(access):
            yield Reach(access, when)
        case Op(_, args):
            for arg in args:
                yield from reads_of(arg, when)
        case Select(cond, then, other):
            yield from reads_of(then, (*when, cond))
            yield from reads_of(other, (*when, Not(cond)))
        case _:
            assert_never(value)


def reaches(apply: Apply) -> tuple[Reach, ...]:
    """Every access of an apply once, the destination first."""
    return tuple(dict.fromkeys((Reach(apply.destination), *reads_of(apply.value))))


def expressions_of(value: Value, when: Way = ()) -> Iterator[tuple[Way, Expr]]:
    """Every expression of a value with what must hold for it to be evaluated."""
    match value:
        case Literal():
            return
        case Read(access):
            for expr in expressions_in(access):
                yield when, expr
        case Index(expr):
            yield when, expr
        case Op(_, args):
            for arg in args:
                yield from expressions_of(arg, when)
        case Select(cond, then, other):
            yield when, cond
            yield from expressions_of(then, (*when, cond))
            yield from expressions_of(other, (*when, Not(cond)))
        case _:
            assert_never(value)


def expressions_in(access: Access) -> Iterator[Expr]:
    """The indices of an access and its generation."""
    yield from access.index
    if access.generation is not None:
        yield access.generation


@dataclass(frozen=True, slots=True)
class Divisor:
    """``expr`` is divided by where ``way`` holds; ``exact``: by ``/``, on rationals."""

    way: Way
    expr: Expr
    exact: bool
    bound: tuple[str, ...] = ()


def divisors(expr: Expr, way: Way = (), bound: tuple[str, ...] = ()) -> Iterator[Divisor]:
    """Divisors inside ``expr`` that are not plain positive numbers, each with its way.

    ``and``, ``or``, ``=>`` and ``if`` evaluate only the side that they need.
    """
    match expr:
        case Num() | Truth() | Var():
            return
        case Arith(op, a, b):
            yield from divisors(a, way, bound)
            yield from divisors(b, way, bound)
            if op in ("/", "//", "mod") and not (isinstance(b, Num) and b.value >= 1):
                yield Divisor(way, b, op == "/", bound)
        case Logic(op, a, b):
            yield from divisors(a, way, bound)
            yield from divisors(b, (*way, Not(a) if op == "or" else a), bound)
        case Compare(_, a, b):
            yield from divisors(a, way, bound)
            yield from divisors(b, way, bound)
        case Neg(a) | Round(_, a) | Not(a):
            yield from divisors(a, way, bound)
        case MinMax(_, args) | Cell(_, args):
            for arg in args:
                yield from divisors(arg, way, bound)
        case Cond(c, a, b):
            yield from divisors(c, way, bound)
            yield from divisors(a, (*way, c), bound)
            yield from divisors(b, (*way, Not(c)), bound)
        case Sum(var, lo, hi, body):
            yield from divisors(lo, way, bound)
            yield from divisors(hi, way, bound)
            inside = (Compare("<=", lo, Var(var)), Compare("<", Var(var), hi))
            yield from divisors(body, (*way, *inside), (*bound, var))
        case _:
            assert_never(expr)
