"""Accesses and values (rules L30 to L33)."""

from formwright.ir.expr import Expr
from formwright.ir.program import Access, Index, Literal, Op, Read, Select, Value
from formwright.lang.cursor import Cursor
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import LineError, counted

FUNCTIONS = {"exp": 1, "sqrt": 1, "rsqrt": 1, "max": 2, "min": 2}
"""Functions of values with their number of arguments."""

_ADD, _MULTIPLY = 1, 2
_OPERATORS = {"+": _ADD, "-": _ADD, "*": _MULTIPLY, "/": _MULTIPLY}


class ValueReader:
    """Reads values; shares the limits of nesting and height with its expressions."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.expressions = ExpressionReader(cursor)

    def value(self) -> Value:
        return self._binary(_ADD)

    def access(self) -> Access:
        """``name<generation>[index, …]`` or ``name[index, …]``."""
        cursor, expressions = self.cursor, self.expressions
        name = cursor.name("a buffer")
        height = 1
        generation: Expr | None = None
        if cursor.take("<"):
            generation = expressions.arithmetic()
            height = max(height, expressions.height)
            cursor.expect(">", "to close the generation")
        cursor.expect("[", f'behind "{name.text}"', "an access has its indices in brackets")
        index = [expressions.expression()]
        height = max(height, expressions.height)
        while cursor.take(","):
            index.append(expressions.expression())
            height = max(height, expressions.height)
        cursor.expect("]", "to close the indices")
        span = cursor.since(name)
        expressions.grow(height + 1, span)
        return Access(name.text, tuple(index), generation, False, span)

    def _binary(self, lowest: int) -> Value:
        cursor, expressions = self.cursor, self.expressions
        start = cursor.token
        left = self._prefix()
        height = expressions.height
        while cursor.token.kind == "sign":
            level = _OPERATORS.get(cursor.token.text, 0)
            if level < lowest:
                break
            op = cursor.next().text
            right = self._binary(level + 1)
            height = max(height, expressions.height) + 1
            left = Op(op, (left, right), cursor.since(start))
            expressions.grow(height, cursor.since(start))
        expressions.height = height
        return left

    def _prefix(self) -> Value:
        cursor, expressions = self.cursor, self.expressions
        start = cursor.token
        if not cursor.take("-"):
            return self._primary()
        expressions.enter()
        arg = self._prefix()
        expressions.leave()
        expressions.grow(expressions.height + 1, cursor.since(start))
        return Op("neg", (arg,), cursor.since(start))

    def _primary(self) -> Value:
        cursor, expressions = self.cursor, self.expressions
        token = cursor.token
        expressions.height = 1
        if token.kind == "number":
            value, _ = cursor.number()
            return Literal(value, token.span)
        if token.kind == "sign" and token.text == "(":
            cursor.next()
            expressions.enter()
            inner = self.value()
            expressions.leave()
            cursor.expect(")", "to close the bracket")
            return inner
        if token.kind != "name":
            raise LineError(f"a value is missing{cursor.before()}", token.span)
        if token.text in FUNCTIONS:
            return self._function()
        if token.text == "select":
            return self._select()
        if token.text == "index":
            return self._index()
        if cursor.ahead().text not in ("[", "<") or cursor.ahead().kind != "sign":
            name = cursor.name("a value")
            raise LineError(
                f'"{name.text}" is not read as a buffer',
                name.span,
                f"read a buffer with its indices, or write index({name.text}) for a number",
            )
        access = self.access()
        return Read(access, access.span)

    def _function(self) -> Value:
        cursor, expressions = self.cursor, self.expressions
        start = cursor.next()
        cursor.expect("(", f'behind "{start.text}"')
        expressions.enter()
        args = [self.value()]
        height = expressions.height
        while cursor.take(","):
            args.append(self.value())
            height = max(height, expressions.height)
        expressions.leave()
        cursor.expect(")", "to close the arguments")
        span = cursor.since(start)
        wanted = FUNCTIONS[start.text]
        if len(args) != wanted:
            raise LineError(f"{start.text} takes {counted(wanted, 'value')}, not {len(args)}", span)
        expressions.grow(height + 1, span)
        return Op(start.text, tuple(args), span)

    def _select(self) -> Value:
        cursor, expressions = self.cursor, self.expressions
        start = cursor.next()
        cursor.expect("(", 'behind "select"', "write select(condition, a, b)")
        expressions.enter()
        cond = expressions.expression()
        height = expressions.height
        cursor.expect(",", "behind the condition", "write select(condition, a, b)")
        then = self.value()
        height = max(height, expressions.height)
        cursor.expect(",", "behind the first value", "write select(condition, a, b)")
        other = self.value()
        height = max(height, expressions.height)
        expressions.leave()
        cursor.expect(")", "to close the arguments")
        span = cursor.since(start)
        expressions.grow(height + 1, span)
        return Select(cond, then, other, span)

    def _index(self) -> Value:
        cursor, expressions = self.cursor, self.expressions
        start = cursor.next()
        cursor.expect("(", 'behind "index"', "write index(expression)")
        expressions.enter()
        expr = expressions.expression()
        expressions.leave()
        cursor.expect(")", "to close the argument")
        span = cursor.since(start)
        expressions.grow(expressions.height + 1, span)
        return Index(expr, span)
