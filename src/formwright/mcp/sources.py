"""In the child: the text that a call is about, by itself or by a name that is no path."""

import re
from typing import Final

from formwright.base.diagnostics import fail, nearest
from formwright.base.source import Source
from formwright.lang import load_source, shipped
from formwright.mcp.limits import TEXT_BYTES

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_DIGEST: Final = re.compile(r"[0-9a-f]{8,64}")


def find_source(given: str, population: str) -> Source:
    """The text itself, or that of a shipped name or a digest; never that of a file.

    Raises ``InputError`` for a name that is none and for a text that is too large or no UTF-8.
    """
    if "\n" in given:
        return Source("template.fw", _checked(given))
    name = given.strip()
    if _NAME.fullmatch(name) and name in shipped():
        return load_source(name)
    if _DIGEST.fullmatch(name) and population:
        return _kept(name, population)
    hint = nearest(name[:80], shipped()) or "give the whole text, or a name of fw_problem_show"
    raise fail("that is neither a template's text nor the name of one that ships", hint=hint)


def _checked(text: str) -> str:
    """Rule L3 of the language, before anything is made of the text."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise fail("the text has characters that are no Unicode", hint="send plain text") from None
    if size > TEXT_BYTES:
        raise fail(f"the text is larger than {TEXT_BYTES} bytes", hint="a template is shorter")
    return text


def _kept(digest: str, place: str) -> Source:
    from formwright.population import open_population

    entry = open_population(place).entry(digest)
    if entry.language != "fw":
        raise fail(f"{entry.name} is kernel source, no template", hint="it stays on the shelf")
    return Source(f"{entry.name}.fw", entry.text)
