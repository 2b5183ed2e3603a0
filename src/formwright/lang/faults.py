"""Collects the faults of one file, so that all are told at once."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from formwright.base.diagnostics import Diagnostic, nearest
from formwright.base.source import Span
from formwright.lang.limits import FAULTS, KNOWN_NAMES


class LineError(Exception):
    """The rest of a line cannot be read; the caller goes on with the next one."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


class FaultLimitError(Exception):
    """The limit on messages is reached."""


class Faults:
    """Messages in the order found, and names that a broken line may have declared."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []
        self.tolerated: set[str] = set()
        self.lost_headers = False

    def add(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self.items.append(Diagnostic(message, span, hint))
        if len(self.items) >= FAULTS:
            raise FaultLimitError

    def unknown(self, what: str, name: str, span: Span | None, known: Iterable[str]) -> None:
        """``what "name" is unknown`` with the nearest known name, once for each place."""
        if name not in self.tolerated:
            hint = nearest(name, islice(known, KNOWN_NAMES))
            self.add(f'{what} "{name}" is unknown', span, hint)

    @contextmanager
    def recovering(self, names: Iterable[str] = ()) -> Iterator[None]:
        """A :class:`LineError` inside is kept; ``names`` of the broken text are tolerated."""
        try:
            yield
        except LineError as fault:
            self.tolerated.update(names)
            found = fault.diagnostic
            self.add(found.message, found.span, found.hint)
