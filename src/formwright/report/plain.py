"""Text without a drawing library: tables that fit the width, bold where it can be shown."""

import os
import shutil
from collections.abc import Sequence
from textwrap import wrap
from typing import Final, TextIO

_GAP: Final = 2
_NARROWEST: Final = 12
"""Characters below which a column of words is not folded."""
_WORD: Final = 18
"""Characters of a word that is not broken unless it must be."""


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
    width: int | None = None,
) -> tuple[list[str], list[str]]:
    """The lines of the headings and those of the rows, none longer than ``width``.

    Words are folded within their columns. Where the numbers alone are too wide, each row becomes
    a list: what it is about, then a line for each column (and no heading). ``right`` has the
    columns of numbers, which are never folded. Without a ``width`` nothing is.
    """
    cells = [headings, *rows]
    natural = [max(len(row[n]) for row in cells) for n in range(len(headings))]
    if width is None or _total(natural) <= width:
        head, *body = _lines(cells, natural, right)
        return [head], body
    least = [_least(cells, n, n in right) for n in range(len(headings))]
    if _total(least) > width:
        return [], _records(headings, rows, width)
    widths = _shared(least, natural, width)
    heads = _folded(headings, widths, right)
    return heads, [line for row in rows for line in _folded(row, widths, right)]


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int], out: TextIO
) -> None:
    """A table on ``out``, as wide as its terminal allows."""
    heads, body = table_lines(headings, rows, right, stream_width(out))
    print(*(bold(line, out) for line in heads), *body, sep="\n", file=out)


def stream_width(stream: TextIO) -> int | None:
    """Columns of the terminal, or those that COLUMNS asks for; ``None`` for a file or a pipe."""
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return None
    return shutil.get_terminal_size().columns


def bold(text: str, stream: TextIO) -> str:
    """``text`` in bold where ``stream`` is a terminal that can show it, and NO_COLOR is not set."""
    able = stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    return f"\x1b[1m{text}\x1b[0m" if able and not os.environ.get("NO_COLOR") else text


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _lines(
    rows: Sequence[Sequence[str]], widths: Sequence[int], right: frozenset[int]
) -> list[str]:
    return [
        (" " * _GAP)
        .join(
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in rows
    ]


def _least(cells: Sequence[Sequence[str]], n: int, number: bool) -> int:
    """The width that column ``n`` needs: its numbers whole, or some characters of its words."""
    heading, *rows = (row[n] for row in cells)
    longest = max((len(word) for word in heading.split()), default=0)
    widest = max((len(cell) for cell in rows), default=0)
    if number:
        return max(longest, widest)
    words = max((len(word) for cell in rows for word in cell.split()), default=0)
    return max(longest, min(widest, max(_NARROWEST, min(words, _WORD))))


def _shared(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """What is left of ``width`` goes, one by one, to the column that lacks most."""
    widths = list(least)
    for _ in range(width - _total(widths)):
        n = max(range(len(widths)), key=lambda i: natural[i] - widths[i])
        if widths[n] >= natural[n]:
            break
        widths[n] += 1
    return widths


def _folded(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> list[str]:
    parts = [
        [cell] if len(cell) <= width else wrap(cell, width, break_on_hyphens=False) or [""]
        for cell, width in zip(row, widths, strict=True)
    ]
    height = max(map(len, parts))
    filled = [[*part, *[""] * (height - len(part))] for part in parts]
    return _lines(list(zip(*filled, strict=True)), widths, right)


def _records(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    found: list[str] = []
    for row in rows:
        title, *rest = [
            f"{heading}: {cell}" if heading else cell
            for heading, cell in zip(headings, row, strict=True)
            if cell
        ] or [""]
        found += wrap(title, width, break_on_hyphens=False) or [""]
        for line in rest:
            found += wrap(line, width, initial_indent="  ", subsequent_indent="    ",
                          break_on_hyphens=False)  # fmt: skip
    return found
