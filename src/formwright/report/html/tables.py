"""Tables: their first rows as they are, the rest in a template that the page's script draws from.

Without the script a table shows its first rows in their order and says how many there are. With
it every column sorts, a text filters, and ten thousand rows cost no more than those shown.
"""

from math import isfinite

from formwright.report.html.cells import cell_html
from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place
from formwright.report.html.words import heading_html, prose
from formwright.report.page import Cell, Column, Table

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
    """The table alone, in its region; the heading with the id of ``place`` names it."""
    shown = max(1, table.shown)
    first, rest = table.rows[:shown], table.rows[shown:]
    head = "".join(_head(c) for c in table.columns)
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


def _head(column: Column) -> str:
    unit = f' <span class="unit">{escaped(column.unit)}</span>' if column.unit else ""
    kind = ' class="n"' if column.number else ""
    return f'<th scope="col"{kind}>{escaped(column.name)}{unit}</th>'


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...], place: Place) -> str:
    """The first cell names the row: it is a header for whoever has the table read aloud."""
    found = []
    for number, cell in enumerate(row):
        kind = ' class="n"' if number < len(columns) and columns[number].number else ""
        tag, scope = ("th", ' scope="row"') if number == 0 else ("td", "")
        found.append(f"<{tag}{scope}{kind}{_key(cell)}>{cell_html(cell, place)}</{tag}>")
    return f"<tr>{''.join(found)}</tr>"


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
