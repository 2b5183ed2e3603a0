"""Expressions as closures over the tuple of a state.

The meaning is :func:`formwright.ir.evaluate.evaluate`, errors and laziness included. Names of
parameters, tokens and bound indices have their values already, so that most cells are fixed
places of the tuple and most of an expression folds away before the first state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, assert_never

from formwright.base.source import Span
from formwright.ir.evaluate import SUM_LIMIT, SUM_TERMS, EvaluationError
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
from formwright.ir.show import show_expr
from formwright.replay.system import operators
from formwright.replay.system.blank import Blank
from formwright.replay.system.made import Compiled, Kind, State, constant, failing, folded, plain

EAGER_TERMS = 256
"""Terms of a sum with known bounds that are compiled at once."""


class CellRangeError(EvaluationError):
    """A cell outside the range of its variable was read or changed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variable lies: ``size`` cells from ``offset``, the first of index ``lo``."""

    name: str
    offset: int
    lo: int
    size: int
    indexed: bool
    sort: Literal["int", "bool"]

    def slot(self, index: int) -> int:
        """The place of one cell; raises :class:`CellRangeError` outside the range."""
        at = index - self.lo
        if 0 <= at < self.size:
            return self.offset + at
        raise CellRangeError(
            f"index {index} of {self.name} is outside {self.lo} .. {self.lo + self.size}"
        )


@dataclass(frozen=True, slots=True)
class Names:
    """``constants`` come before ``variables``: a bound name hides a variable."""

    constants: Mapping[str, Scalar | Blank]
    variables: Mapping[str, Place]

    def bind(self, values: Mapping[str, Scalar | Blank]) -> "Names":
        """The same with further constants."""
        return replace(self, constants={**self.constants, **values})


def compiled(expr: Expr, names: Names) -> Compiled:
    """The closure of ``expr``; an error shows when it is called, never here."""
    match expr:
        case Num(value):
            return constant(plain(value))
        case Truth(verdict):
            return constant(verdict)
        case Var(name):
            return _name(name, names, expr.span)
        case Cell(name, index):
            return _cell(expr, name, index, names)
        case Arith(op, left, right):
            return operators.arith(op, _number(left, names), _number(right, names), expr.span)
        case Neg(arg):
            inner = _number(arg, names)
            f = inner.fn
            return folded(Compiled(lambda s: -f(s), inner.kind, inner.total), inner)
        case MinMax(op, args):
            return operators.extreme(op, tuple(_number(a, names) for a in args))
        case Round(op, arg):
            return operators.rounded(op, _number(arg, names))
        case Compare(op, left, right):
            return operators.compare(op, _number(left, names), _number(right, names))
        case Logic(op, left, right):
            return operators.logic(op, _truth(left, names), _truth(right, names))
        case Not(arg):
            inner = _truth(arg, names)
            f = inner.fn
            test = None if inner.slot is None else (inner.slot, False)
            return folded(Compiled(lambda s: not f(s), "bool", inner.total, test=test), inner)
        case Cond(cond, then, other):
            return operators.choice(
                _truth(cond, names), compiled(then, names), compiled(other, names)
            )
        case Sum():
            return _sum(expr, names)
        case _:
            assert_never(expr)


def integer(expr: Expr, names: Names) -> Compiled:
    """As :func:`compiled`; anything but an integer is an error of the run."""
    inner = _number(expr, names)
    if inner.kind == "int":
        return inner
    f, span = inner.fn, expr.span

    def checked(state: State) -> int:
        value = f(state)
        if isinstance(value, Fraction):
            raise EvaluationError(f"an integer is needed here, not {value}", span)
        return int(value)

    return folded(Compiled(checked, "int", False), inner)


def condition(expr: Expr, names: Names) -> Compiled:
    """As :func:`compiled`; anything but a truth value is an error of the run."""
    return _truth(expr, names)


def _number(expr: Expr, names: Names) -> Compiled:
    inner = compiled(expr, names)
    if inner.kind in ("int", "number"):
        return inner
    f, span = inner.fn, expr.span

    def checked(state: State) -> Any:
        value = f(state)
        if isinstance(value, bool):
            raise EvaluationError("a number is needed here, not a condition", span)
        return value

    return folded(Compiled(checked, "number", False), inner)


def _truth(expr: Expr, names: Names) -> Compiled:
    inner = compiled(expr, names)
    if inner.kind == "bool":
        return inner
    f, span = inner.fn, expr.span

    def checked(state: State) -> bool:
        value = f(state)
        if not isinstance(value, bool):
            raise EvaluationError("a condition is needed here, not a number", span)
        return value

    return folded(Compiled(checked, "bool", False), inner)


def _name(name: str, names: Names, span: Span | None) -> Compiled:
    if name in names.constants:
        value = names.constants[name]
        if isinstance(value, Blank):
            return Compiled(lambda s: value, "int", False)
        return constant(value)
    place = names.variables.get(name)
    if place is None or place.indexed:
        return failing(f'no value for "{name}"', span)
    return _at(place.offset, place.sort)


def _at(slot: int, sort: Literal["int", "bool"]) -> Compiled:
    test = (slot, True) if sort == "bool" else None
    return Compiled(lambda s: s[slot], sort, True, slot=slot, test=test)


def _cell(expr: Cell, name: str, index: tuple[Expr, ...], names: Names) -> Compiled:
    place = names.variables.get(name)
    if place is None or not place.indexed or len(index) != 1:
        return failing(f"no value for {show_expr(expr)}", expr.span)
    at = integer(index[0], names)
    if at.fixed:
        try:
            return _at(place.slot(int(at.value)), place.sort)
        except CellRangeError as error:
            return _outside(error.message, expr.span)
    f, slot = at.fn, place.slot
    return Compiled(lambda s: s[slot(f(s))], place.sort, False)


def _outside(message: str, span: Span | None) -> Compiled:
    def fail(state: State) -> Any:
        raise CellRangeError(message, span)

    return Compiled(fail, "any", False)


def _sum(expr: Sum, names: Names) -> Compiled:
    """Each term is compiled for its value of the index, once, when it is first needed."""
    lo, hi = integer(expr.lo, names), integer(expr.hi, names)
    stated = names.constants.get(SUM_TERMS, 1)
    outer = stated if isinstance(stated, int) else 1
    bodies: dict[tuple[int, int], Compiled] = {}

    def body(value: int, terms: int) -> Compiled:
        found = bodies.get((value, terms))
        if found is None:
            found = _number(expr.body, names.bind({expr.var: value, SUM_TERMS: terms}))
            bodies[value, terms] = found
        return found

    def total(state: State) -> Any:
        first, end = lo.fn(state), hi.fn(state)
        if first >= end:
            return 0
        terms = (end - first) * outer
        if terms > SUM_LIMIT:
            message = f"a sum over {terms} terms is longer than {SUM_LIMIT}"
            raise EvaluationError(message, expr.body.span)
        found: Any = 0
        for value in range(first, end):
            found = plain(found + body(value, terms).fn(state))
        return found

    if not (lo.fixed and hi.fixed):
        return Compiled(total, "number", False)
    first, end = int(lo.value), int(hi.value)
    count = max(0, end - first)
    if count > EAGER_TERMS or count * outer > SUM_LIMIT:
        return Compiled(total, "number", False)
    parts = [body(v, count * outer) for v in range(first, end)]
    kind: Kind = "int" if all(p.kind == "int" for p in parts) else "number"
    fns = tuple(p.fn for p in parts)
    if kind == "int":
        made = Compiled(lambda s: sum(f(s) for f in fns), kind, all(p.total for p in parts))
    else:
        made = Compiled(total, kind, all(p.total for p in parts))
    return folded(made, *parts)
