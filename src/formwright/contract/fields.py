"""Values of a TOML file, each fetched with its kind, faults gathered with their places."""

from collections.abc import Iterable
from typing import Any
from unicodedata import category

from formwright.base.diagnostics import Diagnostic, nearest
from formwright.base.source import Span
from formwright.base.toml import Document, Place


class Fields:
    """Collects the faults of one document; a getter answers ``None`` after reporting one."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.faults: list[Diagnostic] = []

    def get(self, place: Place) -> Any:
        value: Any = self.document.table
        for step in place:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def fault(self, message: str, place: Place, hint: str | None) -> None:
        span = self.document.value(*place) or self.end()
        self.faults.append(Diagnostic(message, span, hint))

    def end(self) -> Span:
        """Where a key that is missing would be written."""
        lines = self.document.source.text.splitlines() or [""]
        column = len(lines[-1]) + 1
        return Span(self.document.source.name, len(lines), column, column + 1)

    def text(self, place: Place, default: str | None) -> str | None:
        value = self.get(place)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            told = "is empty" if value == "" else "is not a text"
            self.fault(f"{place[-1]} {told}", place, f'write {place[-1]} = "…"')
            return None
        if any(category(sign) == "Cc" and sign not in "\n\t" for sign in value):
            self.fault(f"{place[-1]} holds signs that cannot be shown", place, "write plain text")
            return None
        return value

    def texts(self, place: Place, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
        value = self.get(place)
        if value is None and default is not None:
            return default
        good = isinstance(value, list) and all(isinstance(v, str) and v for v in value)
        if not good or (default is None and not value):
            message = f"{place[-1]} is not a list of names" if value is not None else None
            self.fault(
                message or f"the problem names no {place[-1]}", place, f'write {place[-1]} = ["…"]'
            )
            return None
        if len(set(value)) != len(value):
            self.fault(f"{place[-1]} names one thing twice", place, "name each once")
        return tuple(value)

    def choice(self, place: Place, known: Iterable[str], default: str) -> str | None:
        value = self.text(place, default)
        if value is not None and value not in known:
            hint = nearest(value, known) or f"known: {', '.join(known)}"
            self.fault(f'unknown {place[-1]} "{value}"', place, hint)
            return None
        return value

    def chosen(
        self, place: Place, known: tuple[str, ...], default: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        values = self.texts(place, default)
        for number, value in enumerate(values or ()):
            if value not in known:
                hint = nearest(value, known) or f"known: {', '.join(known)}"
                self.fault(f'unknown name "{value}" in {place[-1]}', (*place, number), hint)
        return values

    def whole(self, place: Place, low: int, high: int, default: int | None) -> int | None:
        value = self.get(place)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(f"{place[-1]} is not a whole number", place, f"it takes {low} .. {high}")
            return None
        if not low <= value <= high:
            self.fault(f"{place[-1]} = {value} is out of range", place, f"it takes {low} .. {high}")
            return None
        return value

    def seconds(self, place: Place, default: float) -> float | None:
        value = self.get(place)
        if value is None:
            return default
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 1 <= value <= 86400 * 30:
            self.fault(f"{place[-1]} is not a time in seconds", place, "it takes 1 .. 2592000")
            return None
        return float(value)
