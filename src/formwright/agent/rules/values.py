"""Names and parts of values, accesses and applies, as the rules look at them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from formwright.ir.expr import Arith, Expr, MinMax, Num, Round, Var, num
from formwright.ir.fold import folded
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
from formwright.ir.rewrite import accesses, free_names, map_access, map_stmt, map_value, substitute


def ceil_div(top: Expr, bottom: Expr) -> Expr:
    """``ceil(top/bottom)``."""
    return folded(Round("ceil", Arith("/", top, bottom)))


def least(left: Expr, right: Expr) -> Expr:
    """``min(left, right)``."""
    return MinMax("min", (left, right))


def plus(left: Expr, right: Expr) -> Expr:
    return folded(Arith("+", left, right))


def minus(left: Expr, right: Expr) -> Expr:
    return folded(Arith("-", left, right))


def times(left: Expr, right: Expr) -> Expr:
    return folded(Arith("*", left, right))


def zero() -> Literal:
    return Literal(num(0).value)


def names_of(value: Value) -> frozenset[str]:
    """Free names of the index expressions of ``value``."""
    return _noted(lambda note: map_value(value, note))


def names_of_access(access: Access) -> frozenset[str]:
    return _noted(lambda note: map_access(access, note))


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


def renamed(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """``stmt`` with free names replaced. The caller sees to it that none is bound inside."""
    return map_stmt(stmt, lambda e: substitute(e, values))


def with_box(apply: Apply, box: tuple[BoxVar, ...]) -> Apply:
    """``apply`` over ``box``, names that stand nowhere in it left out."""
    used = names_of_stmt(replace(apply, box=()))
    return replace(apply, box=tuple(b for b in box if b.name in used))


def factors(value: Value) -> tuple[tuple[Value, bool], ...]:
    """The factors of a product, each with whether it divides: ``a*b/c`` has a, b and 1/c."""
    match value:
        case Op("*", (left, right)):
            return (*factors(left), *factors(right))
        case Op("/", (left, right)):
            return (*factors(left), *((f, not down) for f, down in factors(right)))
        case _:
            return ((value, False),)


def product(terms: tuple[tuple[Value, bool], ...]) -> Value:
    """What :func:`factors` takes apart, put together: multiplied in order, then divided."""
    up = [f for f, down in terms if not down]
    value: Value = up[0] if up else Literal(num(1).value)
    for factor in up[1:]:
        value = Op("*", (value, factor))
    for factor in (f for f, down in terms if down):
        value = Op("/", (value, factor))
    return value


def is_zero(value: Value) -> bool:
    return isinstance(value, Literal) and value.value == 0


def is_number(expr: Expr, value: int) -> bool:
    return isinstance(expr, Num) and expr.value == value


def is_name(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name
