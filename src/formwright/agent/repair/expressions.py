"""Expressions one change away from a given one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.ir.expr import (
    ONE,
    Arith,
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
    Var,
    num,
)
from formwright.ir.rewrite import children, map_children

Sized = tuple[Expr, int]
"""An expression and how unlikely it is: 1, 2 or 3."""


@dataclass(frozen=True, slots=True)
class Words:
    """The names that an expression may use, each kind by itself.

    A name is replaced by one of its own kind sooner than by one of another.
    """

    kinds: tuple[tuple[str, ...], ...]
    factors: tuple[str, ...] = ()
    """Names that cut something into blocks: what a number of blocks is multiplied by."""
    bound: int = 2
    """How many of the kinds are bound by the program: loops and boxes."""

    def instead_of(self, name: str) -> Iterator[tuple[str, int]]:
        for number, kind in enumerate(self.kinds):
            size = 3 if name not in kind else 1 if number < self.bound else 2
            yield from ((other, size) for other in kind if other != name)


def neighbours(expr: Expr, words: Words) -> Iterator[Sized]:
    """Shifted by one, and with one node changed: another name, number, operator; a side dropped."""
    if not _is_condition(expr):
        yield plus(expr, 1), 1
        yield plus(expr, -1), 1
    yield from changed(expr, lambda node: _local(node, words))


def changed(expr: Expr, local: Callable[[Expr], Iterator[Sized]]) -> Iterator[Sized]:
    """``expr`` with what ``local`` says in the place of one of its nodes."""
    yield from local(expr)
    for place, child in enumerate(children(expr)):
        for new, size in changed(child, local):
            yield _with_child(expr, place, new), size


def _with_child(expr: Expr, place: int, new: Expr) -> Expr:
    count = -1

    def pick(child: Expr) -> Expr:
        nonlocal count
        count += 1
        return new if count == place else child

    return map_children(expr, pick)


def _local(expr: Expr, words: Words) -> Iterator[Sized]:
    match expr:
        case Num(value):
            if value.denominator == 1:
                yield num(value + 1), 1
                if value > 0:
                    yield num(value - 1), 1
                if value > 2:
                    yield num(Fraction(value // 2)), 3
                    yield num(value * 2), 3
        case Var(name):
            for other, size in words.instead_of(name):
                yield Var(other), size
            for factor in words.factors:
                if factor != name:
                    yield Arith("*", expr, Var(factor)), 2
            for kind in words.kinds:
                for other in kind:
                    if other != name:
                        yield Arith("+", expr, Var(other)), 3
        case Arith(op, left, right):
            yield left, 2
            yield right, 2
            yield from _operators(expr, op, left, right)
        case MinMax(_, args):
            yield from ((arg, 2) for arg in args)
            yield replace(expr, op="max" if expr.op == "min" else "min"), 2
        case Round(op, arg):
            yield Round("floor" if op == "ceil" else "ceil", arg), 1
        case Compare(op, left, right):
            for other_op in _OPS:
                if other_op != op:
                    size = 0 if (op, other_op) in _STRICTNESS else 1
                    yield Compare(other_op, left, right), size
            yield Compare(op, left, plus(right, 1)), 1
            yield Compare(op, left, plus(right, -1)), 1
        case Logic(op, left, right):
            yield left, 2
            yield right, 2
            yield Logic("or" if op == "and" else "and", left, right), 2
        case Not(arg) | Neg(arg):
            yield arg, 1
        case Cond(cond, then, other):
            yield then, 2
            yield other, 2
            yield Cond(cond, other, then), 2
        case _:
            pass


_STRICTNESS = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
_OPS: tuple[CompareOp, ...] = ("<", "<=", "=", "!=", ">=", ">")


def _operators(expr: Arith, op: str, left: Expr, right: Expr) -> Iterator[Sized]:
    match op:
        case "+":
            yield Arith("-", left, right), 1
        case "-":
            yield Arith("+", left, right), 1
            yield Arith("-", right, left), 2
        case "*":
            yield Arith("+", left, right), 2
        case "//":
            yield Arith("mod", left, right), 1
            yield Round("ceil", Arith("/", left, right)), 1
        case "mod":
            yield Arith("//", left, right), 1
        case "/":
            yield Arith("/", right, left), 3
        case _:
            pass


def _is_condition(expr: Expr) -> bool:
    return isinstance(expr, Compare | Logic | Not)


def plus(expr: Expr, step: int) -> Expr:
    """``expr + step``, without a sum of two numbers: ``e + 1`` less 1 is ``e``."""
    match expr:
        case Num(value) if value + step >= 0:
            return num(value + step)
        case Arith("+", left, Num(value)) if value + step > 0:
            return Arith("+", left, num(value + step))
        case Arith("-", left, Num(value)) if value - step > 0:
            return Arith("-", left, num(value - step))
        case Arith("+" | "-", left, Num(value)) if value == (step if expr.op == "-" else -step):
            return left
        case _:
            return Arith("+", expr, num(step)) if step > 0 else Arith("-", expr, num(-step))


__all__ = ["ONE", "Sized", "Words", "changed", "neighbours", "plus"]
