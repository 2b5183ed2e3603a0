"""The meaning of expressions: exact, total up to :class:`EvaluationError`."""

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import (
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
    Scalar,
    Sum,
    Truth,
    Var,
)

SUM_LIMIT = 1_000_000
"""Terms of a bounded sum, those of sums inside it included."""

SUM_TERMS = "$terms"
"""Inside a sum, the name of how often its body is evaluated; no name of a text is like it."""

Environment = Mapping[str, Scalar]
"""Values by name; a cell of an indexed state variable has the key :func:`cell_key`."""

_COMPARE: dict[CompareOp, Callable[[int | Fraction, int | Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


class EvaluationError(Exception):
    """An expression has no value here: an unknown name, a divisor below 1, a wrong kind."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


def evaluate(expr: Expr, environment: Environment) -> Scalar:
    """The value of ``expr``: an ``int``, a non-integral ``Fraction``, or a ``bool``.

    ``and``, ``or``, ``=>`` and ``if`` look only at the side they need, as guards of
    divisions rely on.
    """
    match expr:
        case Num(value):
            return _plain(value)
        case Truth(verdict):
            return verdict
        case Var(name):
            if name not in environment:
                raise EvaluationError(f'no value for "{name}"', expr.span)
            return environment[name]
        case Arith(op, left, right):
            return _arith(op, number(left, environment), number(right, environment), expr.span)
        case Cell(name, index):
            key = cell_key(name, (integer(i, environment) for i in index))
            if key not in environment:
                raise EvaluationError(f"no value for {key}", expr.span)
            return environment[key]
        case Neg(arg):
            return -number(arg, environment)
        case MinMax(op, args):
            numbers = [number(a, environment) for a in args]
            return min(numbers) if op == "min" else max(numbers)
        case Round(op, arg):
            inner = number(arg, environment)
            return ceil(inner) if op == "ceil" else floor(inner)
        case Compare(op, left, right):
            return _COMPARE[op](number(left, environment), number(right, environment))
        case Logic("and", left, right):
            return truth(left, environment) and truth(right, environment)
        case Logic("or", left, right):
            return truth(left, environment) or truth(right, environment)
        case Logic(_, left, right):
            return not truth(left, environment) or truth(right, environment)
        case Not(arg):
            return not truth(arg, environment)
        case Cond(cond, then, other):
            return evaluate(then if truth(cond, environment) else other, environment)
        case Sum(var, lo, hi, body):
            return _sum(var, integer(lo, environment), integer(hi, environment), body, environment)
        case _:
            assert_never(expr)


def cell_key(name: str, index: Iterable[int]) -> str:
    """The key of a cell in an environment: ``p[3]``."""
    return f"{name}[{', '.join(map(str, index))}]"


def number(expr: Expr, environment: Environment) -> int | Fraction:
    """As :func:`evaluate`; a boolean is an error."""
    value = evaluate(expr, environment)
    if isinstance(value, bool):
        raise EvaluationError("a number is needed here, not a condition", expr.span)
    return value


def integer(expr: Expr, environment: Environment) -> int:
    """As :func:`evaluate`; anything but an integer is an error."""
    value = number(expr, environment)
    if isinstance(value, Fraction):
        raise EvaluationError(f"an integer is needed here, not {value}", expr.span)
    return value


def truth(expr: Expr, environment: Environment) -> bool:
    """As :func:`evaluate`; a number is an error."""
    value = evaluate(expr, environment)
    if not isinstance(value, bool):
        raise EvaluationError("a condition is needed here, not a number", expr.span)
    return value


def _plain(value: Fraction | int) -> int | Fraction:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _arith(
    op: ArithOp, left: int | Fraction, right: int | Fraction, span: Span | None
) -> int | Fraction:
    match op:
        case "+":
            return _plain(left + right)
        case "-":
            return _plain(left - right)
        case "*":
            return _plain(left * right)
        case "/":
            if right <= 0:
                raise EvaluationError(f"division by {right}: a divisor must be positive", span)
            return _plain(Fraction(left) / right)
        case "//" | "mod":
            if isinstance(left, Fraction) or isinstance(right, Fraction):
                raise EvaluationError(f"{op} needs integers", span)
            if right < 1:
                raise EvaluationError(f"{op} by {right}: a divisor must be at least 1", span)
            return left // right if op == "//" else left % right
        case _:
            assert_never(op)


def _sum(var: str, lo: int, hi: int, body: Expr, environment: Environment) -> int | Fraction:
    if lo >= hi:
        return 0
    terms = (hi - lo) * int(environment.get(SUM_TERMS, 1))
    if terms > SUM_LIMIT:
        raise EvaluationError(f"a sum over {terms} terms is longer than {SUM_LIMIT}", body.span)
    total: int | Fraction = 0
    inner = {**environment, SUM_TERMS: terms}
    for value in range(lo, hi):
        inner[var] = value
        total = _plain(total + number(body, inner))
    return total
