"""Expressions as functions of floats, for fits that ask for them thousands of times.

A reader of the expression IR beside :func:`formwright.ir.evaluate.evaluate`, which is the meaning:
rounded, and without its errors where a divisor is not positive (the value is infinite there).
"""

from collections.abc import Callable, Mapping
from math import ceil, floor, inf
from typing import assert_never

from formwright.ir.expr import (
    CELL,
    Arith,
    ArithOp,
    Cell,
    Compare,
    CompareOp,
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

Code = Callable[[Mapping[str, float]], float]
"""From values by name; a condition gives 0 or 1."""


def floats(expr: Expr) -> Code:
    """``expr`` as a function of the values of its names."""
    match expr:
        case Num(number):
            value = float(number)
            return lambda env: value
        case Truth(verdict):
            return lambda env: float(verdict)
        case Var(name):
            return lambda env: env[name]
        case Cell():
            raise ValueError(CELL)
        case Arith(op, left, right):
            return _arith(op, floats(left), floats(right))
        case Neg(arg):
            inner = floats(arg)
            return lambda env: -inner(env)
        case MinMax(which, args):
            parts = [floats(a) for a in args]
            if which == "min":
                return lambda env: min([part(env) for part in parts])
            return lambda env: max([part(env) for part in parts])
        case Round(way, arg):
            inner = floats(arg)
            if way == "ceil":
                return lambda env: float(ceil(inner(env)))
            return lambda env: float(floor(inner(env)))
        case Compare(sign, left, right):
            return _compare(sign, floats(left), floats(right))
        case Logic(word, left, right):
            a, b = floats(left), floats(right)
            if word == "and":
                return lambda env: a(env) and b(env)
            if word == "or":
                return lambda env: a(env) or b(env)
            return lambda env: b(env) if a(env) else 1.0
        case Not(arg):
            inner = floats(arg)
            return lambda env: float(not inner(env))
        case Cond(cond, then, other):
            choice, a, b = floats(cond), floats(then), floats(other)
            return lambda env: a(env) if choice(env) else b(env)
        case Sum(var, lo, hi, body):
            first, last, term = floats(lo), floats(hi), floats(body)
            return lambda env: sum(
                term({**env, var: float(n)}) for n in range(int(first(env)), int(last(env)))
            )
        case _:
            assert_never(expr)


def _arith(op: ArithOp, a: Code, b: Code) -> Code:
    match op:
        case "+":
            return lambda env: a(env) + b(env)
        case "-":
            return lambda env: a(env) - b(env)
        case "*":
            return lambda env: a(env) * b(env)
        case "/":
            return lambda env: a(env) / d if (d := b(env)) > 0 else inf
        case "//":
            return lambda env: a(env) // d if (d := b(env)) > 0 else inf
        case "mod":
            return lambda env: a(env) % d if (d := b(env)) > 0 else inf
        case _:
            assert_never(op)


def _compare(op: CompareOp, a: Code, b: Code) -> Code:
    match op:
        case "<":
            return lambda env: float(a(env) < b(env))
        case "<=":
            return lambda env: float(a(env) <= b(env))
        case "=":
            return lambda env: float(a(env) == b(env))
        case "!=":
            return lambda env: float(a(env) != b(env))
        case ">=":
            return lambda env: float(a(env) >= b(env))
        case ">":
            return lambda env: float(a(env) > b(env))
        case _:
            assert_never(op)
