"""The frame of a plot: grid, marks of both axes, their names."""

from formwright.report.html.escaped import escaped
from formwright.report.html.scales import Scale

TOP = 10
"""Pixels above a plot, so that the uppermost mark of its axis is whole."""

FOOT = 26
"""Pixels below it, for the marks of its axis."""

CHARACTER = 7.6
"""Pixels that a character of an axis takes at most, on the average of its letters."""

NARROW = 4
"""Of more marks than these every second one is left out on a narrow plot."""


def y_axis_html(scale: Scale, height: int) -> str:
    """The numbers left of a plot: a drawing of their own, as wide as the longest of them."""
    width = max((len(t.text) for t in scale.ticks), default=1) * CHARACTER + 8
    texts = "".join(
        f'<text x="100%" dx="-6" y="{TOP + (1 - t.at) * height + 4:.1f}" text-anchor="end">'
        f"{escaped(t.text)}</text>"
        for t in scale.ticks
    )
    return (
        f'<svg class="yaxis" width="{width:.0f}" height="{TOP + height + FOOT}"'
        f' aria-hidden="true">{texts}</svg>'
    )


def across_html(scale: Scale, height: int) -> str:
    """Grid lines of the upright axis, across the plot."""
    return "".join(
        f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        for y in (TOP + (1 - t.at) * height for t in scale.ticks)
    )


def upright_html(scale: Scale, top: float, bottom: float) -> str:
    """Grid lines of the axis that runs across, from ``top`` to ``bottom`` pixels."""
    return "".join(
        f'<line class="grid" x1="{t.at:.2%}" x2="{t.at:.2%}" y1="{top:g}" y2="{bottom:g}"/>'
        for t in scale.ticks
    )


def x_axis_html(scale: Scale, bottom: float) -> str:
    """The line below a plot with its numbers."""
    many = len(scale.ticks) > NARROW
    texts = "".join(
        f'<text x="{t.at:.2%}" y="{bottom + 18:g}" text-anchor="middle"'
        f"{' class=odd' if many and n % 2 else ''}>{escaped(t.text)}</text>"
        for n, t in enumerate(scale.ticks)
    )
    line = f'<line class="axis" x1="0" x2="100%" y1="{bottom:g}" y2="{bottom:g}"/>'
    return line + texts
