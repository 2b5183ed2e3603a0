"""What tests of pages ask of them: blocks of a kind, all words, every origin."""

from collections.abc import Iterator
from typing import TypeVar

from formwright.report.page import (
    Bars,
    Block,
    Cell,
    Chart,
    Distributions,
    Facts,
    Fold,
    Graph,
    Origin,
    Page,
    Section,
    Table,
    Text,
)
from formwright.report.pages.entries import MOST_TEXT

B = TypeVar("B")


def blocks(page: Page) -> Iterator[Block]:
    """All of a page, those within folds too."""
    for section in page.sections:
        yield from _inner(section.blocks)


def _inner(of: tuple[Block, ...]) -> Iterator[Block]:
    for block in of:
        yield block
        if isinstance(block, Fold):
            yield from _inner(block.blocks)


def of_kind(page: Page, kind: type[B], title: str) -> B:
    """The block of a kind whose title has these words."""
    (found,) = (b for b in blocks(page) if isinstance(b, kind) and title in getattr(b, "title", ""))
    return found


def section(page: Page, key: str) -> Section:
    return next(s for s in page.sections if s.key == key)


def cells(page: Page) -> Iterator[Cell]:
    for block in (page.facts, *blocks(page)):
        match block:
            case Facts(items):
                yield from (cell for _, cell in items)
            case Table():
                yield from (cell for row in block.rows for cell in row)
            case Graph():
                yield from (cell for node in block.nodes for cell in node.cells)


def origins(page: Page) -> Iterator[Origin]:
    """Of every figure that has one."""
    yield from (c.origin for c in cells(page) if c.origin is not None)
    for block in blocks(page):
        match block:
            case Chart():
                points = (p for s in block.series for p in s.points)
                yield from (p.origin for p in points if p.origin is not None)
            case Bars():
                parts = (p for bar in block.bars for p in bar.parts)
                yield from (p.origin for p in parts if p.origin is not None)
            case Distributions():
                yield from (s.origin for s in block.samples if s.origin is not None)


def words(page: Page) -> str:
    """What stands in sentences, facts and rows."""
    found = [page.title, *page.answer]
    found += [cell.text for cell in cells(page)]
    found += [b.text for b in blocks(page) if isinstance(b, Text)]
    found += [b.says for b in blocks(page) if isinstance(b, Chart | Bars | Table | Graph)]
    return "\n".join(found)


def well_formed(page: Page, *, whole: bool = True) -> None:
    """Rows are as long as their head, keys are distinct, and every origin has its text, or (where
    the page is not ``whole``) the bound on texts is reached."""
    for block in blocks(page):
        if isinstance(block, Table):
            assert {len(row) for row in block.rows} <= {len(block.columns)}, block.title
    keys = [s.key for s in page.sections]
    assert len(set(keys)) == len(keys)
    if whole:
        assert set(origins(page)) <= set(page.entries)
    else:
        assert sum(map(len, page.entries.values())) > 0.9 * MOST_TEXT
    assert page.answer
    assert page.made
