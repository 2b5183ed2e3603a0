"""Expressions over whole columns of ranges at once, in floats rounded outward.

The exact value of an expression at any point of the ranges lies inside its band. So one reader
gives both the price of a design on a chip (ranges of one point) and what it costs at least on any
chip of a box.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np

from formwright.ir.band_arrays import (
    Band,
    BandsError,
    Value,
    Verdicts,
    arithmetic,
    chosen,
    compared,
    joined,
    negated,
    picked,
    point,
    rounded,
    rounded_quotient,
)
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


class Bands:
    """One pass over expressions with the same ``given``; an object is computed once."""

    def __init__(self, given: Mapping[str, Value]) -> None:
        self.given = given
        self._seen: dict[int, Value] = {}

    def run(self, expr: Expr) -> Value:
        found = self._seen.get(id(expr))
        if found is None:
            found = self._node(expr)
            self._seen[id(expr)] = found
        return found

    def number(self, expr: Expr) -> Band:
        value = self.run(expr)
        if isinstance(value, Verdicts):
            raise BandsError("a number is needed here, not a condition")
        return value

    def truths(self, expr: Expr) -> Verdicts:
        value = self.run(expr)
        if isinstance(value, Band):
            raise BandsError("a condition is needed here, not a number")
        return value

    def _node(self, expr: Expr) -> Value:
        match expr:
            case Num(value):
                return point(value)
            case Truth(verdict):
                return Verdicts(verdict, verdict)
            case Var(name):
                return self.given[name]
            case Arith(op, left, right):
                return arithmetic(op, self.number(left), self.number(right))
            case Neg(arg):
                return negated(self.number(arg))
            case MinMax(op, args):
                return picked(op == "max", [self.number(a) for a in args])
            case Round(op, Arith("/", left, right)):
                return rounded_quotient(op == "ceil", self.number(left), self.number(right))
            case Round(op, arg):
                return rounded(op == "ceil", self.number(arg))
            case Compare(op, left, right):
                return compared(op, self.number(left), self.number(right))
            case Logic(op, left, right):
                return joined(op, self.truths(left), self.truths(right))
            case Not(arg):
                inner = self.truths(arg)
                return Verdicts(np.logical_not(inner.may), np.logical_not(inner.sure))
            case Cond(cond, then, other):
                return chosen(self.truths(cond), self.run(then), self.run(other))
            case Sum() | Cell():
                raise BandsError("a sum over a range that depends on the chip")
            case _:
                assert_never(expr)
