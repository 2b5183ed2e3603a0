"""Every block as HTML: an exhaustive reader of the union."""

from typing import assert_never

from formwright.report.html.bars import bars_html
from formwright.report.html.cells import cell_html
from formwright.report.html.charts import chart_html
from formwright.report.html.distributions import distributions_html
from formwright.report.html.drawings import drawing_html
from formwright.report.html.escaped import content, escaped
from formwright.report.html.graphs import graph_html
from formwright.report.html.place import Place
from formwright.report.html.tables import table_html
from formwright.report.html.words import heading_html, prose
from formwright.report.page import (
    Bars,
    Block,
    Chart,
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
            return f'<p class="prose">{prose(text)}</p>'
        case Facts():
            return facts_html(block, place)
        case Table():
            return table_html(block, place)
        case Chart():
            return chart_html(block, place)
        case Bars():
            return bars_html(block, place)
        case Distributions():
            return distributions_html(block, place)
        case Graph():
            return graph_html(block, place)
        case Drawing():
            return drawing_html(block, place)
        case Source():
            return source_html(block, place)
        case Fold(title, blocks):
            inner = blocks_html(blocks, place.inner("f"))
            head = f'<summary><span class="title">{escaped(title)}</span></summary>'
            return f'<details class="block fold">{head}{inner}</details>'
        case _:
            assert_never(block)


def facts_html(facts: Facts, place: Place) -> str:
    rows = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{cell_html(cell, place)}</dd></div>"
        for name, cell in facts.items
    )
    return f'<dl class="block facts">{rows}</dl>' if rows else ""


def source_html(source: Source, place: Place) -> str:
    """The text as it stands; long lines scroll by themselves."""
    return (
        f'<div class="block source">{heading_html(source.title, place)}'
        f'<pre class="scroll" role="group" tabindex="0" aria-labelledby="{place.at}-h"'
        f' data-language="{escaped(source.language)}"><code>{content(source.text)}</code></pre>'
        "</div>"
    )
