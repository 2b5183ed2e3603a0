"""How series are told apart: by shape and dash first, by colour besides.

A drawing has no view box: across, everything stands at a percentage, and downwards at pixels, so
that on any width text keeps its size and marks their shape.
"""

from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place, address
from formwright.report.page import Origin, Series

SHAPES = 6
"""Shapes and colours; a seventh series has the first's shape again, hollow."""

_PATHS = {
    1: "M-4-4H4V4H-4Z",
    2: "M0-5.2L5.2 3.8H-5.2Z",
    3: "M0-5.6L5.6 0L0 5.6L-5.6 0Z",
    4: "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    5: "M0 5.2L5.2-3.8H-5.2Z",
}
"""Square, triangle, diamond, plus, triangle that stands on its tip; number 0 is a circle."""


def shapes_html() -> str:
    """Shapes and hatchings that all drawings of a page use: once in the page."""
    shapes = "".join(f'<path id="m{n}" d="{path}"/>' for n, path in _PATHS.items())
    hatches = "".join(
        f'<pattern id="h{n}" class="p{n}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect class="ground" width="8" height="8"/>{lines}</pattern>'
        for n, lines in enumerate(_HATCHES)
    )
    return f'<svg class="defs" aria-hidden="true"><defs>{shapes}{hatches}</defs></svg>'


_HATCHES = (
    "",
    '<path d="M-2 2L2-2M0 8L8 0M6 10L10 6"/>',
    '<circle cx="2" cy="2" r="1.3"/><circle cx="6" cy="6" r="1.3"/>',
    '<path d="M0 2H8M0 6H8"/>',
    '<path d="M-2 6L2 10M0 0L8 8M6-2L10 2"/>',
    '<path d="M2 0V8M6 0V8"/>',
)
"""A plain ground, lines up, dots, lines across, lines down, upright lines."""


def look(number: int, lead: bool = False) -> str:
    """The classes of series ``number``: its colour, hollow from the seventh on."""
    hollow = " open" if (number // SHAPES) % 2 else ""
    return f"s{number % SHAPES}{hollow}{' lead' if lead else ''}"


def mark_html(number: int, x: float, y: float, kind: str, inner: str = "", more: str = "") -> str:
    """A mark at ``x`` percent and ``y`` pixels."""
    shape = number % SHAPES
    place = f'"{x:.2f}%"'
    if shape == 0:
        return f'<circle class="{kind}" cx={place} cy="{y:.1f}" r="4.4"{more}>{inner}</circle>'
    return f'<use class="{kind}" href="#m{shape}" x={place} y="{y:.1f}"{more}>{inner}</use>'


def told(text: str, origin: Origin | None, place: Place) -> tuple[str, str]:
    """What a mark says when it is pointed at or reached by the keyboard, and the attributes by
    which the script finds it and follows it to its entry."""
    to = address(place, origin)
    link = f' data-to="{escaped(to)}"' if to else ""
    return f"<title>{escaped(text)}</title>", f" data-m{link}"


def swatch_html(number: int, series: Series, dash: int) -> str:
    """A piece of the series as it is drawn, for the legend."""
    line = ""
    if series.mark != "points":
        line = (
            f'<line class="ln {look(number, series.lead)} d{dash}" x1="0" x2="30" y1="8" y2="8"/>'
        )
    shape = number % SHAPES
    kind = f"mk {look(number, series.lead)}"
    if shape == 0:
        mark = f'<circle class="{kind}" cx="15" cy="8" r="4.4"/>'
    else:
        mark = f'<use class="{kind}" href="#m{shape}" x="15" y="8"/>'
    return f'<svg width="30" height="16" aria-hidden="true">{line}{mark}</svg>'
