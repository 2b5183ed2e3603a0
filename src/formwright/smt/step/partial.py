"""What an expression of a system needs to have a value: cells in range, divisors from 1 on.

Both are looked at where they are evaluated: behind the left side of ``and``, ``or`` and
``=>``, and on the side of an ``if`` that is chosen (as :mod:`formwright.smt.lazy` has it).
"""

from collections.abc import Iterable, Iterator
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
from formwright.ir.show import show_expr
from formwright.smt.encode import number, truth
from formwright.smt.lazy import Way, divisors
from formwright.smt.step.state import Names, inside
from formwright.smt.terms import ONE, TRUE, ZERO, Formula, conj, le, lt, negated, symbol

Bound = tuple[str, ...]


def cells(expr: Expr, way: Way = (), bound: Bound = ()) -> Iterator[tuple[Way, Bound, Cell]]:
    """Every cell that ``expr`` reads, with what holds where it is read."""
    match expr:
        case Num() | Truth() | Var():
            return
        case Cell(_, index):
            yield way, bound, expr
            for i in index:
                yield from cells(i, way, bound)
        case Arith(_, a, b) | Compare(_, a, b):
            yield from cells(a, way, bound)
            yield from cells(b, way, bound)
        case Logic(op, a, b):
            yield from cells(a, way, bound)
            yield from cells(b, (*way, Not(a) if op == "or" else a), bound)
        case Neg(a) | Round(_, a) | Not(a):
            yield from cells(a, way, bound)
        case MinMax(_, args):
            for arg in args:
                yield from cells(arg, way, bound)
        case Cond(c, a, b):
            yield from cells(c, way, bound)
            yield from cells(a, (*way, c), bound)
            yield from cells(b, (*way, Not(c)), bound)
        case Sum(var, lo, hi, body):
            yield from cells(lo, way, bound)
            yield from cells(hi, way, bound)
            inner = (Compare("<=", lo, Var(var)), Compare("<", Var(var), hi))
            yield from cells(body, (*way, *inner), (*bound, var))
        case _:
            assert_never(expr)


def missing(exprs: Iterable[Expr], names: Names) -> dict[Formula, str]:
    """Each way in which one of ``exprs`` would have no value, in words."""
    found: dict[Formula, str] = {}
    atoms = names.cells.atoms
    for expr in exprs:
        for way, bound, cell in cells(expr):
            variable = names.cells.variables.get(names.prefix + cell.name)
            inner = _unknown(names, bound)
            if variable is None or variable.index is None:
                continue
            place = number(cell.index[0], inner, atoms)
            outside = negated(inside(variable.index, place, inner))
            wrong = conj([*(truth(c, inner, atoms) for c in way), outside])
            found.setdefault(wrong, f"{show_expr(cell)} is outside its range")
        for divisor in divisors(expr):
            inner = _unknown(names, divisor.bound)
            value = number(divisor.expr, inner, atoms)
            low = le(value, ZERO) if divisor.exact else lt(value, ONE)
            wrong = conj([*(truth(c, inner, atoms) for c in divisor.way), low])
            found.setdefault(wrong, f"the divisor {show_expr(divisor.expr)} is below 1")
    return {f: text for f, text in found.items() if negated(f) != TRUE}


def _unknown(names: Names, bound: Bound) -> Names:
    return names.binding({n: symbol(f"{n}@@sum") for n in bound}) if bound else names
