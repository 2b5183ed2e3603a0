"""The C reader of expressions: exact on integers within 64 bits, rationals as pairs.

Every intermediate value must fit ``int64_t``; rationals are a numerator over a positive
denominator, compared by cross-multiplication. Divisors are positive, as the meaning asks.
"""

from collections.abc import Mapping
from typing import assert_never

from formwright.base.diagnostics import fail
from formwright.ir.expr import (
    CELL,
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

Names = Mapping[str, str]
"""The C text for each name."""

_C_COMPARE = {"<": "<", "<=": "<=", "=": "==", "!=": "!=", ">=": ">=", ">": ">"}


def c_integer(expr: Expr, names: Names) -> str:
    """C text of type ``int64_t`` (an expression that is a whole number)."""
    top, bottom = _fraction(expr, names)
    return top if bottom == "1" else f"fw_floor_div({top}, {bottom})"


def c_truth(expr: Expr, names: Names) -> str:
    """C text that is 0 or 1, looking only at the sides that the meaning looks at."""
    match expr:
        case Truth(verdict):
            return "1" if verdict else "0"
        case Compare(op, a, b):
            (p, q), (r, s) = _fraction(a, names), _fraction(b, names)
            return f"({_times(p, s)} {_C_COMPARE[op]} {_times(r, q)})"
        case Logic("and", a, b):
            return f"({c_truth(a, names)} && {c_truth(b, names)})"
        case Logic("or", a, b):
            return f"({c_truth(a, names)} || {c_truth(b, names)})"
        case Logic(_, a, b):
            return f"(!{c_truth(a, names)} || {c_truth(b, names)})"
        case Not(a):
            return f"(!{c_truth(a, names)})"
        case Cond(c, a, b):
            return f"({c_truth(c, names)} ? {c_truth(a, names)} : {c_truth(b, names)})"
        case Cell():
            raise fail(CELL, expr.span)
        case Num() | Var() | Arith() | Neg() | MinMax() | Round() | Sum():
            raise fail("a condition is needed here, not a number", expr.span)
        case _:
            assert_never(expr)


def _times(a: str, b: str) -> str:
    if b == "1":
        return a
    return b if a == "1" else f"({a} * {b})"


def _literal(value: int) -> str:
    if abs(value) >= 2**63:
        raise fail(f"{value} does not fit 64 bits")
    return f"({value})" if value < 0 else str(value) if value < 2**31 else f"INT64_C({value})"


def _fraction(expr: Expr, names: Names) -> tuple[str, str]:
    """Numerator and positive denominator; the denominator of an integer is the text ``1``."""
    match expr:
        case Num(value):
            return _literal(value.numerator), _literal(value.denominator)
        case Var(name):
            if name not in names:
                raise fail(f'"{name}" has no value in emitted code', expr.span)
            return names[name], "1"
        case Cell():
            raise fail(CELL, expr.span)
        case Arith("+" | "-" as op, a, b):
            (p, q), (r, s) = _fraction(a, names), _fraction(b, names)
            if q == s:
                return f"({p} {op} {r})", q
            return f"({_times(p, s)} {op} {_times(r, q)})", _times(q, s)
        case Arith("*", a, b):
            (p, q), (r, s) = _fraction(a, names), _fraction(b, names)
            return f"({p} * {r})", _times(q, s)
        case Arith("/", a, b):
            (p, q), (r, s) = _fraction(a, names), _fraction(b, names)
            return _times(p, s), _times(q, r)
        case Arith("//", a, b):
            return f"fw_floor_div({c_integer(a, names)}, {c_integer(b, names)})", "1"
        case Arith(_, a, b):
            return f"fw_mod({c_integer(a, names)}, {c_integer(b, names)})", "1"
        case Neg(a):
            p, q = _fraction(a, names)
            return f"(-{p})", q
        case MinMax(op, args):
            return _min_max(op, [_fraction(a, names) for a in args])
        case Round(op, a):
            p, q = _fraction(a, names)
            return (p if q == "1" else f"fw_{op}_div({p}, {q})"), "1"
        case Cond(c, a, b):
            (p, q), (r, s) = _fraction(a, names), _fraction(b, names)
            test = c_truth(c, names)
            bottom = q if q == s else f"({test} ? {q} : {s})"
            return f"({test} ? {p} : {r})", bottom
        case Sum(var, lo, hi, body):
            return _sum(var, lo, hi, body, names)
        case Truth() | Compare() | Logic() | Not():
            raise fail("a number is needed here, not a condition", expr.span)
        case _:
            assert_never(expr)


def _min_max(op: str, args: list[tuple[str, str]]) -> tuple[str, str]:
    top, bottom = args[0]
    for p, q in args[1:]:
        if bottom == q:
            top = f"fw_{op}({top}, {p})"
            continue
        sign = "<=" if op == "min" else ">="
        test = f"({_times(top, q)} {sign} {_times(p, bottom)})"
        top, bottom = f"({test} ? {top} : {p})", f"({test} ? {bottom} : {q})"
    return top, bottom


def _sum(var: str, lo: Expr, hi: Expr, body: Expr, names: Names) -> tuple[str, str]:
    inner = {**names, var: f"sum_{var}"}
    top, bottom = _fraction(body, inner)
    if bottom != "1" and f"sum_{var}" in bottom:
        raise fail("the denominator of a sum must not vary in emitted code", body.span)
    index = f"sum_{var}"
    text = (
        f"({{ int64_t total = 0; for (int64_t {index} = {c_integer(lo, names)}, "
        f"end = {c_integer(hi, names)}; {index} < end; {index}++) total += {top}; total; }})"
    )
    return text, bottom
