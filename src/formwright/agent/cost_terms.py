"""Expressions of costs, put together: sums, products, choices; what says nothing is left out."""

from collections.abc import Sequence
from fractions import Fraction

from formwright.agent.rules.values import is_number
from formwright.ir.expr import (
    ONE,
    ZERO,
    Arith,
    Compare,
    Cond,
    Expr,
    MinMax,
    Num,
    Round,
    Truth,
    Var,
    num,
)
from formwright.ir.fold import folded
from formwright.ir.rewrite import map_children


def tidy(expr: Expr) -> Expr:
    """``expr`` folded, with products by 0 and what is taken off and given back gone."""
    inner = folded(map_children(expr, tidy))
    match inner:
        case Arith("*", left, right) if is_number(left, 0) or is_number(right, 0):
            return ZERO
        case Arith("-", left, Arith("-", whole, right)) if left == whole:
            return right
        case _:
            return inner


def add(terms: Sequence[Expr]) -> Expr:
    """Their sum, as a tree of little height."""
    kept = [t for t in terms if not is_number(t, 0)]
    if not kept:
        return ZERO
    if len(kept) == 1:
        return kept[0]
    middle = len(kept) // 2
    return Arith("+", add(kept[:middle]), add(kept[middle:]))


def mul(factors: Sequence[Expr]) -> Expr:
    """Their product; numbers are multiplied out, blocks and the cells of a block are all cells."""
    number = Fraction(1)
    rest = list[Expr]()
    factors = _joined(_flat(factors))
    for factor in factors:
        if isinstance(factor, Num):
            number *= factor.value
        else:
            rest.append(factor)
    if number == 0:
        return ZERO
    if not rest:
        return num(number)
    found = rest[0]
    for factor in rest[1:]:
        found = Arith("*", found, factor)
    if number == 1:
        return found
    if number.numerator == 1:
        return Arith("/", found, num(number.denominator))
    whole = Arith("*", num(number.numerator), found)
    return whole if number.denominator == 1 else Arith("/", whole, num(number.denominator))


def _flat(factors: Sequence[Expr]) -> list[Expr]:
    found = list[Expr]()
    for factor in factors:
        match factor:
            case Arith("*", left, right):
                found += _flat((left, right))
            case _:
                found.append(factor)
    return found


def _joined(factors: list[Expr]) -> list[Expr]:
    """``ceil(X/B)`` blocks, the last of which has what is left, of ``min(B, X)``: these are X."""
    found = list[Expr]()
    for factor in factors:
        for place, other in enumerate(found):
            whole = _whole(other, factor) or _whole(factor, other)
            if whole is not None:
                found[place] = whole
                break
        else:
            found.append(factor)
    return found if len(found) == len(factors) else _joined(found)


def _whole(blocks: Expr, cells: Expr) -> Expr | None:
    match blocks, cells:
        case Round("ceil", Arith("/", top, block)), MinMax("min", (a, b)):
            return top if (a, b) in ((block, top), (top, block)) else None
        case _:
            return None


def minus(left: Expr, right: Expr) -> Expr:
    return tidy(Arith("-", left, right))


def quotient(top: Expr, bottom: Expr) -> Expr:
    """``top/bottom``; the caller sees to it that ``bottom`` is above 0."""
    if is_number(bottom, 1) or is_number(top, 0):
        return top
    return Arith("/", top, bottom)


def ceiling(top: Expr, bottom: Expr) -> Expr:
    """``ceil(top/bottom)``."""
    if is_number(bottom, 1) or is_number(top, 1):
        return top
    return Round("ceil", Arith("/", top, bottom))


def largest(left: Expr, right: Expr) -> Expr:
    if is_number(left, 0):
        return right
    if is_number(right, 0):
        return left
    if isinstance(left, Num) and isinstance(right, Num):
        return num(max(left.value, right.value))
    return MinMax("max", (left, right))


def least(left: Expr, right: Expr) -> Expr:
    return left if left == right else MinMax("min", (left, right))


def choice(cond: Expr, then: Expr, other: Expr) -> Expr:
    """``if cond then then else other``."""
    if isinstance(cond, Truth):
        return then if cond.value else other
    return then if then == other else Cond(cond, then, other)


def above(left: Expr, right: Expr) -> Expr:
    return Compare(">", left, right)


def chip(name: str) -> Var:
    return Var(f"chip.{name}")


def at_least_one(expr: Expr) -> Expr:
    """What may be divided by."""
    if isinstance(expr, Num):
        return expr if expr.value >= 1 else ONE
    return MinMax("max", (ONE, expr))
