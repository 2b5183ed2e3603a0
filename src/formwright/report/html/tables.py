"""Tables: their first rows as they are, the rest in a template that the page's script draws from.

Without the script a table shows its first rows in their order and says how many there are. With
it every column sorts, a text filters, and ten thousand rows cost no more than those shown.
"""

from dataclasses import replace
from math import isfinite

from formwright.report.html.cells import cell_html, evidence_html
from formwright.report.html.escaped import escaped
from formwright.report.html.numbers import prefixed
from formwright.report.html.place import Place
from formwright.report.html.words import heading_html, prose
from formwright.report.page import Cell, Column, Evidence, Table

FIGURE = 14
"""So many characters are one figure, not two."""

FILTERED = 20
"""From so many rows on a table has a filter."""


def table_html(table: Table, place: Place) -> str:
    """The heading, what the table says, and the table in a region that scrolls by itself."""
    says = f'<p class="says">{prose(table.says)}</p>' if table.says else ""
    return (
        f'<div class="block table">{heading_html(table.title, place)}{says}'
        f"{grid_html(table, place)}</div>"
    )


def grid_html(table: Table, place: Place) -> str:
    """The table alone, in its region; the heading with the id of ``place`` names it.

    What all figures of a column rest on is said once, at its head.
    """
    shown = max(1, table.shown)
    common = [_common(table.rows, n) for n in range(len(table.columns))]
    rows = [_without(row, common) for row in table.rows]
    first, rest = rows[:shown], rows[shown:]
    head = "".join(_head(c, e) for c, e in zip(table.columns, common, strict=True))
    body = "\n".join(_row(r, table.columns, place) for r in first)
    later = "\n".join(_row(r, table.columns, place) for r in rest)
    template = f"<template>{later}</template>" if rest else ""
    filtered = " data-filter" if len(table.rows) >= FILTERED else ""
    count = ""
    if rest:
        count = (
            f'<p class="count">The first {len(first):,} of {len(table.rows):,} rows;'
            " the others are shown by this page's script.</p>"
        )
    return (
        f'<div class="rows" data-shown="{shown}"{filtered}>'
        f'<div class="scroll" role="group" tabindex="0" aria-labelledby="{place.at}-h">'
        f'<table><caption class="vh">{escaped(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>{template}</div>"
        f"{count}</div>"
    )


def _common(rows: tuple[tuple[Cell, ...], ...], number: int) -> Evidence | None:
    """The evidence of all cells of a column that say something, where it is one and there are
    several of them; not of cells that say the evidence themselves."""
    cells = [row[number] for row in rows if number < len(row) and row[number].text.strip("–- ")]
    found = {None if cell.text.strip() == cell.evidence else cell.evidence for cell in cells}
    return found.pop() if len(found) == 1 and len(cells) > 1 else None


def _without(row: tuple[Cell, ...], common: list[Evidence | None]) -> tuple[Cell, ...]:
    """The row without what the heads of its columns say."""
    padded = [*common, *([None] * (len(row) - len(common)))]
    return tuple(
        replace(cell, evidence=None) if each else cell
        for cell, each in zip(row, padded, strict=False)
    )


def _head(column: Column, evidence: Evidence | None) -> str:
    unit = f' <span class="unit">{escaped(prefixed(column.unit))}</span>' if column.unit else ""
    kind = ' class="n"' if column.number else ""
    name = f"{escaped(column.name)}{unit}{evidence_html(evidence)}"
    return f'<th scope="col"{kind}>{name}</th>'


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...], place: Place) -> str:
    """The first cell names the row: it is a header for whoever has the table read aloud."""
    found = []
    for number, cell in enumerate(row):
        figure = number < len(columns) and columns[number].number
        kind = ' class="n"' if figure else ""
        tag, scope = ("th", ' scope="row"') if number == 0 else ("td", "")
        text = cell_html(_unbroken(cell) if figure else cell, place)
        found.append(f"<{tag}{scope}{kind}{_key(cell)}>{text}</{tag}>")
    return f"<tr>{''.join(found)}</tr>"


def _unbroken(cell: Cell) -> Cell:
    """A figure with its unit stays on one line; an interval may break."""
    short = len(cell.text) <= FIGURE and " " in cell.text
    return replace(cell, text=cell.text.replace(" ", "\u00a0")) if short else cell


def _key(cell: Cell) -> str:
    """What the cell is sorted by, where that is not its text. Not a number sorts as nothing."""
    match cell.value:
        case None:
            return ""
        case bool():
            return f' data-v="{cell.value}"'
        case int() | float() as value:
            return f' data-n="{value!r}"' if isfinite(value) else ' data-v=""'
        case str() as value:
            return "" if value == cell.text else f' data-v="{escaped(value)}"'
