"""What came of what, as a list in which every row says its parents and lines show them."""

from formwright.report.html.cells import cell_html, standing_html
from formwright.report.html.escaped import escaped
from formwright.report.html.histories import Row, rows_of
from formwright.report.html.place import Place
from formwright.report.html.words import heading_html, says_html
from formwright.report.page import Graph

LANE = 16
"""Pixels from lane to lane; less where there are many."""

MOST = 160
"""Pixels that lanes take at most; with still more of them words alone say the parents."""

DOT = 17
"""Pixels from the top of a row to its dot."""


def graph_html(graph: Graph, place: Place) -> str:
    rows, lanes = rows_of(graph.nodes)
    step = min(LANE, MOST / lanes) if lanes else LANE
    drawn = step >= 4
    ids = {row.node.key: f"{place.at}-n{n}" for n, row in enumerate(rows)}
    labels = {row.node.key: row.node.label for row in rows}
    items = "".join(
        f'<li id="{ids[row.node.key]}">{_lines(row, lanes, step) if drawn else ""}'
        f'<div class="node">{_words(row, ids, labels, place)}</div></li>'
        for row in rows
    )
    return (
        f'<figure class="block graph">{heading_html(graph.title, place)}'
        f'{says_html(graph.says, place)}<ol class="history">{items}</ol></figure>'
    )


def _words(row: Row, ids: dict[str, str], labels: dict[str, str], place: Place) -> str:
    node = row.node
    cells = "".join(f"<span>{cell_html(c, place)}</span>" for c in node.cells if c.text.strip())
    parents = ", ".join(
        f'<a href="#{ids[p]}">{escaped(labels[p])}</a>' if p in ids else escaped(p)
        for p in dict.fromkeys(node.parents)
    )
    origin = f'<span class="from">from {parents}</span>' if parents else ""
    return (
        f"{standing_html(node.standing)}<b>{escaped(node.label)}</b>"
        f'<span class="cells">{cells}{origin}</span>'
    )


def _lines(row: Row, lanes: int, step: float) -> str:
    """The lines of one row: as high as the row, whatever its words take."""

    def x(lane: int) -> float:
        return (lane + 0.5) * step

    parts = [f'<line x1="{x(n):.1f}" x2="{x(n):.1f}" y1="0" y2="100%"/>' for n in row.passing]
    for lane in row.joins:
        start, end = x(lane), x(row.lane)
        path = f"M{start:.1f} 0V{DOT}" if start == end else _bent(start, end)
        parts.append(f'<path d="{path}"/>')
    if row.opens:
        parts.append(f'<line x1="{x(row.lane):.1f}" x2="{x(row.lane):.1f}" y1="{DOT}" y2="100%"/>')
    kind = row.node.standing or "plain"
    parts.append(f'<circle class="dot {kind}" cx="{x(row.lane):.1f}" cy="{DOT}" r="4.5"/>')
    width = lanes * step + 6
    return f'<svg class="lanes" width="{width:.0f}" aria-hidden="true">{"".join(parts)}</svg>'


def _bent(start: float, end: float) -> str:
    return f"M{start:.1f} 0C{start:.1f} {DOT * 0.8:.1f} {end:.1f} {DOT * 0.2:.1f} {end:.1f} {DOT}"
