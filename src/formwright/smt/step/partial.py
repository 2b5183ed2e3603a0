"""What an expression of a system needs to have a value: cells in range, divisors from 1 on.

Both are looked at where they are evaluated: behind the left side of ``and``, ``or`` and
``=>``, and on the side of an ``if`` that is chosen (as :mod:`formwright.smt.lazy` has it).
"""

from collections.abc import Collection, Container, Iterable, Iterator
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
from formwright.smt.atoms import Atoms, Ceil
from formwright.smt.encode import number, truth
from formwright.smt.lazy import Way, divisors
from formwright.smt.step.state import Names, inside
from formwright.smt.terms import ONE, ZERO, All, Formula, Poly, conj, le, lt, negated, symbol

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


@dataclass(frozen=True, slots=True)
class Need:
    """What must hold where all of ``way`` does."""

    way: tuple[Formula, ...]
    holds: Formula

    def wrong(self, known: Container[Formula]) -> Formula:
        """That it does not hold; ``FALSE`` where every part of it is ``known``."""
        parts = self.holds.parts if isinstance(self.holds, All) else (self.holds,)
        left = [p for p in parts if p not in known]
        return conj([*self.way, negated(conj(left))])


def needs(exprs: Iterable[Expr], names: Names) -> list[Need]:
    """What ``exprs`` need to have values, each once."""
    found: dict[Need, None] = {}
    atoms = names.cells.atoms
    for expr in exprs:
        for way, bound, cell in cells(expr):
            variable = names.cells.variables.get(names.prefix + cell.name)
            if variable is None or variable.index is None:
                continue
            inner = _unknown(names, bound)
            place = number(cell.index[0], inner, atoms)
            chosen = tuple(truth(c, inner, atoms) for c in way)
            found[Need(chosen, inside(variable.index, place, inner))] = None
        for divisor in divisors(expr):
            inner = _unknown(names, divisor.bound)
            value = number(divisor.expr, inner, atoms)
            if not plainly_positive(value, names.cells.positive, atoms):
                low = lt(ZERO, value) if divisor.exact else le(ONE, value)
                found[Need(tuple(truth(c, inner, atoms) for c in divisor.way), low)] = None
    return list(found)


def plainly_positive(value: Poly, positive: Collection[str], atoms: Atoms) -> bool:
    """At least 1 for whatever names that are at least 1: a sum of products of such."""

    def is_positive(name: str) -> bool:
        match atoms.by_name.get(name):
            case Ceil(num, den):
                return all(plainly_positive(p, positive, atoms) for p in (num, den))
            case _:
                return name in positive

    return bool(value.terms) and all(
        c >= 1 and all(is_positive(n) for n in mono) for mono, c in value.terms
    )


def _unknown(names: Names, bound: Bound) -> Names:
    return names.binding({n: symbol(f"{n}@@sum") for n in bound}) if bound else names
