"""Series over two axes."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from formwright.report.html.cells import evidence_html
from formwright.report.html.escaped import escaped
from formwright.report.html.frames import (
    FOOT,
    TOP,
    across_html,
    upright_html,
    x_axis_html,
    y_axis_html,
)
from formwright.report.html.keys import numbered
from formwright.report.html.marks import look, mark_html, swatch_html, told
from formwright.report.html.numbers import said
from formwright.report.html.place import Place
from formwright.report.html.scales import Scale, scale_of
from formwright.report.html.tables import grid_html
from formwright.report.html.words import heading_html, says_html, values_html
from formwright.report.page import Cell, Chart, Column, Evidence, Line, Point, Series, Table

HEIGHT = 300
"""Pixels of a plot, without its axes."""

MARKED = 60
"""A line with more points than these has marks only where it is pointed at."""

WIDE = 1000
"""Units across the part of a plot that lines are drawn in; it is stretched to the plot."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """A point with its place in the plot: shares of both axes."""

    point: Point
    x: float
    y: float

    @property
    def down(self) -> float:
        """Pixels from the top of the drawing."""
        return TOP + (1 - self.y) * HEIGHT


def chart_html(chart: Chart, place: Place) -> str:
    """Heading, finding, legend, plot, and the values as a table."""
    points = [p for s in chart.series for p in s.points]
    # A spread may lie outside what the points span: it is part of what is shown.
    spread = [v for p in points for v in (p.low, p.high) if v is not None]
    x = scale_of(chart.x, [*(p.x for p in points), *_through(chart.lines, "x")])
    y = scale_of(chart.y, [*(p.y for p in points), *spread, *_through(chart.lines, "y")])
    spots = [tuple(_spots(s, x, y)) for s in chart.series]
    order = sorted(range(len(chart.series)), key=lambda n: chart.series[n].lead)
    marks = "".join(_marks_html(chart, n, spots[n], x, y, place) for n in order)
    lines = "".join(_line_path(chart.series[n], n, x, y) for n in order)
    straight = "".join(_straight(line, n, x, y) for n, line in enumerate(chart.lines))
    keys = numbered([spot for n in order for spot in _labelled(chart, n, spots[n])])
    height = TOP + HEIGHT + FOOT
    left_out = len(points) - sum(len(s) for s in spots)
    return (
        f'<figure class="block chart">{heading_html(chart.title, place)}'
        f"{says_html(chart.says, place)}{_legend_html(chart)}"
        f'<p class="yname">{escaped(y.label)}{evidence_html(_common(chart))}</p>'
        f'<div class="plot">{y_axis_html(y, HEIGHT)}<div class="stage">'
        f'<svg class="draw" height="{height}" role="img"'
        f' aria-labelledby="{place.at}-h" aria-describedby="{place.at}-s">'
        f"{across_html(y, HEIGHT)}{upright_html(x, TOP, TOP + HEIGHT)}"
        f'<svg y="{TOP}" width="100%" height="{HEIGHT}" viewBox="0 0 {WIDE} {HEIGHT}"'
        f' preserveAspectRatio="none">{straight}{lines}</svg>'
        f"{x_axis_html(x, TOP + HEIGHT)}{marks}{keys.texts}</svg></div></div>"
        f'<p class="xname">{escaped(x.label)}</p>{keys.listed}{_left_out(left_out)}'
        f"{_values(chart, x, y, place.inner('v'))}</figure>"
    )


def _through(lines: tuple[Line, ...], axis: str) -> list[float]:
    """Straight lines across an axis are within it."""
    return [line.value for line in lines if line.axis == axis]


def _spots(series: Series, x: Scale, y: Scale) -> Iterator[_Spot]:
    for point in series.points:
        across, up = x.within(point.x), y.within(point.y)
        if across is not None and up is not None:
            yield _Spot(point, across, up)


def _left_out(count: int) -> str:
    if not count:
        return ""
    points, stand = ("point", "stands") if count == 1 else ("points", "stand")
    return f'<p class="note">{count:,} {points} outside the axes {stand} in the table below.</p>'


def _marks_html(
    chart: Chart, number: int, spots: tuple[_Spot, ...], x: Scale, y: Scale, place: Place
) -> str:
    series = chart.series[number]
    faint = " hit" if series.mark != "points" and len(series.points) > MARKED else ""
    kind = f"mk {look(number, series.lead)}{faint}"
    found = []
    for spot in spots:
        text, more = told(_told(series, spot.point, x, y), spot.point.origin, place)
        found.append(_spread_html(spot, y, number))
        found.append(mark_html(number, spot.x * 100, spot.down, kind, text, more))
    return f"<g>{''.join(found)}</g>"


def _told(series: Series, point: Point, x: Scale, y: Scale) -> str:
    name = f"{series.name}, {point.label}" if point.label else series.name
    text = f"{name}: {x.axis.name} {x.says(point.x)}, {y.axis.name} {y.says(point.y)}"
    if point.low is not None and point.high is not None:
        text += f" ({y.says(point.low)} to {y.says(point.high)})"
    return f"{text}, {series.evidence}" if series.evidence else text


def _spread_html(spot: _Spot, y: Scale, number: int) -> str:
    low, high = spot.point.low, spot.point.high
    if low is None or high is None:
        return ""
    ends = [y.at(v) for v in (low, high)]
    downs = [TOP + (1 - min(1.0, max(0.0, e))) * HEIGHT for e in ends if e is not None]
    if len(downs) < 2:
        return ""
    across = f"{spot.x:.2%}"
    return (
        f'<line class="spread {look(number)}" x1="{across}" x2="{across}"'
        f' y1="{downs[0]:.1f}" y2="{downs[1]:.1f}"/>'
    )


def _line_path(series: Series, number: int, x: Scale, y: Scale) -> str:
    """The line or the steps through all points that have a place, cut off at the plot's edges."""
    if series.mark == "points":
        return ""
    path = ""
    for point in series.points:
        across, up = x.at(point.x), y.at(point.y)
        if across is None or up is None:
            continue
        at, down = across * WIDE, (1 - up) * HEIGHT
        if not path:
            path = f"M{at:.1f} {down:.1f}"
        elif series.mark == "steps":
            path += f"H{at:.1f}V{down:.1f}"
        else:
            path += f"L{at:.1f} {down:.1f}"
    return f'<path class="ln {look(number, series.lead)} d{_dash(number)}" d="{path}"/>'


def _dash(number: int) -> int:
    return number % 4


def _straight(line: Line, number: int, x: Scale, y: Scale) -> str:
    kind = f'class="ln ref r{number % 3}"'
    match line.axis:
        case "y":
            up = y.at(line.value)
            path = None if up is None else f"M0 {(1 - up) * HEIGHT:.1f}H{WIDE}"
        case "x":
            across = x.at(line.value)
            path = None if across is None else f"M{across * WIDE:.1f} 0V{HEIGHT}"
        case "diagonal":
            path = _diagonal(x, y)
    return f'<path {kind} d="{path}"/>' if path else ""


def _diagonal(x: Scale, y: Scale) -> str:
    """``y = x`` in many short pieces: the axes may be of unlike kinds."""
    found = []
    for n in range(129):
        part = n / 128
        value = x.low + (x.high - x.low) * part
        if x.axis.scale == "log":
            value = x.low * (x.high / x.low) ** part
        up = y.at(value)
        if up is not None:
            found.append(f"{part * WIDE:.1f} {(1 - up) * HEIGHT:.1f}")
    return "M" + "L".join(found) if found else ""


def _labelled(
    chart: Chart, number: int, spots: tuple[_Spot, ...]
) -> list[tuple[float, float, str]]:
    """Labels of the series that leads, or of all where none does: what a reader looks up."""
    leads = any(s.lead and any(p.label for p in s.points) for s in chart.series)
    if leads and not chart.series[number].lead:
        return []
    return [(s.x, s.down, s.point.label) for s in spots if s.point.label]


def _common(chart: Chart) -> Evidence | None:
    """What all of several series rest on: said once, at the axis."""
    found = {s.evidence for s in chart.series}
    return found.pop() if len(found) == 1 and len(chart.series) > 1 else None


def _legend_html(chart: Chart) -> str:
    """Every series and line by name, with a piece of it."""
    common = _common(chart)
    items = [
        f"<li>{swatch_html(n, s, _dash(n))}{escaped(s.name)}"
        f"{'' if common else evidence_html(s.evidence)}</li>"
        for n, s in enumerate(chart.series)
    ]
    items += [
        f'<li><svg width="30" height="16" aria-hidden="true"><line class="ln ref r{n % 3}" x1="0"'
        f' x2="30" y1="8" y2="8"/></svg>{escaped(line.name)}</li>'
        for n, line in enumerate(chart.lines)
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _values(chart: Chart, x: Scale, y: Scale, place: Place) -> str:
    """One row for each point, with its spread where one is known."""
    points = [p for s in chart.series for p in s.points]
    labels = any(p.label for p in points)
    spread = any(p.low is not None or p.high is not None for p in points)
    columns = [Column("series")]
    columns += [Column("label")] if labels else []
    columns += [Column(x.axis.name, number=True), Column(y.axis.name, number=True)]
    columns += [Column("from", number=True), Column("to", number=True)] if spread else []
    rows = []
    for series in chart.series:
        for point in series.points:
            row = [Cell(series.name, evidence=series.evidence)]
            row += [Cell(point.label)] if labels else []
            row += [_figure(point.x, x), _figure(point.y, y, point)]
            row += [_figure(point.low, y), _figure(point.high, y)] if spread else []
            rows.append(tuple(row))
    table = Table(chart.title, tuple(columns), tuple(rows))
    return values_html(grid_html(table, place), place, chart.title)


def _figure(value: float | None, scale: Scale, point: Point | None = None) -> Cell:
    if value is None:
        return Cell("")
    text = said(value, scale.axis.unit) if isfinite(value) else "none"
    return Cell(text, value, point.origin if point else None)
