"""Messages about a user's input: a place, what is wrong, what to do."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formwright.base.source import Source, Span

LINE_WIDTH = 160
"""Longer lines of the input are shown in part."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault of the input. ``hint`` says what to do about it."""

    message: str
    span: Span | None = None
    hint: str | None = None


class InputError(Exception):
    """All the faults that were found in one input; the command line exits with 2."""

    def __init__(self, diagnostics: Sequence[Diagnostic], source: Source | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.source = source
        super().__init__(render_all(self.diagnostics, source))

    def __reduce__(self) -> tuple[type["InputError"], tuple[object, ...]]:
        """Made anew from what it was made of: faults pass from one process to another."""
        return InputError, (self.diagnostics, self.source)


def fail(message: str, span: Span | None = None, hint: str | None = None) -> InputError:
    """An error with one diagnostic: ``raise fail("…")``."""
    return InputError([Diagnostic(message, span, hint)])


def render(diagnostic: Diagnostic, source: Source | None = None) -> str:
    """``file:line:column: error: message``, the line, a caret under the place, the hint."""
    rows: list[str] = []
    span = diagnostic.span
    if span is None:
        rows.append(f"error: {diagnostic.message}")
    else:
        rows.append(f"{span.file}:{span.line}:{span.column}: error: {diagnostic.message}")
        if source is not None and source.name == span.file:
            text, start = _window(source.line(span.line), span.column - 1)
            number = f"{span.line:5d} | "
            column = span.column - 1 - start
            width = max(1, min(span.end_column - 1 - start, len(text)) - column)
            rows.append(number + text)
            rows.append(" " * (len(number) + column) + "^" * width)
    if diagnostic.hint:
        rows.append(f"  hint: {diagnostic.hint}")
    return "\n".join(rows)


def _window(text: str, column: int) -> tuple[str, int]:
    """A line made printable, cut to ``LINE_WIDTH`` round ``column``, and where the cut begins."""
    start = 0 if len(text) <= LINE_WIDTH else max(0, column - LINE_WIDTH // 2)
    stop = start + LINE_WIDTH
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text[start:stop])
    if start > 0:
        shown = "…" + shown[1:]
    if stop < len(text):
        shown = shown[:-1] + "…"
    return shown, start


def render_all(diagnostics: Iterable[Diagnostic], source: Source | None = None) -> str:
    """Every diagnostic, in the order of the text."""
    ordered = sorted(diagnostics, key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
    return "\n".join(render(d, source) for d in ordered)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """``did you mean "x"?`` for the known name that is closest to ``name``, if one is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else None
