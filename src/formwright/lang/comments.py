"""A file in canonical form with its comments: what ``formwright fmt`` writes."""

from dataclasses import dataclass, field

from formwright.base.source import Source
from formwright.lang.faults import Faults
from formwright.lang.format import sections
from formwright.lang.format_lines import Section, TextLine
from formwright.lang.layout import Row, rows
from formwright.lang.lexer import comment_at, lines
from formwright.lang.parser import parse


@dataclass(slots=True)
class _Placed:
    """A line of output with the comments that go with it."""

    line: TextLine
    source: int | None
    above: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)

    def text(self) -> str:
        indent = self.line.text[: len(self.line.text) - len(self.line.text.lstrip())]
        found = [indent + comment for comment in self.above]
        found.append("  ".join([self.line.text, *self.behind]))
        return "\n".join(found)


def format_source(source: Source) -> str:
    """The canonical text of a file. A comment stays behind its line, or above the next one.

    Raises :class:`InputError` as ``parse`` does.
    """
    template = parse(source)
    tree = {row.line.tokens[0].text: row for row in rows(lines(source, Faults()), Faults())}
    blocks = [_located(section, tree) for section in sections(template)]
    placed = [line for block in blocks for line in block]
    last: list[str] = []
    for number, text in enumerate(source.text.splitlines(), 1):
        at = comment_at(text)
        if at is not None:
            alone = not text[:at].strip(" \ufeff")
            _place(number, text[at:].rstrip(), alone, placed, last)
    found = ["\n".join(line.text() for line in block) for block in blocks]
    if last:
        found.append("\n".join(last))
    return "\n\n".join(found) + "\n"


def _place(number: int, text: str, alone: bool, placed: list[_Placed], last: list[str]) -> None:
    same = [p for p in placed if p.source == number]
    if same and not alone:
        same[-1].behind.append(text)
        return
    after = [p for p in placed if p.source is not None and p.source > number]
    if after:
        min(after, key=lambda p: p.source or 0).above.append(text)
    else:
        last.append(text)


def _located(section: Section, tree: dict[str, Row]) -> list[_Placed]:
    """Lines with their numbers in the file; those of heads and texts are looked up there."""
    word, found = section
    placed: list[_Placed] = []
    for at, line in enumerate(found):
        first = line.text.split()[0]
        row = tree.get(first if at == 0 or word == "outline" else word)
        number = line.source
        if number is None and row is not None:
            number = _number(first, row, at == 0 or word == "outline")
        placed.append(_Placed(line, number))
    return placed


def _number(first: str, row: Row, head: bool) -> int | None:
    """The head's line, or that of the child that begins like the line sought."""
    if head:
        return row.line.end.span.line
    for child in row.children:
        token = child.line.tokens[0]
        if token.text == first or token.kind == "string":
            return token.span.line
    return None
