"""A program with its decisions put in and folded: what the emitter reads."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import (
    ONE,
    TRUE,
    ZERO,
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
    num,
)
from formwright.ir.program import For, If, Par, Stmt
from formwright.ir.rewrite import free_names, map_body, substitute
from formwright.ir.template import Template


def folded_program(template: Template, assignment: Mapping[str, int]) -> tuple[Stmt, ...]:
    """The program of an inlined template; decisions and team sizes (1) are numbers in it."""
    values: dict[str, Expr] = {name: num(value) for name, value in assignment.items()}
    values.update({agent.name: ONE for agent in template.scope.agents})
    return _pruned(map_body(template.program, lambda e: fold(substitute(e, values))))


def fold(expr: Expr) -> Expr:
    """``expr`` with constant parts evaluated and neutral operands dropped."""
    simple = _inner(expr)
    if not free_names(simple) and not isinstance(simple, (Num, Truth)):
        try:
            value = evaluate(simple, {})
        except EvaluationError:
            return simple
        return Truth(value) if isinstance(value, bool) else Num(Fraction(value))
    return simple


def _inner(expr: Expr) -> Expr:
    match expr:
        case Num() | Truth() | Var():
            return expr
        case Cell(name, index):
            return Cell(name, tuple(fold(i) for i in index), expr.span)
        case Arith(op, a, b):
            return _arith(Arith(op, fold(a), fold(b), expr.span))
        case Neg(a):
            return Neg(fold(a), expr.span)
        case MinMax(mop, args):
            return MinMax(mop, tuple(fold(a) for a in args), expr.span)
        case Round(rop, a):
            return _round(Round(rop, fold(a), expr.span))
        case Compare(cop, a, b):
            return Compare(cop, fold(a), fold(b), expr.span)
        case Logic(lop, a, b):
            return Logic(lop, fold(a), fold(b), expr.span)
        case Not(a):
            return Not(fold(a), expr.span)
        case Cond(c, a, b):
            return _cond(Cond(fold(c), fold(a), fold(b), expr.span))
        case Sum(var, lo, hi, body):
            return Sum(var, fold(lo), fold(hi), fold(body), expr.span)


def _arith(expr: Arith) -> Expr:
    match expr:
        case Arith("+", a, Num(z)) | Arith("+", Num(z), a) if z == 0:
            return a
        case Arith("-", a, Num(z)) if z == 0:
            return a
        case Arith("*", a, Num(z)) | Arith("*", Num(z), a) if z == 1:
            return a
        case Arith("*", _, Num(z)) | Arith("*", Num(z), _) if z == 0:
            return ZERO
        case Arith("/" | "//", a, Num(z)) if z == 1:
            return a
        case _:
            return expr


def _round(expr: Round) -> Expr:
    """Rounding what is an integer already; a name is one, since chip fields are not in programs."""
    match expr.arg:
        case Var() | Round():
            return expr.arg
        case _:
            return expr


def _cond(expr: Cond) -> Expr:
    match expr.cond:
        case Truth(True):
            return expr.then
        case Truth(False):
            return expr.other
        case _:
            return expr


def _pruned(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Branches that are decided are taken or dropped."""
    kept: list[Stmt] = []
    for stmt in body:
        match stmt:
            case If(cond, inner) if cond == TRUE:
                kept.extend(_pruned(inner))
            case If(Truth(False), _):
                continue
            case If() | For() | Par():
                kept.append(replace(stmt, body=_pruned(stmt.body)))
            case _:
                kept.append(stmt)
    return tuple(kept)
