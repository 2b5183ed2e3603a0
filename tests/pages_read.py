"""Pages as tests look at them: every cell, every point, every word."""

from collections.abc import Iterator

from formwright.report.page import (
    Bars,
    Block,
    Cell,
    Chart,
    Distributions,
    Drawing,
    Facts,
    Fold,
    Graph,
    Origin,
    Page,
    Source,
    Table,
    Text,
)


def blocks(page: Page) -> Iterator[Block]:
    """Every block, those that are folded too."""
    for section in page.sections:
        for block in section.blocks:
            yield from _inside(block)


def _inside(block: Block) -> Iterator[Block]:
    yield block
    if isinstance(block, Fold):
        for inner in block.blocks:
            yield from _inside(inner)


def cells(page: Page) -> Iterator[Cell]:
    """Every cell of facts, tables and graphs."""
    yield from (cell for _, cell in page.facts.items)
    for block in blocks(page):
        match block:
            case Facts(items):
                yield from (cell for _, cell in items)
            case Table():
                yield from (cell for row in block.rows for cell in row)
            case Graph():
                yield from (cell for node in block.nodes for cell in node.cells)
            case _:
                pass


def origins(page: Page) -> set[Origin]:
    """Every place that a figure of the page leads to."""
    found = {c.origin for c in cells(page)}
    for block in blocks(page):
        match block:
            case Chart():
                found |= {p.origin for s in block.series for p in s.points}
            case Bars():
                found |= {p.origin for b in block.bars for p in b.parts}
            case Distributions():
                found |= {s.origin for s in block.samples}
            case _:
                pass
    return {o for o in found if o is not None}


def table(page: Page, title: str) -> Table:
    """The table whose title begins with ``title``."""
    return next(b for b in blocks(page) if isinstance(b, Table) and b.title.startswith(title))


def whole(table: Table) -> None:
    """Every row has a cell for each column."""
    assert {len(row) for row in table.rows} <= {len(table.columns)}, table.title


def told(page: Page) -> str:
    """All words of the page in one text."""
    parts = [page.title, *page.answer, page.made, *(c.text for c in cells(page))]
    for section in page.sections:
        parts.append(section.title)
    for block in blocks(page):
        match block:
            case Text(text):
                parts.append(text)
            case Source(title, text, _):
                parts += [title, text]
            case Chart() | Bars() | Distributions() | Drawing() | Graph() | Table():
                parts += [block.title, block.says]
            case _:
                pass
    return "\n".join(parts)
