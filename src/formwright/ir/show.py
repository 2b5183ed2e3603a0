"""The text reader: expressions, values and statements as a template file writes them.

``parse`` of the text gives the same node back for everything that a parser can make;
negative numbers and fractions, which only rewriting makes, are shown readably.
"""

from collections.abc import Sequence
from fractions import Fraction
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
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    BoxVar,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.rewrite import accesses

_LOGIC = {"=>": 1, "or": 2, "and": 3}
_NOT, _COMPARE, _ADD, _MULTIPLY, _SIGN, _ATOM = 4, 5, 6, 7, 8, 9
_OPEN = 0
"""Of ``if`` and ``sum``: they reach as far to the right as they can."""

_PLAIN_DIGITS = 20


def show_number(value: Fraction) -> str:
    """``12``, ``0.25``, ``18e11``, or ``1/3`` where no decimal is exact."""
    if value < 0:
        return "-" + show_number(-value)
    if value == 0:
        return "0"
    top, bottom, exponent = value.numerator, value.denominator, 0
    while top % 10 == 0:
        top, exponent = top // 10, exponent + 1
    while bottom % 10 == 0:
        bottom, exponent = bottom // 10, exponent - 1
    for small, other in ((2, 5), (5, 2)):
        while bottom % small == 0:
            bottom, top, exponent = bottom // small, top * other, exponent - 1
    if bottom != 1:
        return f"{value.numerator}/{value.denominator}"
    while top % 10 == 0:
        top, exponent = top // 10, exponent + 1
    digits = str(top)
    if exponent >= 0 and len(digits) + exponent <= _PLAIN_DIGITS:
        return digits + "0" * exponent
    if exponent < 0 and max(len(digits), -exponent) < _PLAIN_DIGITS:
        digits = digits.rjust(1 - exponent, "0")
        return f"{digits[:exponent]}.{digits[exponent:]}"
    return f"{digits}e{exponent}"


def show_expr(expr: Expr, tight: bool = False) -> str:
    """``expr`` with the fewest brackets; ``tight`` leaves out the blanks round ``+`` and ``-``."""
    return _expr(expr, tight)


def show_conjunct(expr: Expr) -> str:
    """``expr`` as a part of what ``and`` joins, in brackets where needed."""
    return _at(expr, _LOGIC["and"], False)


def show_term(expr: Expr) -> str:
    """``expr`` as a range's end or a summand: in brackets when it is a comparison or reaches on."""
    return _at(expr, _ADD, False)


def _level(expr: Expr) -> int:
    """How strongly the outermost operator binds."""
    match expr:
        case Num(value):
            if value < 0:
                return _SIGN
            return _MULTIPLY if "/" in show_number(value) else _ATOM
        case Truth() | Var() | Cell() | MinMax() | Round():
            return _ATOM
        case Arith(op):
            return _ADD if op in ("+", "-") else _MULTIPLY
        case Neg():
            return _SIGN
        case Compare():
            return _COMPARE
        case Logic(lop):
            return _LOGIC[lop]
        case Not():
            return _NOT
        case Cond() | Sum():
            return _OPEN
        case _:
            assert_never(expr)


def _at(expr: Expr, lowest: int, tight: bool) -> str:
    """``expr``, in brackets when it binds less strongly than ``lowest``."""
    text = _expr(expr, tight)
    return text if _level(expr) >= lowest else f"({text})"


def _expr(expr: Expr, tight: bool) -> str:
    level = _level(expr)
    match expr:
        case Num(value):
            return show_number(value)
        case Truth(value):
            return "true" if value else "false"
        case Var(name):
            return name
        case Cell(name, index):
            return f"{name}[{show_list(index)}]"
        case Arith(op, left, right):
            blank = "" if op in ("*", "/") or (tight and op != "mod") else " "
            a, b = _at(left, level, tight), _at(right, level + 1, tight)
            return f"{a}{blank}{op}{blank}{b}"
        case Neg(arg):
            return "-" + _at(arg, _SIGN, tight)
        case MinMax(mop, args):
            return f"{mop}({', '.join(_expr(a, tight) for a in args)})"
        case Round(rop, arg):
            return f"{rop}({_expr(arg, tight)})"
        case Compare(cop, left, right):
            return f"{_at(left, _ADD, tight)} {cop} {_at(right, _ADD, tight)}"
        case Logic(lop, left, right):
            own, next_ = (level + 1, level) if lop == "=>" else (level, level + 1)
            return f"{_at(left, own, tight)} {lop} {_at(right, next_, tight)}"
        case Not(arg):
            return "not " + _at(arg, _NOT, tight)
        case Cond(cond, then, other):
            a, b = _at(cond, 1, tight), _at(then, 1, tight)
            return f"if {a} then {b} else {_expr(other, tight)}"
        case Sum(var, lo, hi, body):
            span = f"{_at(lo, _ADD, tight)} .. {_at(hi, _ADD, tight)}"
            return f"sum({var} in {span}) {_at(body, _ADD, tight)}"
        case _:
            assert_never(expr)


def show_access(access: Access) -> str:
    """``name<generation>[index, …]``, compact; ``clip`` belongs to the statement."""
    generation = "" if access.generation is None else f"<{_at(access.generation, _ADD, True)}>"
    return f"{access.buffer}{generation}[{show_list(access.index)}]"


def show_list(items: Sequence[Expr]) -> str:
    """Indices or a shape: no blank behind the comma when all are names or numbers."""
    comma = "," if all(isinstance(i, (Var, Num)) for i in items) else ", "
    return comma.join(show_expr(i, tight=True) for i in items)


_VALUE_LEVELS = {"+": _ADD, "-": _ADD, "*": _MULTIPLY, "/": _MULTIPLY, "neg": _SIGN}


def _value_level(value: Value) -> int:
    match value:
        case Literal(number):
            if number < 0:
                return _SIGN
            return _MULTIPLY if "/" in show_number(number) else _ATOM
        case Op(name):
            return _VALUE_LEVELS.get(name, _ATOM)
        case Read() | Index() | Select():
            return _ATOM
        case _:
            assert_never(value)


def _value_at(value: Value, lowest: int) -> str:
    text = show_value(value)
    return text if _value_level(value) >= lowest else f"({text})"


def show_value(value: Value) -> str:
    """A value with the fewest brackets."""
    match value:
        case Literal(number):
            return show_number(number)
        case Read(access):
            return show_access(access)
        case Index(expr):
            return f"index({show_expr(expr)})"
        case Op("+" | "-" | "*" | "/" as op, (left, right)):
            level = _value_level(value)
            return f"{_value_at(left, level)} {op} {_value_at(right, level + 1)}"
        case Op("neg", (arg,)):
            return "-" + _value_at(arg, _SIGN)
        case Op(name, args):
            return f"{name}({', '.join(show_value(a) for a in args)})"
        case Select(cond, then, other):
            return f"select({show_expr(cond)}, {show_value(then)}, {show_value(other)})"
        case _:
            assert_never(value)


def show_box(box: Sequence[BoxVar]) -> str:
    """``over (r < Tm, k < Tk)``."""
    return f"over ({', '.join(f'{b.name} < {_at(b.extent, _ADD, False)}' for b in box)})"


def show_apply(apply: Apply, box: bool) -> str:
    """An apply, with its box when ``box``."""
    clip = apply.destination.clip or any(a.clip for a in accesses(apply.value))
    parts = [f"{show_access(apply.destination)} {apply.op} {show_value(apply.value)}"]
    if box and apply.box:
        parts.append(show_box(apply.box))
    if clip:
        parts.append("clip")
    if apply.asynchronous:
        parts.append("async")
    return " ".join(parts)


def _counter(name: str, place: Expr | None) -> str:
    return name if place is None else f"{name}[{show_expr(place)}]"


def show_stmt(stmt: Stmt) -> str:
    """The first line of a statement; ``for``, ``par`` and ``if`` end in a colon."""
    match stmt:
        case Alloc(buffers):
            return "alloc " + _buffers(buffers)
        case For(var, lo, hi):
            return f"for {var} in {show_expr(lo)} .. {show_expr(hi)}:"
        case Par(kind, variables, extents):
            names = variables[0] if len(variables) == 1 else f"({', '.join(variables)})"
            return f"par {kind} {names} in {', '.join(show_expr(e) for e in extents)}:"
        case If(cond):
            return f"if {show_expr(cond)}:"
        case Apply():
            return show_apply(stmt, box=False)
        case Barrier():
            return "barrier"
        case Commit():
            return "commit"
        case Wait(pending):
            return f"wait {show_expr(pending)}"
        case Arrive(counter, place):
            return f"arrive {_counter(counter, place)}"
        case Await(counter, count, place, phase):
            seen = "" if phase is None else f" phase {show_expr(phase)}"
            return f"await {_counter(counter, place)}, {show_expr(count)}{seen}"
        case Hint(kind, _, access) if access is not None:
            return f"hint {kind} {show_access(access)}"
        case Hint(_, factor, _):
            return f"hint unroll {show_expr(factor)}"
        case _:
            assert_never(stmt)


def _buffers(buffers: Sequence[Buffer]) -> str:
    """Buffers of equal attributes share them: ``a[…], b[…] ring S shared, c[…] register``."""
    parts: list[str] = []
    for at, buffer in enumerate(buffers):
        text = f"{buffer.name}[{show_list(buffer.shape)}]"
        after = buffers[at + 1] if at + 1 < len(buffers) else None
        if after is None or _attributes(after) != _attributes(buffer):
            text += _attributes(buffer)
        parts.append(text)
    return ", ".join(parts)


def _attributes(buffer: Buffer) -> str:
    text = "" if buffer.dtype == "f32" else f" {buffer.dtype}"
    if buffer.ring is not None:
        text += f" ring {_at(buffer.ring, _ADD, False)}"
    text += f" {buffer.home}"
    return text + (f" dist {buffer.dist}" if buffer.dist else "")
