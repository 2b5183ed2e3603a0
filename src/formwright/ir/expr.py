"""The expression IR: integers, exact rationals and booleans, as data.

``evaluate`` in :mod:`formwright.ir.evaluate` is the meaning. Every reader is an
exhaustive ``match`` over :data:`Expr`; nodes know no reader. Spans do not take part in
equality, so equal texts at different places are equal expressions.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from formwright.base.source import Span

ArithOp = Literal["+", "-", "*", "/", "//", "mod"]
CompareOp = Literal["<", "<=", "=", "!=", ">=", ">"]
LogicOp = Literal["and", "or", "=>"]


@dataclass(frozen=True, slots=True)
class Num:
    """An integer or an exact rational constant."""

    value: Fraction
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var:
    """A name: an extent, a decision, a loop variable, or a chip field (``chip.shared_bytes``)."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cell:
    """``name[index, ...]``: an indexed state variable; stands only in transition systems."""

    name: str
    index: tuple["Expr", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arith:
    """``/`` is exact; ``//`` and ``mod`` floor, on integers. Divisors must be positive."""

    op: ArithOp
    left: "Expr"
    right: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Neg:
    arg: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MinMax:
    """``min`` or ``max`` of at least one argument."""

    op: Literal["min", "max"]
    args: tuple["Expr", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Round:
    """``ceil`` or ``floor`` of a rational; the result is an integer."""

    op: Literal["ceil", "floor"]
    arg: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    op: CompareOp
    left: "Expr"
    right: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logic:
    op: LogicOp
    left: "Expr"
    right: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    arg: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cond:
    """``if c then a else b``."""

    cond: "Expr"
    then: "Expr"
    other: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """``sum(var in lo .. hi) body``: the half-open range ``lo <= var < hi``, 0 when empty."""

    var: str
    lo: "Expr"
    hi: "Expr"
    body: "Expr"
    span: Span | None = field(default=None, compare=False, repr=False)


Expr = Num | Truth | Var | Cell | Arith | Neg | MinMax | Round | Compare | Logic | Not | Cond | Sum

CELL = "a cell of a state variable has no value outside its transition system"
"""What readers outside systems say of a :class:`Cell`."""

Scalar = int | Fraction | bool
"""What an expression evaluates to; a rational with denominator 1 is given as ``int``."""


def num(value: int | Fraction) -> Num:
    return Num(Fraction(value))


ZERO = num(0)
ONE = num(1)
TRUE = Truth(True)
