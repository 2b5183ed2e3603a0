"""Collects the faults of one file, so that all are told at once."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from formwright.base.diagnostics import Diagnostic, nearest
from formwright.base.source import Span
from formwright.lang.limits import FAULTS, KNOWN_NAMES, SEARCHES


class LineError(Exception):
    """The rest of a line cannot be read; the caller goes on with the next one."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


class FaultLimitError(Exception):
    """The limit on messages is reached."""


class Faults:
    """Messages in the order found, and what they make unsure.

    ``tolerated`` names may be declared on a line that was not read; ``lost_headers`` says
    that blocks are missing; on ``unclear_lines`` a sign was not read, so what the parser
    misses there is not told again.
    """

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []
        self.tolerated: set[str] = set()
        self.lost_headers = False
        self.unclear_lines: set[int] = set()
        self._searches = SEARCHES

    def add(self, message: str, span: Span | None, hint: str | None = None) -> None:
        self.items.append(Diagnostic(message, span, hint))
        if len(self.items) >= FAULTS:
            raise FaultLimitError

    def unknown(self, what: str, name: str, span: Span | None, known: Iterable[str]) -> None:
        """``what "name" is unknown`` with the nearest known name, once for each place."""
        if name not in self.tolerated:
            self.add(f'{what} "{name}" is unknown', span, self.nearest(name, known))

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """As :func:`formwright.base.diagnostics.nearest`, with bounded work (rule L3)."""
        self._searches -= 1
        return nearest(name, islice(known, KNOWN_NAMES)) if self._searches >= 0 else None

    @contextmanager
    def recovering(self, names: Iterable[str] = ()) -> Iterator[None]:
        """A :class:`LineError` inside is kept; ``names`` of the broken text are tolerated."""
        try:
            yield
        except LineError as fault:
            self.tolerated.update(names)
            found = fault.diagnostic
            if found.span is None or found.span.line not in self.unclear_lines:
                self.add(found.message, found.span, found.hint)


def counted(count: int, one: str, many: str = "") -> str:
    """``1 index``, ``2 indices``."""
    return f"{count} {one if count == 1 else many or one + 's'}"
