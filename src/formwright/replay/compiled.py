"""Expressions as Python closures over an environment; :func:`evaluate` is the meaning.

Parts whose names all have known values are computed once. A part that has no value (a
divisor of 0 behind a guard) is left to raise when it is reached.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import assert_never, cast

from formwright.ir.evaluate import EvaluationError, evaluate
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
    Scalar,
    Sum,
    Truth,
    Var,
)
from formwright.ir.rewrite import free_names

Env = dict[str, int]
Number = int | Fraction
Code = Callable[[Env], Scalar]
IntCode = Callable[[Env], int]
BoolCode = Callable[[Env], bool]

_NUMBERS = (Num, Arith, Neg, MinMax, Round, Sum)
"""Expressions that are numbers whenever they have a value."""


def compile_expr(expr: Expr, constants: Mapping[str, Scalar]) -> Code:
    """A closure with the value of ``expr``; names outside ``constants`` come from the
    environment. Raises :class:`EvaluationError` when called, as ``evaluate`` would."""
    if free_names(expr) <= constants.keys():
        try:
            value = evaluate(expr, constants)
        except EvaluationError as error:
            return _raiser(error)
        return lambda env: value
    return _open(expr, constants)


def compile_int(expr: Expr, constants: Mapping[str, Scalar]) -> IntCode:
    """As :func:`compile_expr`; anything but an integer raises."""
    code = compile_expr(expr, constants)
    if isinstance(expr, Var) and expr.name not in constants:
        return cast(IntCode, code)

    def run(env: Env) -> int:
        value = code(env)
        if type(value) is not int:
            raise EvaluationError(f"an integer is needed here, not {value}", expr.span)
        return value

    return run


def compile_bool(expr: Expr, constants: Mapping[str, Scalar]) -> BoolCode:
    """As :func:`compile_expr`; a number raises."""
    code = compile_expr(expr, constants)

    def run(env: Env) -> bool:
        value = code(env)
        if not isinstance(value, bool):
            raise EvaluationError("a condition is needed here, not a number", expr.span)
        return value

    return run


def _raiser(error: EvaluationError) -> Code:
    def run(env: Env) -> Scalar:
        raise error

    return run


def _number(expr: Expr, constants: Mapping[str, Scalar]) -> Callable[[Env], Number]:
    code = compile_expr(expr, constants)
    if isinstance(expr, _NUMBERS):
        return code

    def run(env: Env) -> Number:
        value = code(env)
        if isinstance(value, bool):
            raise EvaluationError("a number is needed here, not a condition", expr.span)
        return value

    return run


def _open(expr: Expr, constants: Mapping[str, Scalar]) -> Code:
    match expr:
        case Num() | Truth():
            value = evaluate(expr, {})
            return lambda env: value
        case Var(name):
            return _variable(expr, name)
        case Arith():
            return _arith(expr, constants)
        case Neg(arg):
            inner = _number(arg, constants)
            return lambda env: -inner(env)
        case MinMax(op, args):
            codes = [_number(a, constants) for a in args]
            pick = min if op == "min" else max
            return lambda env: pick([c(env) for c in codes])
        case Round(op, arg):
            inner = _number(arg, constants)
            rounded = ceil if op == "ceil" else floor
            return lambda env: rounded(inner(env))
        case Compare():
            return _compare(expr, constants)
        case Logic(op, left, right):
            a, b = compile_bool(left, constants), compile_bool(right, constants)
            if op == "and":
                return lambda env: a(env) and b(env)
            if op == "or":
                return lambda env: a(env) or b(env)
            return lambda env: not a(env) or b(env)
        case Not(arg):
            truth = compile_bool(arg, constants)
            return lambda env: not truth(env)
        case Cond(cond, then, other):
            c = compile_bool(cond, constants)
            yes, no = compile_expr(then, constants), compile_expr(other, constants)
            return lambda env: yes(env) if c(env) else no(env)
        case Sum() | Cell():
            return _slow(expr, constants)
        case _:
            assert_never(expr)


def _variable(expr: Expr, name: str) -> Code:
    def run(env: Env) -> Scalar:
        if name not in env:
            raise EvaluationError(f'no value for "{name}"', expr.span)
        return env[name]

    return run


def _slow(expr: Expr, constants: Mapping[str, Scalar]) -> Code:
    """Bounded sums are rare in programs: they go through ``evaluate``."""
    return lambda env: evaluate(expr, {**constants, **env})


def _arith(expr: Arith, constants: Mapping[str, Scalar]) -> Code:
    left, right = _number(expr.left, constants), _number(expr.right, constants)
    span = expr.span
    match expr.op:
        case "+":
            return lambda env: _plain(left(env) + right(env))
        case "-":
            return lambda env: _plain(left(env) - right(env))
        case "*":
            return lambda env: _plain(left(env) * right(env))
        case "/":

            def divide(env: Env) -> Scalar:
                a, b = left(env), right(env)
                if b <= 0:
                    raise EvaluationError(f"division by {b}: a divisor must be positive", span)
                return _plain(Fraction(a) / b)

            return divide
        case "//" | "mod":
            whole = expr.op == "//"

            def floored(env: Env) -> Scalar:
                a, b = left(env), right(env)
                if isinstance(a, Fraction) or isinstance(b, Fraction):
                    raise EvaluationError(f"{expr.op} needs integers", span)
                if b < 1:
                    message = f"{expr.op} by {b}: a divisor must be at least 1"
                    raise EvaluationError(message, span)
                return a // b if whole else a % b

            return floored
        case _:
            assert_never(expr.op)


def _compare(expr: Compare, constants: Mapping[str, Scalar]) -> Code:
    left, right = _number(expr.left, constants), _number(expr.right, constants)
    match expr.op:
        case "<":
            return lambda env: left(env) < right(env)
        case "<=":
            return lambda env: left(env) <= right(env)
        case "=":
            return lambda env: left(env) == right(env)
        case "!=":
            return lambda env: left(env) != right(env)
        case ">=":
            return lambda env: left(env) >= right(env)
        case ">":
            return lambda env: left(env) > right(env)
        case _:
            assert_never(expr.op)


def _plain(value: Number) -> Number:
    if type(value) is Fraction and value.denominator == 1:
        return value.numerator
    return value
