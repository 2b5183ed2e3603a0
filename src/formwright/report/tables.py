"""Tables and titles on a console of ``rich``."""

import os
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from formwright.report.html.escaped import visible
from formwright.report.plain import table_lines


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
) -> None:
    """A table as wide as the terminal allows; as wide as it is where there is none."""
    told = [[_told(console, cell) for cell in row] for row in rows]
    heads, body = table_lines(headings, told, right, width_of(console))
    for line in heads:
        console.print(line, style="bold", markup=False, soft_wrap=True)
    for line in body:
        console.print(line, markup=False, soft_wrap=True)


def print_title(console: Console, title: str, rest: str = "") -> None:
    """A line that begins in bold. Neither part is read as markup: both may have brackets."""
    line = Text.assemble((_told(console, title), "bold"), _told(console, rest))
    console.print(line, soft_wrap=width_of(console) is None)


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Lines as they are, which may be the words of an agent or of a file."""
    for line in lines:
        console.print(_told(console, line), markup=False, soft_wrap=True)


def print_text(console: Console, text: str) -> None:
    """A text as it is; to a terminal without what would be an order to it."""
    console.out(_told(console, text), end="")


def _told(console: Console, text: str) -> str:
    return visible(text) if console.is_terminal else text


def width_of(console: Console) -> int | None:
    """Columns of the terminal, or those that COLUMNS asks for; ``None`` for a file or a pipe."""
    return console.width if console.is_terminal or "COLUMNS" in os.environ else None
