"""A place in the tokens of one line, with the messages that reading needs."""

from fractions import Fraction

from formwright.base.source import Span
from formwright.lang.faults import LineError
from formwright.lang.lexer import Token, number_value
from formwright.lang.limits import NUMBER_DIGITS, NUMBER_EXPONENT

# fmt: off
RESERVED = frozenset(
    (
        "and", "or", "not", "mod", "min", "max", "ceil", "floor", "sum", "if", "then", "else",
        "true", "false", "in", "also", "chip", "for", "par", "grid", "team", "alloc", "barrier",
        "commit", "wait", "arrive", "await", "hint", "over", "clip", "async", "exp", "sqrt",
        "rsqrt", "select", "index", "ring", "dist", "global", "shared", "scratch", "register",
        "f32", "f64", "bf16", "f16", "i32", "i8", "coefficient", "prefer",
    )
)
# fmt: on
"""Words of the language: no name may be one of them."""


class Cursor:
    """Tokens of a line from ``at``; past the end stands an ``end`` token."""

    def __init__(self, tokens: tuple[Token, ...], end: Token) -> None:
        self.tokens = tokens
        self.end = end
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else self.end

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def ahead(self, steps: int = 1) -> Token:
        place = self.at + steps
        return self.tokens[place] if place < len(self.tokens) else self.end

    def next(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def sees(self, *texts: str) -> bool:
        """The next token is one of these signs or words."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else self.end
        return token.text in texts and token.kind in ("sign", "name")

    def take(self, *texts: str) -> Token | None:
        return self.next() if self.sees(*texts) else None

    def expect(self, text: str, where: str, hint: str | None = None) -> Token:
        """The sign or word ``text``, or a fault ``"…" is missing where``."""
        if self.sees(text):
            return self.next()
        raise LineError(f'"{text}" is missing {where}{self.before()}', self.token.span, hint)

    def seen(self) -> str:
        token = self.token
        if token.kind == "end":
            return "the end of the line"
        if token.kind == "string":
            return "a text"
        return f'"{token.text}"'

    def before(self) -> str:
        """Where something is missing: before the next token, or at the line's end."""
        return " at the end of the line" if self.token.kind == "end" else f", before {self.seen()}"

    def name(self, what: str) -> Token:
        """A name that is free to use: not a word of the language, without a dot."""
        token = self.token
        if token.kind != "name":
            raise LineError(f"{what} is missing{self.before()}", token.span)
        if token.text in RESERVED:
            raise LineError(
                f'{what} is missing: "{token.text}" is a word of the language',
                token.span,
                "take another name",
            )
        if "." in token.text:
            raise LineError(f"{what} has no dot", token.span)
        return self.next()

    def text(self, what: str) -> str:
        token = self.token
        if token.kind != "string":
            raise LineError(
                f"{what} is missing{self.before()}", token.span, 'write it in quotes: "…"'
            )
        return self.next().text

    def number(self) -> tuple[Fraction, Token]:
        token = self.next()
        value = number_value(token)
        if value is None:
            raise LineError(
                f"a number has at most {NUMBER_DIGITS} digits and an exponent up to "
                f"{NUMBER_EXPONENT}",
                token.span,
            )
        return value, token

    def integer(self, what: str) -> tuple[int, Token]:
        """An integer with its sign."""
        minus = self.take("-")
        if self.token.kind != "number":
            raise LineError(f"{what} is missing{self.before()}", self.token.span)
        value, token = self.number()
        if value.denominator != 1:
            raise LineError(f"{what} is an integer, not {token.text}", token.span)
        return (-int(value) if minus else int(value)), token

    def finish(self, what: str) -> None:
        """Nothing may be left on the line."""
        if not self.done:
            raise LineError(f"{self.seen()} is left over behind {what}", self.token.span)

    def since(self, start: Token) -> Span:
        """From ``start`` to the last token taken."""
        last = self.tokens[self.at - 1] if self.at else start
        end = max(last.span.end_column, start.span.column + 1)
        return Span(start.span.file, start.span.line, start.span.column, end)
