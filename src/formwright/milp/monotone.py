"""How an expression moves with one of its parts: up, down, not at all, or unknown."""

from collections.abc import Mapping
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
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import children, free_names

Direction = int | None
"""1: never falls when the part rises; -1: never rises; 0: does not read it; ``None``: unknown."""


def direction(expr: Expr, part: Expr, ranges: Mapping[str, Interval]) -> Direction:
    """How ``expr`` moves with ``part``, wherever it occurs, over ``ranges``.

    ``part`` is a name, or an object of the expression (equal texts elsewhere do not count).
    """
    if _is(expr, part):
        return 1
    match expr:
        case Num() | Truth() | Var():
            return 0
        case Arith():
            return _arith(expr, part, ranges)
        case Neg(arg):
            return _flip(direction(arg, part, ranges))
        case MinMax(_, args):
            return _join([direction(a, part, ranges) for a in args])
        case Round(_, arg):
            return direction(arg, part, ranges)
        case Compare(_, a, b) | Logic(_, a, b):
            return _unread(part, ranges, a, b)
        case Not(arg):
            return _unread(part, ranges, arg)
        case Cond(cond, then, other):
            sides = [direction(then, part, ranges), direction(other, part, ranges)]
            return None if _unread(part, ranges, cond) is None else _join(sides)
        case Cell():
            return None
        case Sum(var, lo, hi, body):
            if _unread(part, ranges, lo, hi) is None:
                return None
            return direction(body, part, {n: r for n, r in ranges.items() if n != var})
        case _:
            assert_never(expr)


def _is(expr: Expr, part: Expr) -> bool:
    return expr is part or (isinstance(part, Var) and expr == part)


def _arith(expr: Arith, part: Expr, ranges: Mapping[str, Interval]) -> Direction:
    left = direction(expr.left, part, ranges)
    right = direction(expr.right, part, ranges)
    match expr.op:
        case "+":
            return _join([left, right])
        case "-":
            return _join([left, _flip(right)])
        case "*":
            by_left = _scaled(left, bounds(expr.right, ranges))
            return _join([by_left, _scaled(right, bounds(expr.left, ranges))])
        case "/" | "//":
            # The divisor is positive wherever the quotient has a value.
            return _join([left, _flip(_scaled(right, bounds(expr.left, ranges)))])
        case "mod":
            return 0 if left == 0 and right == 0 else None
        case _:
            assert_never(expr.op)


def _scaled(moved: Direction, factor: Interval) -> Direction:
    if moved == 0 or moved is None or factor.lo >= 0:
        return moved
    return -moved if factor.hi <= 0 else None


def _flip(moved: Direction) -> Direction:
    return None if moved is None else -moved


def _join(parts: list[Direction]) -> Direction:
    if None in parts:
        return None
    signs = {p for p in parts if p != 0}
    return None if len(signs) > 1 else (signs.pop() if signs else 0)


def _unread(part: Expr, ranges: Mapping[str, Interval], *exprs: Expr) -> Direction:
    """0 if no expression reads ``part``, else unknown."""
    return 0 if all(direction(e, part, ranges) == 0 for e in exprs) else None


def has_value(expr: Expr, ranges: Mapping[str, Interval]) -> bool:
    """Whether ``expr`` surely has a value at every point of ``ranges`` (a sufficient test)."""
    match expr:
        case Arith("/", _, divisor) if bounds(divisor, ranges).lo <= 0:
            return False
        case Arith("//" | "mod", left, divisor):
            if bounds(divisor, ranges).lo < 1:
                return False
            if not (_whole(left, ranges) and _whole(divisor, ranges)):
                return False
        case Sum() | Cell():
            return False
        case _:
            pass
    return all(has_value(child, ranges) for child in children(expr))


def _whole(expr: Expr, ranges: Mapping[str, Interval]) -> bool:
    """Whether ``expr`` is surely an integer: a coefficient or a field of the chip may be a
    fraction."""
    match expr:
        case Num(value):
            return value.denominator == 1
        case Round() | Arith("//" | "mod", _, _):
            return True
        case Var(name):
            known = ranges.get(name)
            if known is not None and known.lo == known.hi and not isinstance(known.lo, float):
                return known.lo.denominator == 1
            return not name.startswith(("chip.", "$"))
        case Arith("+" | "-" | "*", a, b):
            return _whole(a, ranges) and _whole(b, ranges)
        case _:
            return False


def parts_reading(expr: Expr, name: str) -> list[Expr]:
    """Subexpressions that read ``name``, inner ones first, each object once."""
    seen: dict[int, Expr] = {}
    _collect(expr, name, seen)
    return list(seen.values())


def _collect(expr: Expr, name: str, seen: dict[int, Expr]) -> None:
    if id(expr) in seen or name not in free_names(expr):
        return
    for child in children(expr):
        _collect(child, name, seen)
    seen[id(expr)] = expr


def replaced(expr: Expr, part: Expr, by: Expr) -> Expr:
    """``expr`` with ``part``, a name or an object, replaced wherever it occurs."""
    return _replaced(expr, part, by, {})


def _replaced(expr: Expr, part: Expr, by: Expr, seen: dict[int, Expr]) -> Expr:
    if _is(expr, part):
        return by
    if id(expr) not in seen:
        seen[id(expr)] = _rebuilt(expr, part, by, seen)
    return seen[id(expr)]


def _rebuilt(expr: Expr, part: Expr, by: Expr, seen: dict[int, Expr]) -> Expr:
    def go(e: Expr) -> Expr:
        return _replaced(e, part, by, seen)

    match expr:
        case Num() | Truth() | Var():
            return expr
        case Arith(op, a, b):
            return Arith(op, go(a), go(b), expr.span)
        case Compare(cop, a, b):
            return Compare(cop, go(a), go(b), expr.span)
        case Logic(lop, a, b):
            return Logic(lop, go(a), go(b), expr.span)
        case Neg(a):
            return Neg(go(a), expr.span)
        case Round(rop, a):
            return Round(rop, go(a), expr.span)
        case Not(a):
            return Not(go(a), expr.span)
        case MinMax(mop, args):
            return MinMax(mop, tuple(go(a) for a in args), expr.span)
        case Cond(c, a, b):
            return Cond(go(c), go(a), go(b), expr.span)
        case Cell(name, index):
            return Cell(name, tuple(go(i) for i in index), expr.span)
        case Sum(var, lo, hi, body):
            return Sum(var, go(lo), go(hi), go(body), expr.span)
        case _:
            assert_never(expr)
