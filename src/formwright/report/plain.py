"""Text without a drawing library, for the commands that answer at once."""

import os
from collections.abc import Sequence
from typing import TextIO


def columns(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Rows as lines of equally wide columns, two blanks between; ``right`` are set right."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def bold(text: str, stream: TextIO) -> str:
    """``text`` in bold where ``stream`` is a terminal that can show it."""
    able = stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    return f"\x1b[1m{text}\x1b[0m" if able else text
