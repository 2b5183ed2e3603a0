"""Random well-kinded expressions over small named ranges, errors of division included."""

from fractions import Fraction

from hypothesis import strategies as st

from formwright.ir.expr import (
    Arith,
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

MENUS: dict[str, tuple[int, ...]] = {
    "a": (1, 2, 3, 8),
    "b": (-3, 0, 5),
    "c": (1, 16, 1000),
    "d": (0, 1),
}
"""The names that random expressions use, each with its values."""

small = st.integers(-6, 12)
constants = st.one_of(
    small.map(Fraction),
    st.fractions(min_value=-4, max_value=9, max_denominator=7),
    st.sampled_from([Fraction(10**19), Fraction(2**62), Fraction(1, 10**12 + 39)]),
)


def leaves(names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    return st.one_of(st.builds(Num, constants), st.builds(Var, st.sampled_from(names)))


def _divisor(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    positive = st.integers(1, 9).map(lambda n: Num(Fraction(n)))
    return st.one_of(positive, inner)


def _integer(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.builds(Round, st.sampled_from(["ceil", "floor"]), inner)


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3, names: tuple[str, ...] = tuple(MENUS)) -> Expr:
    """A numeric expression."""
    if depth == 0:
        return draw(leaves(names))
    inner = numbers(depth - 1, names)
    kind = draw(st.sampled_from("leaf ring ring divide whole minmax neg round cond sum".split()))
    match kind:
        case "leaf":
            return draw(leaves(names))
        case "ring":
            return Arith(draw(st.sampled_from(["+", "-", "*"])), draw(inner), draw(inner))
        case "divide":
            return Arith("/", draw(inner), draw(_divisor(inner)))
        case "whole":
            op = draw(st.sampled_from(["//", "mod"]))
            return Arith(op, draw(_integer(inner)), draw(_divisor(_integer(inner))))
        case "minmax":
            args = tuple(draw(st.lists(inner, min_size=1, max_size=3)))
            return MinMax(draw(st.sampled_from(["min", "max"])), args)
        case "neg":
            return Neg(draw(inner))
        case "round":
            return draw(_integer(inner))
        case "cond":
            return Cond(draw(conditions(depth - 1, names)), draw(inner), draw(inner))
        case _:
            body = draw(numbers(depth - 1, (*names, "i")))
            hi = draw(st.one_of(st.integers(0, 3).map(lambda n: Num(Fraction(n))), _integer(inner)))
            capped = MinMax("min", (hi, Num(Fraction(4))))
            return Sum("i", Num(Fraction(draw(st.integers(-2, 2)))), capped, body)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3, names: tuple[str, ...] = tuple(MENUS)) -> Expr:
    """A boolean expression."""
    kind = draw(st.sampled_from("compare compare compare truth logic not cond".split()))
    if depth == 0 or kind == "compare":
        op = draw(st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]))
        inner = numbers(max(0, depth - 1), names)
        return Compare(op, draw(inner), draw(inner))
    inner = conditions(depth - 1, names)
    match kind:
        case "truth":
            return Truth(draw(st.booleans()))
        case "logic":
            op = draw(st.sampled_from(["and", "or", "=>"]))
            return Logic(op, draw(inner), draw(inner))
        case "not":
            return Not(draw(inner))
        case _:
            return Cond(draw(inner), draw(inner), draw(inner))


expressions = st.one_of(numbers(), conditions())
