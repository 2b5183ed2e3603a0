"""Every block as HTML: an exhaustive reader of the union."""

from typing import assert_never

from formwright.report.html.cells import cell_html, standing_html
from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place
from formwright.report.page import (
    Bars,
    Block,
    Cell,
    Chart,
    Column,
    Distributions,
    Drawing,
    Facts,
    Fold,
    Graph,
    Source,
    Table,
    Text,
)


def blocks_html(blocks: tuple[Block, ...], place: Place) -> str:
    return "\n".join(block_html(b, place.inner(n)) for n, b in enumerate(blocks, start=1))


def block_html(block: Block, place: Place) -> str:
    match block:
        case Text(text):
            return f"<p>{escaped(text)}</p>"
        case Facts(items):
            return facts_html(items, place)
        case Table():
            return table_html(block, place)
        case Chart(title, says, x, y, series):
            columns = (Column("series"), Column(x.name, x.unit, True), Column(y.name, y.unit, True))
            rows = tuple(
                (Cell(s.name), Cell(f"{p.x:g}", p.x), Cell(f"{p.y:g}", p.y, p.origin, s.evidence))
                for s in series
                for p in s.points
            )
            return table_html(Table(title, columns, rows, says), place)
        case Bars(title, says, axis, bars):
            columns = (Column("bar"), Column("part"), Column(axis.name, axis.unit, True))
            rows = tuple(
                (Cell(b.name), Cell(p.name), Cell(f"{p.value:g}", p.value, p.origin))
                for b in bars
                for p in b.parts
            )
            return table_html(Table(title, columns, rows, says), place)
        case Distributions(title, says, axis, samples):
            columns = (Column("sample"), Column("values"), Column(axis.name, axis.unit, True))
            rows = tuple(
                (
                    Cell(s.name, evidence=s.evidence),
                    Cell(str(len(s.values))),
                    Cell(f"{min(s.values):g} to {max(s.values):g}" if s.values else "none"),
                )
                for s in samples
            )
            return table_html(Table(title, columns, rows, says), place)
        case Graph(title, says, nodes):
            items = "".join(
                f"<li>{standing_html(n.standing)}{escaped(n.label)}"
                f" {' · '.join(cell_html(c, place) for c in n.cells)}</li>"
                for n in nodes
            )
            return f"<h3>{escaped(title)}</h3><p>{escaped(says)}</p><ul>{items}</ul>"
        case Drawing(title, says, _):
            return f"<h3>{escaped(title)}</h3><p>{escaped(says)}</p>"
        case Source(title, text, _):
            return f"<h3>{escaped(title)}</h3><pre>{escaped(text)}</pre>"
        case Fold(title, blocks):
            inner = blocks_html(blocks, place.inner("f", 1))
            return f"<details><summary>{escaped(title)}</summary>{inner}</details>"
        case _:
            assert_never(block)


def facts_html(items: tuple[tuple[str, Cell], ...], place: Place) -> str:
    rows = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{cell_html(cell, place)}</dd></div>"
        for name, cell in items
    )
    return f'<dl class="facts">{rows}</dl>'


def table_html(table: Table, place: Place) -> str:
    head = "".join(
        f'<th scope="col">{escaped(c.name)} {escaped(c.unit)}</th>' for c in table.columns
    )
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell_html(c, place)}</td>" for c in row) + "</tr>"
        for row in table.rows
    )
    return (
        f"<table><caption>{escaped(table.title)} {escaped(table.says)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
