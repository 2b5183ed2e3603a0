"""Operators on closures; places and constants have shapes of their own, for speed."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, assert_never

from formwright.base.source import Span
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import ArithOp, CompareOp
from formwright.replay.system.made import Compiled, Fn, Kind, constant, folded, plain

_WHOLE: dict[ArithOp, Callable[[Fn, Fn], Fn]] = {
    "+": lambda f, g: lambda s: f(s) + g(s),
    "-": lambda f, g: lambda s: f(s) - g(s),
    "*": lambda f, g: lambda s: f(s) * g(s),
}
_WHOLE_FIXED: dict[ArithOp, Callable[[Fn, int], Fn]] = {
    "+": lambda f, c: lambda s: f(s) + c,
    "-": lambda f, c: lambda s: f(s) - c,
    "*": lambda f, c: lambda s: f(s) * c,
    "//": lambda f, c: lambda s: f(s) // c,
    "mod": lambda f, c: lambda s: f(s) % c,
}
_WHOLE_SLOT: dict[ArithOp, Callable[[int, int], Fn]] = {
    "+": lambda i, c: lambda s: s[i] + c,
    "-": lambda i, c: lambda s: s[i] - c,
    "*": lambda i, c: lambda s: s[i] * c,
    "//": lambda i, c: lambda s: s[i] // c,
    "mod": lambda i, c: lambda s: s[i] % c,
}


def arith(op: ArithOp, left: Compiled, right: Compiled, span: Span | None) -> Compiled:
    whole = left.kind == "int" and right.kind == "int"
    total = left.total and right.total
    if whole and right.fixed and op != "/":
        by = int(right.value)
        if op in ("+", "-", "*") or by >= 1:
            slot = left.slot
            make = _WHOLE_FIXED[op](left.fn, by) if slot is None else _WHOLE_SLOT[op](slot, by)
            return folded(Compiled(make, "int", total), left)
    if whole and op in ("+", "-", "*"):
        return folded(Compiled(_WHOLE[op](left.fn, right.fn), "int", total), left, right)
    f, g = left.fn, right.fn
    kind: Kind = "int" if op in ("//", "mod") else "number"
    total = total and op in ("+", "-", "*")
    made = Compiled(lambda s: _exact(op, f(s), g(s), span), kind, total)
    return folded(made, left, right)


def _exact(op: ArithOp, left: Any, right: Any, span: Span | None) -> Any:
    match op:
        case "+":
            return plain(left + right)
        case "-":
            return plain(left - right)
        case "*":
            return plain(left * right)
        case "/":
            if right <= 0:
                raise EvaluationError(f"division by {right}: a divisor must be positive", span)
            return plain(Fraction(left + 0) / right)
        case "//" | "mod":
            if isinstance(left, Fraction) or isinstance(right, Fraction):
                raise EvaluationError(f"{op} needs integers", span)
            if right < 1:
                raise EvaluationError(f"{op} by {right}: a divisor must be at least 1", span)
            return left // right if op == "//" else left % right
        case _:
            assert_never(op)


_COMPARE: dict[CompareOp, Callable[[Fn, Fn], Fn]] = {
    "<": lambda f, g: lambda s: f(s) < g(s),
    "<=": lambda f, g: lambda s: f(s) <= g(s),
    "=": lambda f, g: lambda s: f(s) == g(s),
    "!=": lambda f, g: lambda s: f(s) != g(s),
    ">=": lambda f, g: lambda s: f(s) >= g(s),
    ">": lambda f, g: lambda s: f(s) > g(s),
}
_COMPARE_FIXED: dict[CompareOp, Callable[[Fn, Any], Fn]] = {
    "<": lambda f, c: lambda s: f(s) < c,
    "<=": lambda f, c: lambda s: f(s) <= c,
    "=": lambda f, c: lambda s: f(s) == c,
    "!=": lambda f, c: lambda s: f(s) != c,
    ">=": lambda f, c: lambda s: f(s) >= c,
    ">": lambda f, c: lambda s: f(s) > c,
}
_COMPARE_SLOT: dict[CompareOp, Callable[[int, Any], Fn]] = {
    "<": lambda i, c: lambda s: s[i] < c,
    "<=": lambda i, c: lambda s: s[i] <= c,
    "=": lambda i, c: lambda s: s[i] == c,
    "!=": lambda i, c: lambda s: s[i] != c,
    ">=": lambda i, c: lambda s: s[i] >= c,
    ">": lambda i, c: lambda s: s[i] > c,
}


def compare(op: CompareOp, left: Compiled, right: Compiled) -> Compiled:
    total = left.total and right.total
    if right.fixed:
        value = right.value
        if left.slot is None:
            return folded(Compiled(_COMPARE_FIXED[op](left.fn, value), "bool", total), left)
        test = (left.slot, value) if op == "=" else None
        return Compiled(_COMPARE_SLOT[op](left.slot, value), "bool", total, test=test)
    return folded(Compiled(_COMPARE[op](left.fn, right.fn), "bool", total), left, right)


def logic(op: Literal["and", "or", "=>"], left: Compiled, right: Compiled) -> Compiled:
    f, g = left.fn, right.fn
    if left.fixed:
        decided = left.value is (op == "or")
        return constant(op != "and") if decided else right
    total = left.total and right.total
    match op:
        case "and":
            return Compiled(lambda s: f(s) and g(s), "bool", total)
        case "or":
            return Compiled(lambda s: f(s) or g(s), "bool", total)
        case "=>":
            return Compiled(lambda s: not f(s) or g(s), "bool", total)
        case _:
            assert_never(op)


def extreme(op: Literal["min", "max"], args: tuple[Compiled, ...]) -> Compiled:
    pick = min if op == "min" else max
    kind: Kind = "int" if all(a.kind == "int" for a in args) else "number"
    total = all(a.total for a in args)
    fns = tuple(a.fn for a in args)
    made = Compiled(lambda s: pick(f(s) for f in fns), kind, total)
    if len(fns) == 2:
        f, g = fns
        made = made._replace(fn=lambda s: pick(f(s), g(s)))
    return folded(made, *args)


def rounded(op: Literal["ceil", "floor"], inner: Compiled) -> Compiled:
    if inner.kind == "int":
        return inner
    f = inner.fn
    to_integer = ceil if op == "ceil" else floor
    return folded(Compiled(lambda s: to_integer(f(s)), "int", inner.total), inner)


def choice(cond: Compiled, then: Compiled, other: Compiled) -> Compiled:
    if cond.fixed:
        return then if cond.value else other
    c, f, g = cond.fn, then.fn, other.fn
    kind: Kind = "any"
    if then.kind == other.kind:
        kind = then.kind
    elif {then.kind, other.kind} == {"int", "number"}:
        kind = "number"
    total = cond.total and then.total and other.total
    return Compiled(lambda s: f(s) if c(s) else g(s), kind, total)
