"""Expressions as closures over the tuple of a state.

The meaning is :func:`formwright.ir.evaluate.evaluate`, errors and laziness included. Names of
parameters, tokens and bound indices have their values already, so that most cells are fixed
places of the tuple and most of an expression folds away before the first state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, NamedTuple, assert_never

from formwright.base.source import Span
from formwright.ir.evaluate import SUM_LIMIT, SUM_TERMS, EvaluationError
from formwright.ir.expr import (
    Arith,
    ArithOp,
    Cell,
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
    Scalar,
    Sum,
    Truth,
    Var,
)
from formwright.ir.show import show_expr

State = tuple[Any, ...]
"""Values of all cells, in the places of a layout; ``int`` or ``bool`` each."""

Fn = Callable[[State], Any]
Kind = Literal["int", "number", "bool", "any"]
"""``number``: an integer or a fraction; ``any``: only a run tells."""

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

    constants: Mapping[str, Scalar]
    variables: Mapping[str, Place]

    def bind(self, values: Mapping[str, Scalar]) -> "Names":
        """The same with further constants."""
        return replace(self, constants={**self.constants, **values})


class Compiled(NamedTuple):
    """``total``: never raises; ``fixed``: total, with one value. ``slot``: it is this place.
    ``test``: it says that this place has this value."""

    fn: Fn
    kind: Kind
    total: bool
    fixed: bool = False
    slot: int | None = None
    test: tuple[int, Scalar] | None = None

    @property
    def value(self) -> Scalar:
        """Of a fixed expression."""
        found: Scalar = self.fn(())
        return found


def compiled(expr: Expr, names: Names) -> Compiled:
    """The closure of ``expr``; an error shows when it is called, never here."""
    match expr:
        case Num(value):
            return constant(_plain(value))
        case Truth(verdict):
            return constant(verdict)
        case Var(name):
            return _name(name, names, expr.span)
        case Cell(name, index):
            return _cell(expr, name, index, names)
        case Arith(op, left, right):
            return _arith(op, _number(left, names), _number(right, names), expr.span)
        case Neg(arg):
            inner = _number(arg, names)
            f = inner.fn
            return _folded(Compiled(lambda s: -f(s), inner.kind, inner.total), inner)
        case MinMax(op, args):
            return _extreme(op, tuple(_number(a, names) for a in args))
        case Round(op, arg):
            return _round(op, _number(arg, names))
        case Compare(op, left, right):
            return _compare(op, _number(left, names), _number(right, names))
        case Logic(op, left, right):
            return _logic(op, _truth(left, names), _truth(right, names))
        case Not(arg):
            inner = _truth(arg, names)
            f = inner.fn
            test = None if inner.slot is None else (inner.slot, False)
            return _folded(Compiled(lambda s: not f(s), "bool", inner.total, test=test), inner)
        case Cond(cond, then, other):
            return _choice(_truth(cond, names), compiled(then, names), compiled(other, names))
        case Sum():
            return _sum(expr, names)
        case _:
            assert_never(expr)


def constant(value: Scalar) -> Compiled:
    """A closure that gives ``value`` in every state."""
    kind: Kind = "number"
    if isinstance(value, bool):
        kind = "bool"
    elif isinstance(value, int):
        kind = "int"
    return Compiled(lambda s: value, kind, True, True)


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

    return _folded(Compiled(checked, "int", False), inner)


def condition(expr: Expr, names: Names) -> Compiled:
    """As :func:`compiled`; anything but a truth value is an error of the run."""
    return _truth(expr, names)


def failing(message: str, span: Span | None = None) -> Compiled:
    """A closure that has no value in any state."""

    def fail(state: State) -> Any:
        raise EvaluationError(message, span)

    return Compiled(fail, "any", False)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _folded(made: Compiled, *parts: Compiled) -> Compiled:
    """A constant, if all of the parts are and the value exists."""
    if not all(p.fixed for p in parts):
        return made
    try:
        return constant(made.fn(()))
    except EvaluationError:
        return made._replace(total=False)


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

    return _folded(Compiled(checked, "number", False), inner)


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

    return _folded(Compiled(checked, "bool", False), inner)


def _name(name: str, names: Names, span: Span | None) -> Compiled:
    if name in names.constants:
        return constant(names.constants[name])
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


def _arith(op: ArithOp, left: Compiled, right: Compiled, span: Span | None) -> Compiled:
    whole = left.kind == "int" and right.kind == "int"
    total = left.total and right.total
    if whole and right.fixed and op != "/":
        by = int(right.value)
        if op in ("+", "-", "*") or by >= 1:
            slot = left.slot
            make = _WHOLE_FIXED[op](left.fn, by) if slot is None else _WHOLE_SLOT[op](slot, by)
            return _folded(Compiled(make, "int", total), left)
    if whole and op in ("+", "-", "*"):
        return _folded(Compiled(_WHOLE[op](left.fn, right.fn), "int", total), left, right)
    f, g = left.fn, right.fn
    kind: Kind = "int" if op in ("//", "mod") else "number"
    total = total and op in ("+", "-", "*")
    made = Compiled(lambda s: _exact(op, f(s), g(s), span), kind, total)
    return _folded(made, left, right)


def _exact(op: ArithOp, left: Any, right: Any, span: Span | None) -> Any:
    match op:
        case "+":
            return _plain(left + right)
        case "-":
            return _plain(left - right)
        case "*":
            return _plain(left * right)
        case "/":
            if right <= 0:
                raise EvaluationError(f"division by {right}: a divisor must be positive", span)
            return _plain(Fraction(left) / right)
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


def _compare(op: CompareOp, left: Compiled, right: Compiled) -> Compiled:
    total = left.total and right.total
    if right.fixed:
        value = right.value
        if left.slot is None:
            return _folded(Compiled(_COMPARE_FIXED[op](left.fn, value), "bool", total), left)
        test = (left.slot, value) if op == "=" else None
        return Compiled(_COMPARE_SLOT[op](left.slot, value), "bool", total, test=test)
    return _folded(Compiled(_COMPARE[op](left.fn, right.fn), "bool", total), left, right)


def _logic(op: Literal["and", "or", "=>"], left: Compiled, right: Compiled) -> Compiled:
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


def _extreme(op: Literal["min", "max"], args: tuple[Compiled, ...]) -> Compiled:
    pick = min if op == "min" else max
    kind: Kind = "int" if all(a.kind == "int" for a in args) else "number"
    total = all(a.total for a in args)
    fns = tuple(a.fn for a in args)
    made = Compiled(lambda s: pick(f(s) for f in fns), kind, total)
    if len(fns) == 2:
        f, g = fns
        made = made._replace(fn=lambda s: pick(f(s), g(s)))
    return _folded(made, *args)


def _round(op: Literal["ceil", "floor"], inner: Compiled) -> Compiled:
    if inner.kind == "int":
        return inner
    f = inner.fn
    rounded = ceil if op == "ceil" else floor
    return _folded(Compiled(lambda s: rounded(f(s)), "int", inner.total), inner)


def _choice(cond: Compiled, then: Compiled, other: Compiled) -> Compiled:
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


def _sum(expr: Sum, names: Names) -> Compiled:
    """Each term is compiled for its value of the index, once, when it is first needed."""
    lo, hi = integer(expr.lo, names), integer(expr.hi, names)
    outer = int(names.constants.get(SUM_TERMS, 1))
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
            found = _plain(found + body(value, terms).fn(state))
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
    return _folded(made, *parts)
