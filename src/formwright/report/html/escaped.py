"""Text that may come from anybody, made fit to stand in HTML. Nothing else here writes text."""

from html import escape

_HIDDEN = {
    **{code: f"⟨U+{code:04X}⟩" for code in (0x061C, 0x200E, 0x200F)},
    **{code: f"⟨U+{code:04X}⟩" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
    **dict.fromkeys((*range(0x00, 0x09), 0x0B, 0x0C, *range(0x0E, 0x20)), "\ufffd"),
    **dict.fromkeys((*range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd"),
}
"""Characters that HTML forbids, and those that change the order in which text is shown: a text
that reads otherwise than it is would be a lie in a record."""


def escaped(text: str) -> str:
    """``text`` for an element's content or a quoted attribute."""
    return escape(text.translate(_HIDDEN))


def content(text: str) -> str:
    """``text`` for an element's content alone: quotes stay, of which JSON is full."""
    return escape(text.translate(_HIDDEN), quote=False)


def visible(text: str) -> str:
    """``text`` for a terminal, to which nothing in it is an order: no colour, no title, no line
    that is written over."""
    return text.translate(_HIDDEN | {0x0D: "\ufffd"})
