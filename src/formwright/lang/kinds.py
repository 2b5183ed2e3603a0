"""What kind of value an expression has: integers, numbers and conditions do not mix (L21)."""

from dataclasses import dataclass, replace
from math import ceil
from typing import assert_never

from formwright.base.source import Span
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
from formwright.lang.faults import counted
from formwright.lang.limits import DEGREE, INLINED_HEIGHT, INLINED_NODES, TERMS, TOTAL_NODES
from formwright.lang.names import Kind, Names, Symbol


@dataclass(frozen=True, slots=True)
class Info:
    """Kind and, with definitions in their places, height and count of nodes.

    ``terms``: of the expression with products multiplied out and sums written out;
    ``degree``: factors of the longest one.
    """

    kind: Kind
    height: int = 1
    nodes: int = 1
    chip: bool = False
    terms: int = 1
    degree: int = 1

    def symbol(self, what: str, span: Span | None) -> Symbol:
        """A name for the expression."""
        sizes = (self.height, self.nodes, self.chip, self.terms, self.degree)
        return Symbol(what, self.kind, span, *sizes)


def check(expr: Expr, names: Names) -> Info:
    """The kind of ``expr``; unknown names, mixed kinds and sizes over the limits are told."""
    info = _check(expr, names)
    names.nodes += info.nodes
    if info.height > INLINED_HEIGHT or info.nodes > INLINED_NODES:
        names.faults.add(
            "this expression is too large with its definitions put in their places",
            expr.span,
            f"at most {INLINED_NODES} nodes and {INLINED_HEIGHT} operators on top of one another",
        )
        return Info(info.kind, chip=info.chip)
    if info.terms > TERMS or info.degree > DEGREE:
        names.faults.add(
            "this expression is too large with its products multiplied out",
            expr.span,
            f"at most {TERMS} terms, those of sums included, of {DEGREE} factors",
        )
        return Info(info.kind, chip=info.chip)
    if names.nodes > TOTAL_NODES:
        names.nodes = 0
        names.faults.add(
            f"the expressions up to here have more than {TOTAL_NODES} nodes in all", expr.span
        )
    return info


def integer(expr: Expr, names: Names) -> Info:
    """As :func:`check`, where an integer is needed."""
    return _need_integer(check(expr, names), expr.span, names)


def number(expr: Expr, names: Names) -> Info:
    """As :func:`check`, where a number is needed."""
    return _need_number(check(expr, names), expr.span, names)


def condition(expr: Expr, names: Names) -> Info:
    """As :func:`check`, where a condition is needed."""
    return _need_condition(check(expr, names), expr.span, names)


def _need_number(info: Info, span: Span | None, names: Names) -> Info:
    if info.kind == "condition":
        names.faults.add(
            "a number is needed here, not a condition", span, "write if c then 1 else 0"
        )
    return info


def _need_integer(info: Info, span: Span | None, names: Names) -> Info:
    _need_number(info, span, names)
    if info.kind == "rational":
        names.faults.add(
            "an integer is needed here, not a quotient", span, "use //, floor(…) or ceil(…)"
        )
    elif info.kind == "number":
        names.faults.add(
            "an integer is needed here, and this may be a fraction", span, "use floor(…) or ceil(…)"
        )
    return info


def _need_condition(info: Info, span: Span | None, names: Names) -> Info:
    if info.kind not in ("condition", "any"):
        names.faults.add(
            "a condition is needed here, not a number", span, "compare it, as in x = 1"
        )
    return info


def _check(expr: Expr, names: Names) -> Info:
    match expr:
        case Num(value):
            return Info("integer" if value.denominator == 1 else "rational")
        case Truth():
            return Info("condition")
        case Var(name):
            return _name(name, expr.span, names)
        case Cell():
            return _cell(expr, names)
        case Arith("//" | "mod" as op, left, right):
            return _join("integer", _whole(left, op, names), _whole(right, op, names))
        case Arith("/", left, right):
            return _product("rational", _number(left, names), _number(right, names))
        case Arith("*", left, right):
            parts = (_number(left, names), _number(right, names))
            return _product(_numeric(*parts).kind, *parts)
        case Arith(_, left, right):
            return _numeric(_number(left, names), _number(right, names))
        case Neg(arg):
            return _numeric(_number(arg, names))
        case MinMax(_, args):
            return _numeric(*(_number(a, names) for a in args))
        case Round(_, arg):
            return _join("integer", _number(arg, names))
        case Compare(_, left, right):
            return _join("condition", _number(left, names), _number(right, names))
        case Logic(_, left, right):
            return _join("condition", _truth(left, names), _truth(right, names))
        case Not(arg):
            return _join("condition", _truth(arg, names))
        case Cond(cond, then, other):
            return _choice(expr, _truth(cond, names), then, other, names)
        case Sum(var, lo, hi, body):
            low, high = (_need_integer(_check(e, names), e.span, names) for e in (lo, hi))
            ends = bounds(lo, names.ranges).lo, bounds(hi, names.ranges).hi
            known = names.ranges
            names.ranges = known | {var: Interval(ends[0], ends[1] - 1)}
            with names.bound([(var, Symbol("the name of a sum", "integer", expr.span))]):
                inner = _number(body, names)
            names.ranges = known
            joined = _join(_numeric(inner).kind, low, high, inner)
            length = ends[1] - ends[0]
            if isinstance(length, float):
                return joined  # An extent bounds it: evaluation has its own limit.
            return replace(joined, terms=max(1, ceil(length)) * inner.terms)
        case _:
            assert_never(expr)


def _name(name: str, span: Span | None, names: Names) -> Info:
    symbol = names.table.get(name)
    if symbol is None and name in names.later:
        names.faults.add(f'"{name}" is {names.later[name]}: it has no value here', span)
        return Info("any")
    if symbol is None:
        names.faults.unknown("the name", name, span, names.table)
        return Info("any")
    if symbol.what in ("a buffer", "a tensor", "a stage", "the cost"):
        names.faults.add(f'"{name}" is {symbol.what}: a number is needed here', span)
        return Info("any")
    if symbol.indices:
        _wrong_indices(name, symbol, 0, span, names)
    sizes = (symbol.height, symbol.nodes, symbol.chip, symbol.terms, symbol.degree)
    return Info(symbol.kind, *sizes)


def _cell(cell: Cell, names: Names) -> Info:
    """A state variable or a definition of a system with its indices."""
    parts = [_need_integer(_check(i, names), i.span, names) for i in cell.index]
    symbol = names.table.get(cell.name)
    if symbol is None:
        return _join(_name(cell.name, cell.span, names).kind, *parts)
    if symbol.indices != len(cell.index):
        _wrong_indices(cell.name, symbol, len(cell.index), cell.span, names)
    inside = max(p.nodes for p in parts)
    info = _join(symbol.kind, *parts)
    return replace(
        info,
        height=info.height + symbol.height,
        nodes=info.nodes + symbol.nodes * inside,
        chip=info.chip or symbol.chip,
        terms=info.terms * symbol.terms,
    )


def _wrong_indices(name: str, symbol: Symbol, given: int, span: Span | None, names: Names) -> None:
    has = counted(symbol.indices, "index", "indices") if symbol.indices else "no index"
    names.faults.add(f'"{name}" is {symbol.what} with {has}, not {given}', span)


def _number(expr: Expr, names: Names) -> Info:
    return _need_number(_check(expr, names), expr.span, names)


def _truth(expr: Expr, names: Names) -> Info:
    return _need_condition(_check(expr, names), expr.span, names)


def _whole(expr: Expr, op: str, names: Names) -> Info:
    """An operand of ``//`` or ``mod``: not a quotient (chip fields are given the benefit)."""
    info = _number(expr, names)
    if info.kind == "rational":
        names.faults.add(
            f'"{op}" needs integers, and this is a quotient', expr.span, "use floor(…) or ceil(…)"
        )
    return info


def _choice(expr: Cond, cond: Info, then: Expr, other: Expr, names: Names) -> Info:
    first, second = _check(then, names), _check(other, names)
    kinds = {first.kind, second.kind} - {"any"}
    if "condition" in kinds and len(kinds) > 1:
        names.faults.add("one case is a number and the other a condition", expr.span)
        return _join("any", cond, first, second)
    kind: Kind = "condition" if "condition" in kinds else _numeric(first, second).kind
    return _join(kind, cond, first, second)


def _numeric(*parts: Info) -> Info:
    """The kind of a sum, product or minimum of the parts."""
    kinds = {p.kind for p in parts}
    kind: Kind = "integer"
    if "any" in kinds or "condition" in kinds:
        kind = "any"
    elif "rational" in kinds:
        kind = "rational"
    elif "number" in kinds:
        kind = "number"
    return _join(kind, *parts)


def _join(kind: Kind, *parts: Info) -> Info:
    return Info(
        kind,
        1 + max(p.height for p in parts),
        1 + sum(p.nodes for p in parts),
        any(p.chip for p in parts),
        sum(p.terms for p in parts),
        max(p.degree for p in parts),
    )


def _product(kind: Kind, left: Info, right: Info) -> Info:
    joined = _join(kind, left, right)
    return replace(joined, terms=left.terms * right.terms, degree=left.degree + right.degree)
