"""Expressions, products and applies, put together and taken apart by the rules."""

from collections.abc import Mapping

from formwright.ir.expr import Arith, Expr, MinMax, Num, Round, Var, num
from formwright.ir.fold import folded
from formwright.ir.program import Literal, Op, Stmt, Value
from formwright.ir.rewrite import map_stmt, substitute


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


def renamed(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """``stmt`` with free names replaced. The caller sees to it that none is bound inside."""
    return map_stmt(stmt, lambda e: substitute(e, values))


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
