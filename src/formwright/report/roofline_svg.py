"""The roofline as SVG: one small file, no script, readable in light and dark.

Both axes are logarithmic: operations per byte to the right, operations a second upwards. A kernel
is a row of marks at its rate, one for each memory level at that level's intensity.
"""

from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from formwright.flow.rooflining import Kernel, Roofline
from formwright.report.roofline import NO_COUNTERS, scaled, shape_text

WIDTH, LEFT, TOP, PLOT = 860, 86, 64, 470
BOTTOM = 80
LINE = 16
LEAST_HEIGHT = 360
LABELS = LEFT + PLOT + 26
CHARACTERS = 36
"""Characters of a label at the right."""

_STYLE = """
  svg { font: 12px ui-monospace, monospace; background: #fff; color: #1a1a1a }
  text { fill: currentColor } .title { font-weight: bold } .faint { fill: #666 }
  .grid { stroke: #e3e3e3 } .frame { fill: none; stroke: #888 }
  .roof { fill: none; stroke-width: 2 } .peak { stroke: #333 }
  .row { stroke: #999; stroke-dasharray: 2 3 } .lead { fill: none; stroke: #bbb }
  .l0 { stroke: #0b6e4f; fill: #0b6e4f } .l1 { stroke: #1f5fa8; fill: #1f5fa8 }
  .l2 { stroke: #8a4fa3; fill: #8a4fa3 } .l3 { stroke: #b3541e; fill: #b3541e }
  @media (prefers-color-scheme: dark) {
    svg { background: #15181c; color: #e6e6e6 } .faint { fill: #aaa }
    .grid { stroke: #2a2e34 } .peak { stroke: #ddd } .row { stroke: #777 } .lead { stroke: #555 }
    .l0 { stroke: #5fd0a5; fill: #5fd0a5 } .l1 { stroke: #7fb4f0; fill: #7fb4f0 }
    .l2 { stroke: #cf9fe6; fill: #cf9fe6 } .l3 { stroke: #f0a27a; fill: #f0a27a }
  }
"""


@dataclass(frozen=True, slots=True)
class _Axes:
    """Decimal logarithms at the edges of the plot, and its height in pixels."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float
    height: int

    def x(self, value: float) -> float:
        return LEFT + PLOT * (log10(value) - self.low_x) / (self.high_x - self.low_x)

    def y(self, value: float) -> float:
        part = (log10(value) - self.low_y) / (self.high_y - self.low_y)
        return TOP + self.height * (1 - part)


def roofline_svg(found: Roofline) -> str | None:
    """A whole SVG document; ``None`` where the chip has no peak or no kernel has a time."""
    shown = [k for k in found.kernels if k.point.rate and any(u.intensity for u in k.point.uses)]
    if not shown or found.roofs.peak is None:
        return None
    shown.sort(key=lambda k: -(k.point.rate or 0))
    axes = _axes(found, shown)
    height = TOP + axes.height + BOTTOM
    title = f"Roofline of {found.chip}, {found.roofs.threads} thread(s)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(title)}</title>',
        f'<desc id="d">{escape(_told(shown))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        f'<text class="faint" x="{LEFT}" y="{24 + LINE}">{escape(NO_COUNTERS)}</text>',
        *_grid(axes),
        *_roofs(found, axes),
        *_kernels(shown, axes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _told(shown: list[Kernel]) -> str:
    return " ".join(
        f"{k.point.name}: {scaled(k.point.rate or 0, 'flop/s')}, "
        f"{k.point.verdict.says if k.point.verdict else 'no verdict'}."
        for k in shown
    )


def _axes(found: Roofline, shown: list[Kernel]) -> _Axes:
    peak = found.roofs.peak
    assert peak is not None
    speeds = [v.bandwidth for v in found.roofs.levels if v.bandwidth]
    at = [u.intensity for k in shown for u in k.point.uses if u.intensity]
    ridges = [peak / s for s in speeds]
    rates = [k.point.rate for k in shown if k.point.rate]
    low_x = floor(2 * log10(min([*at, *ridges]) / 2)) / 2
    high_x = ceil(2 * log10(max([*at, *ridges]) * 2)) / 2
    low = min([*rates, *(s * 10**low_x for s in speeds)])
    low_y = floor(2 * log10(low / 1.2)) / 2
    matrix = [found.roofs.matrix] if found.roofs.matrix else []
    ridges += [m / s for m in matrix for s in speeds]
    high_x = max(high_x, ceil(2 * log10(max(ridges, default=1.0) * 2)) / 2)
    high_y = log10(max([peak, *matrix, *rates])) + 0.25
    return _Axes(low_x, high_x, low_y, high_y, max(LEAST_HEIGHT, len(shown) * 2 * LINE + LINE))


def _grid(axes: _Axes) -> list[str]:
    bottom, right = TOP + axes.height, LEFT + PLOT
    found = []
    for power in range(ceil(axes.low_x), floor(axes.high_x) + 1):
        x = axes.x(10.0**power)
        found.append(f'<path class="grid" d="M{x:.0f} {TOP}V{bottom}"/>')
        found.append(
            f'<text x="{x:.0f}" y="{bottom + LINE}" text-anchor="middle">{10.0**power:g}</text>'
        )
    for power in range(ceil(axes.low_y), floor(axes.high_y) + 1):
        y = axes.y(10.0**power)
        found.append(f'<path class="grid" d="M{LEFT} {y:.0f}H{right}"/>')
        label = scaled(10.0**power, "")
        found.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    found.append(
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{PLOT}" height="{axes.height}"/>'
    )
    middle = LEFT + PLOT // 2
    found.append(
        f'<text x="{middle}" y="{bottom + 2 * LINE + 6}" text-anchor="middle">operations per byte'
        " moved from the level</text>"
    )
    found.append(f'<text x="{LEFT}" y="{TOP - 6}" class="faint">operations a second</text>')
    return found


def _roofs(found: Roofline, axes: _Axes) -> list[str]:
    """The peaks, and for each level its bandwidth up to the highest; names stand below the plot.

    There nothing can lie on them, and each has the mark that its line begins with.
    """
    peaks = [("peak", found.roofs.peak), ("matrix units", found.roofs.matrix)]
    known = [(name, peak) for name, peak in peaks if peak is not None]
    right, peak = LEFT + PLOT, max(peak for _, peak in known)
    top = axes.y(peak)
    speeds = [(n, v, v.bandwidth) for n, v in enumerate(found.roofs.levels) if v.bandwidth]
    parts = []
    for name, rate in known:
        start = axes.x(rate / max(s for *_, s in speeds)) if speeds else LEFT
        height = axes.y(rate)
        parts += [
            f'<path class="roof peak" d="M{start:.0f} {height:.0f}H{right}"/>',
            f'<text x="{right - 8}" y="{height - 6:.0f}" text-anchor="end">'
            f"{name} {scaled(rate, 'flop/s')}</text>",
        ]
    below, across = TOP + axes.height + 3 * LINE + 14, LEFT
    for number, level, speed in speeds:
        edge = axes.y(speed * 10**axes.low_x)
        text = f"{level.name} {scaled(speed, 'B/s')}"
        parts += [
            f'<path class="roof l{number}" d="M{LEFT} {edge:.0f}'
            f'L{axes.x(peak / speed):.0f} {top:.0f}"/>',
            _mark(number, LEFT, edge),
            _mark(number, across + 4, below - 4),
            f'<text x="{across + 14}" y="{below}">{escape(text)}</text>',
        ]
        across += 14 + 8 * (len(text) + 2)
    return parts


def _kernels(shown: list[Kernel], axes: _Axes) -> list[str]:
    """A dotted row with its marks for each kernel, and its label at the right."""
    wanted = [axes.y(k.point.rate or 1) for k in shown]
    ys = _apart([y + 4 for y in wanted], TOP + LINE, TOP + axes.height, 2 * LINE)
    found = []
    for kernel, at, label in zip(shown, wanted, ys, strict=True):
        xs = [(n, axes.x(u.intensity)) for n, u in enumerate(kernel.point.uses) if u.intensity]
        first = min(x for _, x in xs)
        found.append(
            f'<path class="row" d="M{first:.0f} {at:.0f}H{LEFT + PLOT}"/>'
            f'<path class="lead" d="M{LEFT + PLOT} {at:.0f}L{LABELS - 6} {label - 4:.0f}"/>'
        )
        found += [_mark(n, x, at) for n, x in xs]
        verdict = kernel.point.verdict
        bound = verdict.bound if verdict and verdict.bound else "no roof, nearest"
        share = "" if verdict is None else f" {verdict.share:.0%}"
        rate = scaled(kernel.point.rate or 0, "flop/s")
        below = (
            f"{rate}, {bound}{share}" if kernel.point.timed == "measured" else f"{rate}, modelled"
        )
        name = _cut(f"{kernel.point.name} {shape_text(kernel)}")
        found.append(f'<text x="{LABELS}" y="{label - 4:.0f}">{escape(name)}</text>')
        found.append(
            f'<text class="faint" x="{LABELS}" y="{label + 9:.0f}">{escape(_cut(below))}</text>'
        )
    return found


def _mark(level: int, x: float, y: float) -> str:
    """A shape of its own for each level, so that colour alone tells nothing."""
    match level:
        case 0:
            return f'<circle class="l0" cx="{x:.0f}" cy="{y:.0f}" r="4"/>'
        case 1:
            return f'<rect class="l1" x="{x - 4:.0f}" y="{y - 4:.0f}" width="8" height="8"/>'
        case 2:
            return f'<path class="l2" d="M{x:.0f} {y - 5:.0f}l5 9h-10z"/>'
        case _:
            return f'<path class="l3" d="M{x:.0f} {y - 6:.0f}l5 6l-5 6l-5-6z"/>'


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"


def _apart(wanted: list[float], low: float, high: float, gap: float) -> list[float]:
    """Places near ``wanted``, at least ``gap`` apart, within ``low .. high`` if they fit."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places = [0.0] * len(wanted)
    least = low
    for n in order:
        places[n] = max(wanted[n], least)
        least = places[n] + gap
    most = high
    for n in reversed(order):
        places[n] = min(places[n], most)
        most = places[n] - gap
    return places
