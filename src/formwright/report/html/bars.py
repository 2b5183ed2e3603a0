"""Bars with their names and values beside them, one below another."""

from dataclasses import replace
from math import isfinite

from formwright.report.html.cells import cell_html
from formwright.report.html.escaped import escaped
from formwright.report.html.marks import SHAPES, told
from formwright.report.html.numbers import said
from formwright.report.html.place import Place
from formwright.report.html.scales import Scale, scale_of
from formwright.report.html.tables import grid_html
from formwright.report.html.words import heading_html, prose, says_html, values_html
from formwright.report.page import Axis, Bar, Bars, Cell, Column, Part, Table

THICK = 20
"""Pixels of a bar."""


def bars_html(bars: Bars, place: Place) -> str:
    """Each bar in a drawing of its own between its name and its value, so that both may wrap."""
    names = _names(bars)
    ends = [end for bar in bars.bars for end in _ends(bar)]
    scale = scale_of(_full(bars.axis, ends), ends, zero=True)
    items = "".join(_item(bar, scale, names, place) for bar in bars.bars)
    unit = f" Bars are logarithmic, from {scale.says(scale.low)}." if _log(scale) else ""
    axis = f'<p class="yname">{escaped(bars.axis.name)}{unit}</p>'
    return (
        f'<figure class="block chart">{heading_html(bars.title, place)}'
        f"{says_html(bars.says, place)}{_legend(names) if names else ''}{axis}"
        f'<div class="stage"><ol class="bars">{items}</ol></div>'
        f"{_values(bars, place.inner('v'))}</figure>"
    )


def _full(axis: Axis, ends: list[float]) -> Axis:
    """Bars have no marked axis: the longest takes all the room."""
    most = max(ends, default=0.0)
    return replace(axis, high=most) if axis.high is None and most > 0 else axis


def _log(scale: Scale) -> bool:
    return scale.axis.scale == "log"


def _names(bars: Bars) -> tuple[str, ...]:
    """Names of parts in the order in which they come up; none where they say nothing more.

    One part with the name of its bar, or the same in all bars, is the bar.
    """
    names = tuple(dict.fromkeys(p.name for b in bars.bars for p in b.parts))
    if any(len(b.parts) > 1 for b in bars.bars):
        return names
    return names if len(set(names) - {b.name for b in bars.bars}) > 1 else ()


def _ends(bar: Bar) -> tuple[float, float]:
    """Where a bar ends below zero and above it."""
    values = [p.value for p in bar.parts if isfinite(p.value)]
    return sum(v for v in values if v < 0), sum(v for v in values if v > 0)


def _total(bar: Bar) -> float:
    return sum(p.value for p in bar.parts)


def _item(bar: Bar, scale: Scale, names: tuple[str, ...], place: Place) -> str:
    drawn = "".join(_parts(bar, scale, names, place))
    zero = scale.at(0.0)
    line = "" if not zero else f'<line class="axis" x1="{zero:.2%}" x2="{zero:.2%}" y2="{THICK}"/>'
    only = bar.parts[0] if len(bar.parts) == 1 else None
    value = Cell(said(_total(bar), scale.axis.unit), origin=only.origin if only else None)
    note = f'<span class="note">{prose(bar.note)}</span>' if bar.note else ""
    return (
        f'<li><span class="name">{escaped(bar.name)}</span>'
        f'<svg class="draw" height="{THICK}" aria-hidden="true">{drawn}{line}</svg>'
        f'<span class="value">{cell_html(value, place)}</span>{note}</li>'
    )


def _parts(bar: Bar, scale: Scale, names: tuple[str, ...], place: Place) -> list[str]:
    """Rectangles side by side from zero, in the order given; what has no place has none."""
    found = []
    below, above = 0.0, 0.0
    for part in bar.parts:
        start = below if part.value < 0 else above
        end = start + part.value
        below, above = (end, above) if part.value < 0 else (below, end)
        edges = [_edge(v, scale) for v in (start, end)]
        left, width = min(edges), abs(edges[1] - edges[0])
        if width <= 0:
            continue
        text, more = told(_told(bar, part, scale, bool(names)), part.origin, place)
        kind = f"bar b{names.index(part.name) % SHAPES if names else 0}"
        found.append(
            f'<rect class="{kind}" x="{left:.2%}" y="1" width="{width:.2%}"'
            f' height="{THICK - 2}"{more}>{text}</rect>'
        )
    return found


def _edge(value: float, scale: Scale) -> float:
    """The share of the axis, within it; a logarithmic axis begins where zero would be."""
    at = scale.at(value)
    return 0.0 if at is None else min(1.0, max(0.0, at))


def _told(bar: Bar, part: Part, scale: Scale, many: bool) -> str:
    name = f"{bar.name}, {part.name}" if many and part.name else bar.name
    return f"{name}: {said(part.value, scale.axis.unit)}"


def _legend(names: tuple[str, ...]) -> str:
    items = "".join(
        f'<li><svg width="30" height="16" aria-hidden="true"><rect class="bar b{n % SHAPES}"'
        f' x="1" y="1" width="28" height="14"/></svg>{escaped(name)}</li>'
        for n, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def _values(bars: Bars, place: Place) -> str:
    """A row for each part; its share of the bar where it has several."""
    unit = bars.axis.unit
    parts = any(len(b.parts) > 1 for b in bars.bars)
    notes = any(b.note for b in bars.bars)
    columns = [Column("bar")]
    columns += [Column("part")] if parts else []
    columns += [Column(bars.axis.name, number=True)]
    columns += [Column("share of the bar", number=True)] if parts else []
    columns += [Column("note")] if notes else []
    rows = []
    for bar in bars.bars:
        total = _total(bar)
        for part in bar.parts:
            row = [Cell(bar.name)]
            row += [Cell(part.name)] if parts else []
            row += [Cell(said(part.value, unit), part.value, part.origin)]
            share = part.value / total if total else 0.0
            row += [Cell(f"{share:.1%}", share)] if parts else []
            row += [Cell(bar.note)] if notes else []
            rows.append(tuple(row))
    table = Table(bars.title, tuple(columns), tuple(rows))
    return values_html(grid_html(table, place), place, bars.title)
