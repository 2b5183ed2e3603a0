"""Text to lines of tokens. Every line stands alone, so a fault never spoils the next one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Literal

from formwright.base.source import Source, Span
from formwright.lang.faults import Faults
from formwright.lang.limits import (
    NAME_LENGTH,
    NUMBER_DIGITS,
    NUMBER_EXPONENT,
    STRING_LENGTH,
    TEXT_BYTES,
    TOKENS,
)

TokenKind = Literal["name", "number", "string", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<space>[ ]+|\#.*)
      | (?P<update>max=(?!=))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![A-Za-z_0-9]))
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<foreign>==|&&|\|\||\*\*|%|<>|!(?!=))
      | (?P<sign>=>|<=|>=|!=|\+=|:=|->|\.\.|//|[-+*/<>=()\[\]{},:;|])
    """,
    re.VERBOSE,
)

_FOREIGN = {
    "==": 'equality is written "="',
    "&&": 'write "and"',
    "||": 'write "or"',
    "**": "there are no powers: multiply",
    "%": 'write "mod"',
    "<>": 'write "!="',
    "!": 'write "not"',
}

_ENDS = ("\n", "\r\n")


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is what stands in the file; for a string, what stands between the quotes."""

    kind: TokenKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Line:
    """The tokens of one line that has any; ``end`` is the place behind the last one."""

    indent: int
    tokens: tuple[Token, ...]
    end: Token


def lines(source: Source, faults: Faults) -> list[Line]:
    """The lines of ``source`` that are not blank (rules L1, L2)."""
    if len(source.text.encode("utf-8", "surrogatepass")) > TEXT_BYTES:
        faults.add(f"the file is larger than {TEXT_BYTES} bytes", Span(source.name, 1, 1, 1))
        return []
    found: list[Line] = []
    budget = TOKENS
    for number, raw in enumerate(source.text.splitlines(keepends=True), 1):
        line = _line(source.name, number, raw, faults)
        if line is None:
            continue
        budget -= len(line.tokens)
        if budget < 0:
            faults.add(f"the file has more than {TOKENS} words and signs", line.tokens[0].span)
            return []
        found.append(line)
    return found


def _line(file: str, number: int, raw: str, faults: Faults) -> Line | None:
    text = raw.splitlines()[0] if raw else ""
    ending = raw[len(text) :]
    if ending and ending not in _ENDS:
        faults.add(
            f"a line ends with U+{ord(ending[0]):04X}",
            Span(file, number, len(text) + 1, len(text) + 2),
            "end lines with a line feed",
        )
    start = 1 if number == 1 and text.startswith("\ufeff") else 0
    body = text[start:]
    # A tab is told below; counted as two blanks, it spoils no other line.
    blanks = body[: len(body) - len(body.lstrip(" \t"))]
    indent = len(blanks) + blanks.count("\t")
    before = len(faults.items)
    tokens = tuple(islice(_tokens(file, number, text, start, faults), TOKENS + 1))
    if len(faults.items) > before:
        faults.unclear_lines.add(number)
    if not tokens:
        return None
    column = tokens[-1].span.end_column
    end = Token("end", "", Span(file, number, column, column + 1))
    return Line(indent, tokens, end)


def _tokens(file: str, number: int, text: str, start: int, faults: Faults) -> Iterator[Token]:
    at = start
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at = _no_token(file, number, text, at, faults)
            continue
        kind, start, at = match.lastgroup, at, match.end()
        if kind == "space":
            continue
        span = Span(file, number, start + 1, at + 1)
        word = match.group()
        if kind == "name":
            yield _name(word, span, faults)
        elif kind == "number":
            yield Token("number", word, span)
        elif kind == "string":
            yield _string(word, span, faults)
        elif kind == "foreign":
            faults.add(f'"{word}" is not a sign of the language', span, _FOREIGN[word])
            yield Token("sign", {"==": "=", "<>": "!="}.get(word, word), span)
        else:  # a sign, "max=" among them
            yield Token("sign", word, span)


def _no_token(file: str, number: int, text: str, at: int, faults: Faults) -> int:
    """Says what is wrong at ``at`` and gives the place to go on from."""
    char = text[at]
    span = Span(file, number, at + 1, at + 2)
    if char == "\t":
        faults.add("a tab", span, "use spaces")
        return at + len(text[at:]) - len(text[at:].lstrip("\t"))
    if char == '"':
        faults.add("the text is not closed", Span(file, number, at + 1, len(text) + 1), "add '\"'")
        return len(text)
    if char.isascii() and char.isdigit():
        stop = at + 1
        while stop < len(text) and (text[stop].isalnum() or text[stop] in "._"):
            stop += 1
        faults.add(
            "not a number", Span(file, number, at + 1, stop + 1), "names start with a letter"
        )
        return stop
    shown = f'"{char}"' if char.isprintable() else f"U+{ord(char):04X}"
    faults.add(f"{shown} has no meaning here", span, "signs and names are ASCII")
    stop = at + 1
    while stop < len(text) and text[stop] == char:
        stop += 1
    return stop


def _name(word: str, span: Span, faults: Faults) -> Token:
    if len(word) > NAME_LENGTH:
        faults.add(f"a name has at most {NAME_LENGTH} characters, not {len(word)}", span)
        word = word[:NAME_LENGTH]
    return Token("name", word, span)


def _string(word: str, span: Span, faults: Faults) -> Token:
    inner = word[1:-1]
    if len(inner) > STRING_LENGTH:
        faults.add(f"a text has at most {STRING_LENGTH} characters, not {len(inner)}", span)
        inner = ""
    if not inner.isprintable():
        faults.add("a text holds printable characters only", span)
        inner = ""
    if re.search(r'\\[^"\\]', inner.replace("\\\\", "")):
        faults.add("an unknown escape in a text", span, r"there are \" and \\")
    return Token("string", re.sub(r"\\(.)", r"\1", inner), span)


def comment_at(text: str) -> int | None:
    """Where the comment of a line begins, if it has one."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is not None and match.group().startswith("#"):
            return at
        at = match.end() if match is not None else at + 1
    return None


def number_value(token: Token) -> Fraction | None:
    """The exact value of a number token, or None when it is over the limits (rule L3)."""
    mantissa, _, exponent = token.text.lower().partition("e")
    if len(exponent) > 4 or len(mantissa) > 4 * NUMBER_EXPONENT:
        return None
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    scale = int(exponent or 0) - len(part)
    bare = digits.rstrip("0")
    if not bare:
        return Fraction(0)
    scale += len(digits) - len(bare)
    if len(bare) > NUMBER_DIGITS or abs(scale) > NUMBER_EXPONENT:
        return None
    return Fraction(int(bare)) * Fraction(10) ** scale
