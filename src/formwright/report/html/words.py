"""Headings and prose of blocks."""

import re

from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place

_CODE = re.compile(r"`([^`\n]+)`")


def heading_html(title: str, place: Place) -> str:
    """A block's heading; its id is that of the place with ``-h``."""
    level = place.level
    return f'<h{level} class="title" id="{place.at}-h">{escaped(title)}</h{level}>'


def prose(text: str) -> str:
    """Plain words; what stands in backquotes is code. No other mark is read."""
    return _CODE.sub(r"<code>\1</code>", escaped(text))


def says_html(says: str, place: Place) -> str:
    """The finding of a drawing, which also describes it to who cannot see it."""
    return f'<p class="says" id="{place.at}-s">{prose(says)}</p>'


def values_html(inner: str, place: Place, title: str) -> str:
    """What the drawing of that title shows, as a table that is folded away."""
    return (
        f'<details class="values"><summary id="{place.at}-h">The values as a table'
        f'<span class="vh">: {escaped(title)}</span></summary>{inner}</details>'
    )
