"""How an expression moves with one of its parts: up, down, not at all, or unknown."""

from collections.abc import Callable, Collection, Mapping
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
from formwright.ir.rewrite import children, free_names, map_children
from formwright.milp.algebra import never_above

Direction = int | None
"""1: never falls when the part rises; -1: never rises; 0: does not read it; ``None``: unknown."""

Seen = dict[int, Direction]


def direction(expr: Expr, part: Expr, ranges: Mapping[str, Interval]) -> Direction:
    """How ``expr`` moves with ``part``, wherever it occurs, over ``ranges``.

    ``part`` is a name, or an object of the expression (equal texts elsewhere do not count).
    """
    return _direction(expr, part, ranges, {})


def _direction(expr: Expr, part: Expr, ranges: Mapping[str, Interval], seen: Seen) -> Direction:
    """``seen`` has the answers for objects that occur more than once."""
    if _is(expr, part):
        return 1
    if id(expr) not in seen:
        seen[id(expr)] = _moved(expr, part, ranges, seen)
    return seen[id(expr)]


def _moved(expr: Expr, part: Expr, ranges: Mapping[str, Interval], seen: Seen) -> Direction:
    def go(inner: Expr) -> Direction:
        return _direction(inner, part, ranges, seen)

    match expr:
        case Num() | Truth() | Var():
            return 0
        case Arith():
            return _arith(expr, part, ranges, seen)
        case Neg(arg):
            return _flip(go(arg))
        case MinMax(_, args):
            return _join([go(a) for a in args])
        case Round(_, arg):
            return go(arg)
        case Compare(_, a, b) | Logic(_, a, b):
            return _unread(go, a, b)
        case Not(arg):
            return _unread(go, arg)
        case Cond(cond, then, other):
            turned = _turned(cond, part, ranges, seen)
            if turned not in (0, None):
                turned = _scaled_by(turned, then, other, ranges)
            return None if turned is None else _join([turned, go(then), go(other)])
        case Cell():
            return None
        case Sum(var, lo, hi, body):
            if _unread(go, lo, hi) is None:
                return None
            return _direction(body, part, {n: r for n, r in ranges.items() if n != var}, {})
        case _:
            assert_never(expr)


def _is(expr: Expr, part: Expr) -> bool:
    return expr is part or (isinstance(part, Var) and expr == part)


def _arith(expr: Arith, part: Expr, ranges: Mapping[str, Interval], seen: Seen) -> Direction:
    left = _direction(expr.left, part, ranges, seen)
    right = None if left is None else _direction(expr.right, part, ranges, seen)
    if right is None:
        return None
    match expr.op:
        case "+":
            return _join([left, right])
        case "-":
            return _join([left, _flip(right)])
        case "*":
            by_left = _scaled(left, expr.right, ranges)
            return _join([by_left, _scaled(right, expr.left, ranges)])
        case "/" | "//":
            # The divisor is positive wherever the quotient has a value.
            return _join([left, _flip(_scaled(right, expr.left, ranges))])
        case "mod":
            return 0 if left == 0 and right == 0 else None
        case _:
            assert_never(expr.op)


def _turned(cond: Expr, part: Expr, ranges: Mapping[str, Interval], seen: Seen) -> Direction:
    """1: once true, ``cond`` stays true when the part rises; -1: once false, it stays false."""

    def go(inner: Expr) -> Direction:
        return _direction(inner, part, ranges, seen)

    match cond:
        case Compare("<=" | "<", a, b):
            return _join([_flip(go(a)), go(b)])
        case Compare(">=" | ">", a, b):
            return _join([go(a), _flip(go(b))])
        case Compare("=" | "!=" as op, a, b):
            at_end = _at_end(a, b, go, ranges)
            return at_end if op == "=" else _flip(at_end)
        case Logic("and" | "or", a, b):
            return _join([_turned(a, part, ranges, seen), _turned(b, part, ranges, seen)])
        case Not(a):
            return _flip(_turned(a, part, ranges, seen))
        case _:
            return _unread(go, cond)


def _at_end(
    a: Expr, b: Expr, go: Callable[[Expr], Direction], ranges: Mapping[str, Interval]
) -> Direction:
    """How ``a = b`` turns where one side is fixed at an end of what the other can be."""
    for side, fixed in ((a, b), (b, a)):
        moved, at, room = go(side), bounds(fixed, ranges), bounds(side, ranges)
        if moved is None or go(fixed) != 0:
            continue
        if moved == 0:
            return 0
        if at.lo == at.hi == room.lo:
            return -moved
        if at.lo == at.hi == room.hi:
            return moved
    return None


def _scaled_by(
    turned: Direction, then: Expr, other: Expr, ranges: Mapping[str, Interval]
) -> Direction:
    """How a choice moves with its condition alone."""
    if never_above(other, then, ranges):
        return turned
    return _flip(turned) if never_above(then, other, ranges) else None


def _scaled(moved: Direction, by: Expr, ranges: Mapping[str, Interval]) -> Direction:
    if moved == 0 or moved is None:
        return moved
    factor = bounds(by, ranges)
    if factor.lo >= 0:
        return moved
    return -moved if factor.hi <= 0 else None


def _flip(moved: Direction) -> Direction:
    return None if moved is None else -moved


def _join(parts: list[Direction]) -> Direction:
    if None in parts:
        return None
    signs = {p for p in parts if p != 0}
    return None if len(signs) > 1 else (signs.pop() if signs else 0)


def _unread(go: Callable[[Expr], Direction], *exprs: Expr) -> Direction:
    """0 if no expression reads the part, else unknown."""
    return 0 if all(go(e) == 0 for e in exprs) else None


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


def parts_reading(expr: Expr, names: frozenset[str]) -> list[Expr]:
    """Subexpressions that read one of ``names``, inner ones first, each object once."""
    found: dict[int, Expr] = {}
    _collect(expr, names, found, {})
    return list(found.values())


def _collect(
    expr: Expr, names: frozenset[str], found: dict[int, Expr], seen: dict[int, bool]
) -> bool:
    if id(expr) not in seen:
        parts = [_collect(child, names, found, seen) for child in children(expr)]
        bound = isinstance(expr, Sum) and expr.var in names
        reads = expr.name in names if isinstance(expr, Var) else any(parts)
        seen[id(expr)] = reads if not bound else bool(names & free_names(expr))
        if seen[id(expr)]:
            found[id(expr)] = expr
    return seen[id(expr)]


def reads(expr: Expr, names: Collection[str], outside: Expr | None = None) -> bool:
    """Whether ``expr`` names one of ``names``, but for what stands in the object ``outside``."""
    seen: set[int] = set()
    left = [expr]
    while left:
        inner = left.pop()
        if inner is outside or id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, Var | Cell) and inner.name in names:
            return True
        left += children(inner)
    return False


def replaced(expr: Expr, part: Expr, by: Expr) -> Expr:
    """``expr`` with ``part``, a name or an object, replaced wherever it occurs."""
    seen: dict[int, Expr] = {}

    def go(inner: Expr) -> Expr:
        if _is(inner, part):
            return by
        if id(inner) not in seen:
            seen[id(inner)] = map_children(inner, go)
        return seen[id(inner)]

    return go(expr)
