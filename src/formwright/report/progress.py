"""Progress of long work: what, how far, how long. Plain lines where there is no terminal.

How long the rest takes is said where it can be said honestly: of pieces that are alike, once some
were done. Obligations of a proof, or rounds of a search, are not alike, and get no estimate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

LINE_EVERY: Final = 10.0
"""Seconds between two lines about what is going on, where there is no terminal."""

INSTANT: Final = 0.02
"""Seconds below which a piece was not done but found in a journal: it tells nothing of others."""

ENOUGH: Final = 2
"""Pieces that must be done before the rest is estimated."""


@dataclass(slots=True)
class Pieces:
    """How far work in ``total`` pieces that are alike is; times in seconds."""

    total: int
    done: int
    since: float
    """When the piece that is being done was begun."""
    timed: int = 0
    spent: float = 0.0

    def at(self, done: int, now: float) -> None:
        """``done`` pieces are done at ``now``."""
        fresh, took = done - self.done, now - self.since
        if took >= INSTANT * fresh:
            self.timed += fresh
            self.spent += took
        self.done, self.since = done, now

    def rest(self, now: float) -> float | None:
        """Seconds until all are done, from the mean of those that were; ``None``: not known."""
        if self.timed < ENOUGH or self.done >= self.total:
            return None
        each = self.spent / self.timed
        return max(0.0, each * (self.total - self.done) - (now - self.since))


class Progress:
    """``stage`` says what is being done; ``done`` keeps a line about what came of it."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self._start = clock()
        self._said = self._start
        self._text = "starting"
        self._pieces: Pieces | None = None
        self._status: Status | None = None
        if console.is_terminal and not console.is_dumb_terminal and not quiet:
            self._status = console.status(_Now(self))

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def stage(self, text: str, done: int = 0, total: int = 0) -> None:
        """What is going on now; on a terminal it replaces the last one.

        With a ``total`` this is one of so many pieces that are alike, and ``done`` were done
        before it.
        """
        now = self._clock()
        self._text = text
        self._count(done, total, now)
        if self._status is None and not self._quiet and now - self._said >= LINE_EVERY:
            self._line(self.now())

    def done(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self._line(f"{self._elapsed()} {text}")

    def now(self) -> str:
        """How long, how far (with how long the rest takes, where that is known), what.

        In this order, so that a narrow terminal cuts the names and not the figures.
        """
        far = self._pieces
        if far is None:
            return f"{self._elapsed()} {self._text}"
        rest = far.rest(self._clock())
        left = "" if rest is None else f", about {shown_rest(rest)} left"
        return f"{self._elapsed()} {far.done} of {far.total} done{left}: {self._text}"

    def _count(self, done: int, total: int, now: float) -> None:
        if total <= 1:
            self._pieces = None
        elif self._pieces is None or self._pieces.total != total or done < self._pieces.done:
            self._pieces = Pieces(total, done, now)
        elif done > self._pieces.done:
            self._pieces.at(done, now)

    def _line(self, text: str) -> None:
        self._said = self._clock()
        self._console.print(text, markup=False, soft_wrap=True)

    def _elapsed(self) -> str:
        return f"{self._clock() - self._start:6.1f} s"


class _Now:
    """Drawn again by the terminal several times a second, so that the seconds go on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich__(self) -> Text:
        return Text(self._progress.now(), no_wrap=True, overflow="ellipsis")


def shown_rest(seconds: float) -> str:
    """Rounded: an estimate is not known to the second."""
    if seconds < 60:
        return f"{round(seconds / 5) * 5 if seconds > 10 else max(1, round(seconds))} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
