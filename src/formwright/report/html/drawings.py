"""Drawings that are SVG documents of their own, as images: what is in one stays in it.

An image runs no script, fetches nothing, and shares neither names nor style with the page.
"""

import re
from urllib.parse import quote

from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place
from formwright.report.html.words import heading_html, says_html
from formwright.report.page import Drawing

WIDE = 720
"""A drawing that is wider than this many pixels is not made narrower than it, but scrolls."""

_PLAIN = " !$&()*+,-./:;=?@_~[]{}|^`"
"""What a data address within double quotes holds as it is."""

_WIDTH = re.compile(r"<svg\b[^>]*?\swidth=[\"']([0-9.]+)(?:px)?[\"']")


def drawing_html(drawing: Drawing, place: Place) -> str:
    found = _WIDTH.search(drawing.svg[:2000])
    wide = " wide" if found and float(found.group(1)) > WIDE else ""
    source = "data:image/svg+xml;charset=utf-8," + quote(drawing.svg, safe=_PLAIN)
    return (
        f'<figure class="block drawing{wide}">{heading_html(drawing.title, place)}'
        f"{says_html(drawing.says, place)}"
        f'<div class="scroll" role="group" tabindex="0" aria-labelledby="{place.at}-h">'
        f'<img src="{escaped(source)}" alt="{escaped(drawing.title)}"'
        f' aria-describedby="{place.at}-s"></div></figure>'
    )
