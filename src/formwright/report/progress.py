"""Progress of long work: what, how far, how long. Plain lines where there is no terminal."""

from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status


class Progress:
    """``stage`` says what is being done; ``done`` keeps a line about what came of it."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._start = monotonic()
        self._status: Status | None = None
        if console.is_terminal and not quiet:
            self._status = console.status("starting")

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

    def stage(self, text: str) -> None:
        """What is going on now; on a terminal it replaces the last one."""
        if self._status is not None:
            self._status.update(f"{self._elapsed()} {text}")

    def done(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self._console.print(f"{self._elapsed()} {text}", markup=False, soft_wrap=True)

    def _elapsed(self) -> str:
        return f"{monotonic() - self._start:6.1f} s"
