"""Sections of a live page as HTML. Every text is escaped here, and nowhere else."""

from html import escape
from typing import Final, assert_never
from urllib.parse import quote, urlencode

from formwright.report.page import Block, Cell, Facts, Section, Table, Text
from formwright.report.page import Standing as Verdict

_SIGNS: Final[dict[Verdict, str]] = {"held": "✓", "refuted": "✗", "unresolved": "?"}


def section_html(section: Section, run: str) -> str:
    """The inside of a section: its heading and blocks."""
    blocks = "".join(_block(block, section.key, run) for block in section.blocks)
    return f'<h2 id="h-{escape(section.key)}">{escape(section.title)}</h2>{blocks}'


def _block(block: Block, key: str, run: str) -> str:
    match block:
        case Text():
            return f"<p>{escape(block.text)}</p>"
        case Facts():
            rows = (f"<dt>{escape(n)}</dt><dd>{_cell(c, '', run)}</dd>" for n, c in block.items)
            return f"<dl>{''.join(rows)}</dl>"
        case Table():
            return _table(block, key, run)
        case _:
            raise AssertionError(f"a live page has no {type(block).__name__}")


def _table(table: Table, key: str, run: str) -> str:
    heads = "".join(
        f'<th scope="col"{_right(c.number)}>{escape(c.name)}'
        f"{f' <small>{escape(c.unit)}</small>' if c.unit else ''}</th>"
        for c in table.columns
    )
    rows = "".join(_row(table, cells, f"{key}-{n}", run) for n, cells in enumerate(table.rows))
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(table.title)}"'
        f' id="wide-{escape(key)}"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(table: Table, cells: tuple[Cell, ...], key: str, run: str) -> str:
    shown = []
    for n, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
        tag = "th" if n == 0 else "td"
        scope = ' scope="row"' if n == 0 else ""
        shown.append(
            f"<{tag}{scope}{_right(column.number)}>{_cell(cell, f'{key}-{n}', run)}</{tag}>"
        )
    return f"<tr>{''.join(shown)}</tr>"


def _right(number: bool) -> str:
    return ' class="n"' if number else ""


def _cell(cell: Cell, key: str, run: str) -> str:
    """The text, as a link to its entry where it has one, with evidence and standing in words."""
    said = escape(cell.text)
    if cell.origin is not None:
        to = escape(entry_address(run, cell.origin.entry))
        name = escape(f"{cell.text}, entry {cell.origin.entry}")
        said = f'<a id="{escape(key)}" href="{to}" aria-label="{name}">{said}</a>'
    if cell.standing is not None:
        said = f'<span class="{cell.standing}">{_sign(cell.standing)} {said}</span>'
    if cell.evidence is not None:
        said += f" <small>{escape(cell.evidence)}</small>"
    return said


def _sign(standing: Verdict) -> str:
    match standing:
        case "held" | "refuted" | "unresolved":
            return f'<span aria-hidden="true">{_SIGNS[standing]}</span>'
        case _:
            assert_never(standing)


def entry_address(run: str, number: str) -> str:
    return f"/entry?{urlencode({'run': run, 'number': number})}"


def report_address(run: str) -> str:
    return f"/report?{urlencode({'run': run})}"


def run_address(run: str) -> str:
    return f"/run?{urlencode({'run': run})}"


def events_address(run: str | None) -> str:
    return "/events" if run is None else f"/events?{urlencode({'run': run})}"


def folder_address(run: str) -> str:
    """Below which the files of a run's folder are."""
    return f"/file/{quote(run)}".rstrip("/")
