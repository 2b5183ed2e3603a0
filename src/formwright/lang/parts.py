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


def no_children(row: Row, faults: Faults) -> None:
    """Tells that lines are indented below one that begins no block."""
    if row.children:
        faults.add(
            "this line is indented too far",
            row.children[0].line.tokens[0].span,
            "lines of a section stand below one another",
        )
        tolerate(row, faults)


def cursors(row: Row, faults: Faults) -> Iterator[Cursor]:
    """The lines of a section, cut at semicolons."""
    for child in row.children:
        no_children(child, faults)
        part: list[Token] = []
        for token in (*child.line.tokens, child.line.end):
            if token.kind != "end" and not (token.kind == "sign" and token.text == ";"):
                part.append(token)
            elif part:
                yield Cursor(tuple(part), token if token.kind == "end" else _ended(token))
                part = []


def before(cursor: Cursor, end: int) -> Cursor:
    """The rest of ``cursor`` up to the token at ``end``."""
    stop = _ended(cursor.tokens[end]) if end < len(cursor.tokens) else cursor.end
    part = Cursor(cursor.tokens[:end], stop)
    part.at = cursor.at
    return part


def _ended(token: Token) -> Token:
    return Token("end", "", token.span)


def words(cursor: Cursor) -> list[str]:
    return [t.text for t in cursor.tokens if t.kind == "name"]
