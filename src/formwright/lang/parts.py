"""Rows of a section, cut into the parts that are read one by one."""

from collections.abc import Iterator

from formwright.lang.cursor import Cursor
from formwright.lang.faults import Faults
from formwright.lang.layout import Row
from formwright.lang.lexer import Token


def tolerate(row: Row, faults: Faults) -> None:
    """Names of a block that was not read may be declared in it."""
    todo = [row]
    while todo:
        one = todo.pop()
        faults.tolerated.update(t.text for t in one.line.tokens if t.kind == "name")
        todo.extend(one.children)


def head(row: Row) -> Cursor:
    cursor = Cursor(row.line.tokens, row.line.end)
    cursor.next()
    return cursor


def names(row: Row) -> list[str]:
    return [t.text for t in row.line.tokens if t.kind == "name"]


def bare(row: Row, faults: Faults) -> None:
    """The head of a section that has nothing but its word."""
    with faults.recovering(names(row)):
        head(row).finish(f'"{row.line.tokens[0].text}"')


def cursors(row: Row, faults: Faults) -> Iterator[Cursor]:
    """The lines of a section, cut at semicolons."""
    for child in row.children:
        if child.children:
            faults.add(
                "this line is indented too far",
                child.children[0].line.tokens[0].span,
                "lines of a section stand below one another",
            )
            tolerate(child, faults)
        part: list[Token] = []
        for token in (*child.line.tokens, child.line.end):
            if token.kind != "end" and not (token.kind == "sign" and token.text == ";"):
                part.append(token)
            elif part:
                yield Cursor(tuple(part), token if token.kind == "end" else _ended(token))
                part = []


def _ended(token: Token) -> Token:
    return Token("end", "", token.span)


def words(cursor: Cursor) -> list[str]:
    return [t.text for t in cursor.tokens if t.kind == "name"]
