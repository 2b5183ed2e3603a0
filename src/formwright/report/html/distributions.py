"""Distributions one below another on one axis: density, box of quartiles, every single value."""

from formwright.report.html.cells import cell_html, evidence_html
from formwright.report.html.escaped import escaped
from formwright.report.html.frames import FOOT, upright_html, x_axis_html
from formwright.report.html.marks import told
from formwright.report.html.numbers import said
from formwright.report.html.place import Place
from formwright.report.html.samples import GRID, Summary, density, summary_of, usual
from formwright.report.html.scales import Scale, scale_of
from formwright.report.html.tables import grid_html
from formwright.report.html.words import heading_html, says_html, values_html
from formwright.report.page import Cell, Column, Distributions, Sample, Table

ROW = 64
"""Pixels of a row: the density down to 34, the box to 50, the single values to 62."""

HILL, BOX_TOP, BOX_FOOT, RUG_TOP, RUG_FOOT = 34, 38, 50, 54, 62

WIDE = 1000
"""Units across of what is stretched to the width."""

TICKS = 2000
"""More single values than these are drawn as every second, third, ... in their order."""


def distributions_html(found: Distributions, place: Place) -> str:
    values = [v for s in found.samples for v in usual(s.values)]
    scale = scale_of(found.axis, values)
    items = "".join(_item(s, scale, place) for s in found.samples)
    return (
        f'<figure class="block chart">{heading_html(found.title, place)}'
        f'{says_html(found.says, place)}<div class="stage"><ol class="spreads">{items}</ol></div>'
        f'<svg class="draw foot" height="{FOOT}" aria-hidden="true">{x_axis_html(scale, 1)}</svg>'
        f'<p class="xname">{escaped(scale.label)}</p>'
        f"{_values(found, place.inner('v'))}</figure>"
    )


def _item(sample: Sample, scale: Scale, place: Place) -> str:
    known = summary_of(sample.values)
    name = cell_html(Cell(sample.name, origin=sample.origin), place)
    head = f'<span class="name">{name}{evidence_html(sample.evidence)}</span>'
    if known is None:
        return f'<li>{head}<span class="value">no values</span></li>'
    unit = scale.axis.unit
    words = (
        f"median {said(known.middle, unit)}, half of them within {said(known.low, unit)} to"
        f" {said(known.high, unit)}, {known.count:,} {'value' if known.count == 1 else 'values'}"
        f"{_beyond(sample, scale)}"
    )
    text, more = told(f"{sample.name}: {_whole(known, unit)}", sample.origin, place)
    return (
        f'<li>{head}<span class="value">{escaped(words)}</span>'
        f'<svg class="draw" height="{ROW}" aria-hidden="true">{upright_html(scale, 0, ROW)}'
        f'<svg width="100%" height="{ROW}" viewBox="0 0 {WIDE} {ROW}" preserveAspectRatio="none">'
        f"{_drawn(sample, scale)}</svg>{_box(known, scale, text, more)}</svg></li>"
    )


def _whole(known: Summary, unit: str) -> str:
    return (
        f"least {said(known.least, unit)}, quartiles {said(known.low, unit)},"
        f" {said(known.middle, unit)} and {said(known.high, unit)}, 95 % within"
        f" {said(known.late, unit)}, greatest {said(known.greatest, unit)}"
    )


def _beyond(sample: Sample, scale: Scale) -> str:
    """How many values the axis does not show, and how far they go: nothing is left out unsaid."""
    out = [v for v in sample.values if scale.within(v) is None]
    if not out:
        return ""
    return f"; {len(out):,} beyond the axis, as far as {said(max(out, key=abs), scale.axis.unit)}"


def _drawn(sample: Sample, scale: Scale) -> str:
    shares = [s for s in map(scale.within, sample.values) if s is not None]
    if not shares:
        return ""
    every = -(-len(shares) // TICKS)
    rug = "".join(f"M{s * WIDE:.1f} {RUG_TOP}V{RUG_FOOT}" for s in shares[::every])
    drawn = f'<path class="ln rug" d="{rug}"/>'
    if len(shares) < 3 or len(set(shares)) < 2:
        return drawn
    heights = density(shares)
    points = " ".join(
        f"{n * WIDE / GRID:.1f} {HILL - h * (HILL - 4):.1f}" for n, h in enumerate(heights)
    )
    return f'<path class="hill" d="M0 {HILL}L{points}L{WIDE} {HILL}Z"/>{drawn}'


def _box(known: Summary, scale: Scale, text: str, more: str) -> str:
    """From quartile to quartile with a bar at the median; the thin line spans all that is shown."""

    def at(value: float) -> float:
        share = scale.at(value)
        return 0.0 if share is None else 100 * min(1.0, max(0.0, share))

    middle = (BOX_TOP + BOX_FOOT) / 2
    low, high, median = at(known.low), at(known.high), at(known.middle)
    return (
        f'<line class="spread s0" x1="{at(known.least):.2f}%" x2="{at(known.greatest):.2f}%"'
        f' y1="{middle}" y2="{middle}"/>'
        f'<rect class="box" x="{low:.2f}%" y="{BOX_TOP}" width="{max(0.2, high - low):.2f}%"'
        f' height="{BOX_FOOT - BOX_TOP}"{more}>{text}</rect>'
        f'<line class="median" x1="{median:.2f}%" x2="{median:.2f}%" y1="{BOX_TOP - 3}"'
        f' y2="{BOX_FOOT + 3}"/>'
    )


def _values(found: Distributions, place: Place) -> str:
    unit = found.axis.unit
    names = ("least", "quartile", "median", "quartile", "95 %", "greatest")
    columns = (
        Column("sample"),
        Column("values", number=True),
        *(Column(n, number=True) for n in names),
    )
    rows = []
    for sample in found.samples:
        known = summary_of(sample.values)
        first = Cell(sample.name, origin=sample.origin, evidence=sample.evidence)
        if known is None:
            rows.append((first, Cell("0", 0), *(Cell("") for _ in names)))
            continue
        figures = (known.least, known.low, known.middle, known.high, known.late, known.greatest)
        row = (Cell(f"{known.count:,}", known.count), *(Cell(said(v, unit), v) for v in figures))
        rows.append((first, *row))
    table = Table(found.title, columns, tuple(rows))
    return values_html(grid_html(table, place), place, found.title)
