"""Expressions by precedence climbing (rules L20 to L25).

    implies  or  and  not  comparison  + -  * / // mod  sign  primary

lowest first; ``=>`` groups to the right, comparisons do not group.
"""

from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import (
    Arith,
    ArithOp,
    Cell,
    Compare,
    CompareOp,
    Cond,
    Expr,
    Logic,
    LogicOp,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.lang.cursor import Cursor
from formwright.lang.faults import LineError
from formwright.lang.lexer import Token
from formwright.lang.limits import HEIGHT, NESTING

IMPLIES, OR, AND, NOT, COMPARE, ADD, MULTIPLY = range(1, 8)

_LOGIC: dict[str, tuple[int, LogicOp]] = {
    "=>": (IMPLIES, "=>"),
    "or": (OR, "or"),
    "and": (AND, "and"),
}
_COMPARE: dict[str, CompareOp] = {
    "<": "<",
    "<=": "<=",
    "=": "=",
    "!=": "!=",
    ">=": ">=",
    ">": ">",
}
_ARITH: dict[str, tuple[int, ArithOp]] = {
    "+": (ADD, "+"),
    "-": (ADD, "-"),
    "*": (MULTIPLY, "*"),
    "/": (MULTIPLY, "/"),
    "//": (MULTIPLY, "//"),
    "mod": (MULTIPLY, "mod"),
}
_UP: tuple[CompareOp, ...] = ("<", "<=")
_DOWN: tuple[CompareOp, ...] = (">", ">=")


class ExpressionReader:
    """Reads expressions from a cursor; ``height`` is that of the last one read.

    ``cells``: those of transition systems, with ``x[e]`` and ``coarse.x``.
    """

    def __init__(self, cursor: Cursor, cells: bool = False) -> None:
        self.cursor = cursor
        self.cells = cells
        self.nesting = 0
        self.height = 0

    def expression(self) -> Expr:
        return self._binary(IMPLIES)

    def conjunct(self) -> Expr:
        """An expression that ``or`` and ``=>`` end: a part of what ``and`` joins."""
        return self._binary(AND)

    def arithmetic(self) -> Expr:
        """An expression without a comparison at its top: a range's end, a generation."""
        return self._binary(ADD)

    def enter(self) -> None:
        self.nesting += 1
        if self.nesting > NESTING:
            raise LineError(f"nested more than {NESTING} deep", self.cursor.token.span)

    def leave(self) -> None:
        self.nesting -= 1

    def grow(self, height: int, span: Span) -> None:
        self.height = height
        if height > HEIGHT:
            raise LineError(
                f"an expression of more than {HEIGHT} operators on top of one another",
                span,
                'give a part of it a name under "where"',
            )

    def _binary(self, lowest: int) -> Expr:
        cursor = self.cursor
        start = cursor.token
        left = self._prefix()
        height = self.height
        while True:
            token = cursor.token
            word = token.text if token.kind in ("sign", "name") else ""
            if word in _ARITH and _ARITH[word][0] >= lowest:
                level, op = _ARITH[word]
                cursor.next()
                right = self._binary(level + 1)
                height = max(height, self.height) + 1
                left = Arith(op, left, right, cursor.since(start))
            elif word in _COMPARE and lowest <= COMPARE:
                left, height = self._comparison(left, height)
            elif word in _LOGIC and _LOGIC[word][0] >= lowest:
                level, lop = _LOGIC[word]
                cursor.next()
                self.enter()
                right = self._binary(level if lop == "=>" else level + 1)
                self.leave()
                height = max(height, self.height) + 1
                left = Logic(lop, left, right, cursor.since(start))
            else:
                self.height = height
                return left
            self.grow(height, cursor.since(start))

    def _comparison(self, left: Expr, height: int) -> tuple[Expr, int]:
        """``a < b``, or ``a <= x < b`` as a conjunction (rule L22)."""
        cursor = self.cursor
        start = cursor.token
        op = _COMPARE[cursor.next().text]
        middle = self._binary(ADD)
        height = max(height, self.height) + 1
        first = Compare(op, left, middle, cursor.since(start))
        first = Compare(op, left, middle, _join(left.span, first.span))
        if not cursor.sees(*_COMPARE):
            return first, height
        again = cursor.token
        second = _COMPARE[again.text]
        if not any(op in way and second in way for way in (_UP, _DOWN)):
            raise LineError(
                f'"{op}" and "{second}" do not chain', again.span, 'join them with "and"'
            )
        cursor.next()
        right = self._binary(ADD)
        if cursor.sees(*_COMPARE):
            raise LineError(
                "comparisons chain only as a < b < c", cursor.token.span, 'join them with "and"'
            )
        height = max(height, self.height + 1) + 1
        span = _join(middle.span, right.span)
        other = Compare(second, middle, right, span)
        return Logic("and", first, other, _join(first.span, span)), height

    def _prefix(self) -> Expr:
        cursor = self.cursor
        start = cursor.token
        if cursor.take("not"):
            self.enter()
            arg = self._binary(NOT)
            self.leave()
            self.grow(self.height + 1, cursor.since(start))
            return Not(arg, cursor.since(start))
        if cursor.take("-"):
            self.enter()
            arg = self._prefix()
            self.leave()
            self.grow(self.height + 1, cursor.since(start))
            return Neg(arg, cursor.since(start))
        return self._primary()

    def _primary(self) -> Expr:
        cursor = self.cursor
        token = cursor.token
        self.height = 1
        if token.kind == "number":
            value, _ = cursor.number()
            return Num(value, token.span)
        if token.kind == "sign" and token.text == "(":
            return self._bracket()
        if token.kind != "name":
            raise LineError(f"an expression is missing{cursor.before()}", token.span)
        match token.text:
            case "true" | "false":
                cursor.next()
                return Truth(token.text == "true", token.span)
            case "min" | "max":
                return self._min_max("min" if token.text == "min" else "max")
            case "ceil" | "floor":
                return self._round("ceil" if token.text == "ceil" else "floor")
            case "if":
                return self._conditional()
            case "sum":
                return self._sum()
            case word if word.startswith(("chip.", "bytes.")):
                cursor.next()
                return Var(word, token.span)
        if self.cells and token.text.startswith("coarse."):
            cursor.next()
            name = token
        else:
            name = cursor.name("an expression")
        if self.cells and cursor.sees("["):
            return self._cell(name)
        if cursor.sees("(", "["):
            raise LineError(
                f'"{name.text}" is not a function of expressions',
                name.span,
                "there are min, max, ceil, floor and sum; buffers are read by values only",
            )
        return Var(name.text, token.span)

    def _cell(self, name: Token) -> Expr:
        cursor = self.cursor
        cursor.next()
        self.enter()
        index = [self.expression()]
        height = self.height
        while cursor.take(","):
            index.append(self.expression())
            height = max(height, self.height)
        self.leave()
        cursor.expect("]", "to close the indices")
        span = cursor.since(name)
        self.grow(height + 1, span)
        return Cell(name.text, tuple(index), span)

    def _bracket(self) -> Expr:
        self.cursor.next()
        self.enter()
        inner = self.expression()
        self.leave()
        self.cursor.expect(")", "to close the bracket")
        return inner

    def arguments(self) -> list[Expr]:
        """``( e, … )`` with at least one argument; the height is that of the highest."""
        cursor = self.cursor
        cursor.expect("(", "behind the function's name")
        self.enter()
        found = [self.expression()]
        height = self.height
        while cursor.take(","):
            found.append(self.expression())
            height = max(height, self.height)
        self.leave()
        cursor.expect(")", "to close the arguments")
        self.height = height
        return found

    def _min_max(self, op: Literal["min", "max"]) -> Expr:
        start = self.cursor.next()
        args = self.arguments()
        span = self.cursor.since(start)
        self.grow(self.height + 1, span)
        return MinMax(op, tuple(args), span)

    def _round(self, op: Literal["ceil", "floor"]) -> Expr:
        start = self.cursor.next()
        args = self.arguments()
        span = self.cursor.since(start)
        if len(args) != 1:
            raise LineError(f"{op} takes one argument, not {len(args)}", span)
        self.grow(self.height + 1, span)
        return Round(op, args[0], span)

    def _conditional(self) -> Expr:
        cursor = self.cursor
        start = cursor.next()
        self.enter()
        cond = self.expression()
        height = self.height
        cursor.expect("then", 'behind the condition of "if"', "write if c then a else b")
        then = self.expression()
        height = max(height, self.height)
        cursor.expect("else", 'behind the first case of "if"', "write if c then a else b")
        other = self.expression()
        self.leave()
        span = cursor.since(start)
        self.grow(max(height, self.height) + 1, span)
        return Cond(cond, then, other, span)

    def _sum(self) -> Expr:
        cursor = self.cursor
        start = cursor.next()
        cursor.expect("(", 'behind "sum"', "write sum(x in lo .. hi) body")
        var = cursor.name("the name that the sum runs over")
        cursor.expect("in", "behind the name of the sum", "write sum(x in lo .. hi) body")
        self.enter()
        lo = self.arithmetic()
        height = self.height
        cursor.expect("..", "in the range of the sum", "write sum(x in lo .. hi) body")
        hi = self.arithmetic()
        height = max(height, self.height)
        cursor.expect(")", "to close the range")
        body = self.arithmetic()
        self.leave()
        span = cursor.since(start)
        self.grow(max(height, self.height) + 1, span)
        return Sum(var.text, lo, hi, body, span)


def _join(first: Span | None, last: Span | None) -> Span | None:
    if first is None or last is None:
        return first or last
    return Span(first.file, first.line, first.column, last.end_column)
