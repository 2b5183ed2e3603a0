"""Tables and titles on a console of ``rich``."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from formwright.report.plain import table_lines


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
) -> None:
    """A table as wide as the terminal allows; as wide as it is where there is none."""
    heads, body = table_lines(headings, rows, right, width_of(console))
    for line in heads:
        console.print(line, style="bold", markup=False, soft_wrap=True)
    for line in body:
        console.print(line, markup=False, soft_wrap=True)


def print_title(console: Console, title: str, rest: str = "") -> None:
    """A line that begins in bold. Neither part is read as markup: both may have brackets."""
    line = Text.assemble((title, "bold"), rest)
    console.print(line, soft_wrap=width_of(console) is None)


def width_of(console: Console) -> int | None:
    """Columns of the terminal, or those that COLUMNS asks for; ``None`` for a file or a pipe."""
    return console.width if console.is_terminal or "COLUMNS" in os.environ else None
