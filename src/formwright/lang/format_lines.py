"""Lines of canonical text, with the lines of the file that they come from."""

from dataclasses import dataclass

from formwright.base.source import Span

WIDTH = 100
"""Lists of parameters are broken before this column."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of output with the line of the source that it comes from, if known."""

    text: str
    source: int | None = None


Section = tuple[str, list[TextLine]]
"""The section's word and its lines, the head first."""


def quoted(text: str) -> str:
    """A text in quotes, with quotes and backslashes escaped (rule L2)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def line(text: str, span: Span | None) -> TextLine:
    return TextLine(text, None if span is None else span.line)
