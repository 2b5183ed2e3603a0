"""Numbers beside marks, and the list of what they stand for: labels that cannot collide.

How wide a plot will be is not known here, so a number's place must be free on a narrow plot and
on a wide one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from formwright.report.html.escaped import escaped

MOST = 15
"""More labels than these would only hide the plot; they are read in the table, or by pointing."""

WIDTHS = (270.0, 560.0, 900.0)
"""Pixels of plots that places are tried on."""

BOX = (17.0, 15.0)
"""Pixels of a number of two digits, with its halo."""


@dataclass(frozen=True, slots=True)
class Keys:
    texts: str
    listed: str


def numbered(spots: list[tuple[float, float, str]]) -> Keys:
    """Numbers for labelled marks: share across, pixels down, label. In the order given."""
    if not 1 <= len(spots) <= MOST:
        return Keys("", "")
    taken = [(x, y, 0.0, 0.0) for x, y, _ in spots]
    texts = ""
    for number, (x, y, _) in enumerate(spots, start=1):
        dx, dy = _free(x, y, taken)
        taken.append((x, y, dx, dy))
        texts += (
            f'<text class="key" x="{x:.2%}" dx="{dx:.0f}" y="{y + dy + 4:.1f}"'
            f' text-anchor="middle">{number}</text>'
        )
    return Keys(texts, _listed(spots))


def _listed(spots: list[tuple[float, float, str]]) -> str:
    items = "".join(f"<li>{escaped(label)}</li>" for *_, label in spots)
    return f'<ol class="keys">{items}</ol>'


def _free(
    x: float, y: float, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float]:
    """The offset, nearest first, at which a number hits least; none of the best hits anything."""
    return min(_offsets(), key=lambda o: _hits(x, y, o, taken))


def _offsets() -> Iterator[tuple[float, float]]:
    for far in (14.0, 22.0, 32.0, 44.0):
        yield from ((0, -far), (far, 0), (0, far), (-far, 0))
        part = far * 0.75
        yield from ((part, -part), (part, part), (-part, part), (-part, -part))


def _hits(
    x: float, y: float, offset: tuple[float, float], taken: list[tuple[float, float, float, float]]
) -> int:
    """On how many of the widths the place is over another number or mark, or above the plot."""
    dx, dy = offset
    found = 3 * (y + dy < 6)
    for width in WIDTHS:
        for other_x, other_y, other_dx, other_dy in taken:
            across = abs((x - other_x) * width + dx - other_dx)
            down = abs(y + dy - other_y - other_dy)
            mark = other_dx == other_dy == 0
            near = 0.8 if mark else 1.0
            found += across < BOX[0] * near and down < BOX[1] * near
    return found
