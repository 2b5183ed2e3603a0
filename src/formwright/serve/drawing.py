"""Sections of a live page as HTML, in the look of the reports."""

from urllib.parse import quote, urlencode

from formwright.report.html.cells import evidence_html, standing_html
from formwright.report.html.escaped import escaped
from formwright.report.page import Block, Cell, Facts, Section, Table, Text


def section_html(section: Section, run: str) -> str:
    """The inside of a section: its heading and blocks."""
    blocks = "".join(_block(block, section.key, run) for block in section.blocks)
    return f'<h2 id="h-{escaped(section.key)}">{escaped(section.title)}</h2>{blocks}'


def _block(block: Block, key: str, run: str) -> str:
    match block:
        case Text():
            return f"<p>{escaped(block.text)}</p>"
        case Facts():
            rows = (
                f"<div><dt>{escaped(name)}</dt><dd>{_cell(cell, '', run)}</dd></div>"
                for name, cell in block.items
            )
            return f'<dl class="facts">{"".join(rows)}</dl>'
        case Table():
            return _table(block, key, run)
        case _:
            raise AssertionError(f"a live page has no {type(block).__name__}")


def _table(table: Table, key: str, run: str) -> str:
    heads = "".join(
        f'<th scope="col"{_right(c.number)}>{escaped(c.name)}'
        f"{f' <small>{escaped(c.unit)}</small>' if c.unit else ''}</th>"
        for c in table.columns
    )
    rows = "".join(_row(table, cells, f"{key}-{n}", run) for n, cells in enumerate(table.rows))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(table.title)}"'
        f' id="wide-{escaped(key)}"><table><caption>{escaped(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(table: Table, cells: tuple[Cell, ...], key: str, run: str) -> str:
    shown = []
    for n, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
        tag = "th" if n == 0 else "td"
        scope = ' scope="row"' if n == 0 else ""
        said = _cell(cell, f"{key}-{n}", run)
        shown.append(f"<{tag}{scope}{_right(column.number)}>{said}</{tag}>")
    return f"<tr>{''.join(shown)}</tr>"


def _right(number: bool) -> str:
    return ' class="n"' if number else ""


def _cell(cell: Cell, key: str, run: str) -> str:
    """The text, with evidence and standing in words, each word once. It leads to the entry of its
    origin, or to the run that an origin without an entry names."""
    said = "" if cell.text in (cell.evidence, cell.standing) else escaped(cell.text)
    origin = cell.origin
    if origin is not None and origin.entry:
        to = entry_address(run, origin.entry)
        said = _link(to, said, key, f"{cell.text}, entry {origin.entry}")
    elif origin is not None:
        said = _link(run_address(origin.file), said, key, cell.text)
    before = "" if cell.standing is None else standing_html(cell.standing)
    return f"{before}{said}{evidence_html(cell.evidence)}"


def _link(address: str, said: str, key: str, name: str) -> str:
    """With an id, by which it keeps the focus when it is drawn again."""
    return (
        f'<a id="{escaped(key)}" href="{escaped(address)}" aria-label="{escaped(name)}">{said}</a>'
    )


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
