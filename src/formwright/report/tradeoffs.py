"""The measured candidates side by side, and what the winner gave up."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from formwright.report.tables import print_table


def print_tradeoffs(console: Console, shown: Mapping[str, Any]) -> None:
    """A row for each candidate, fastest first: ``>`` won, ``*`` no other beats it in everything.

    Columns that nobody has a figure for are left out; ``?`` is not measured or not known.
    """
    candidates = shown["candidates"]
    if len(candidates) < 2 and shown["objective"] == "latency":
        return
    columns = [c for c in _COLUMNS if any(s[c[1]] is not None for s in candidates)]
    headings = ("", *(heading for heading, *_ in columns), "candidate")
    rows = []
    for s in candidates:
        mark = (">" if s["winner"] else " ") + ("*" if s["pareto"] else " ")
        cells = [_cell(s[name], scale, digits) for _, name, scale, digits in columns]
        refused = f" (refused: {s['refused']})" if s["refused"] else ""
        rows.append((mark, *cells, f"{s['label']}{refused}"))
    console.print(f"  for {shown['objective']}, of {len(candidates)} measured", markup=False)
    print_table(console, headings, rows, frozenset(range(1, len(headings) - 1)))
    for text in shown["gave_up"]:
        console.print(f"  given up: {text}", markup=False, soft_wrap=True)


_COLUMNS: tuple[tuple[str, str, float, int], ...] = (
    ("ms", "seconds", 1e3, 3),
    ("p99 ms", "p99", 1e3, 3),
    ("calls/s, all cores", "rate", 1.0, 0),
    ("memory KiB", "memory_bytes", 1 / 1024, 0),
    ("code KiB", "code_bytes", 1 / 1024, 1),
    ("uJ (modelled)", "joules", 1e6, 2),
)
"""Heading, key, factor to the unit of the heading, decimals."""


def _cell(value: float | None, scale: float, digits: int) -> str:
    return "?" if value is None else f"{value * scale:.{digits}f}"
