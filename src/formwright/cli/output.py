"""What every command shares: where text, JSON and errors go, and the exit status.

Results go to standard output; progress and errors to standard error. Exit status: 0 held,
1 refuted or not met, 2 bad input, 130 interrupted.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TextIO

import typer

from formwright.base.diagnostics import InputError

# rich takes as long to import as a kept proof to read: only what draws with it loads it.
if TYPE_CHECKING:
    from rich.console import Console

    from formwright.report.progress import Progress

HELD, NOT_MET, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress: the result alone.")]
"""Every command has both. With the second nothing goes to standard error unless it fails."""


class Say(Protocol):
    """What is going on now, as a listener's ``stage``."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None: ...


def console() -> "Console":
    """Standard output; rich drops colour when it is not a terminal."""
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False, emoji=False)


def progress_console() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def status_line(quiet: bool = False) -> Iterator[Say]:
    """A function that says what is going on now; nothing is drawn before its first call."""
    shown: Progress | None = None
    with ExitStack() as stack:

        def say(text: str, done: int = 0, total: int = 0) -> None:
            nonlocal shown
            if quiet:
                return
            if shown is None:
                from formwright.report.progress import Progress

                shown = stack.enter_context(Progress(progress_console()))
            shown.stage(text, done, total)

        yield say


def emit_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, keys in order."""
    json.dump(value, sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")


def told(text: str, stream: TextIO) -> str:
    """``text`` for ``stream``; what files and agents say is no order to a terminal."""
    if not stream.isatty():
        return text
    from formwright.report.html.escaped import visible

    return visible(text)


def report_error(error: InputError, as_json: bool) -> None:
    """The message on standard error; with ``--json`` also as data on standard output."""
    print(told(str(error), sys.stderr), file=sys.stderr)
    if as_json:
        emit_json({"schema": 1, "error": [_plain(d) for d in error.diagnostics]})


def emit_failure(message: str, hint: str = "") -> None:
    """A fault that has no place in a file, as data on standard output."""
    emit_json({"schema": 1, "error": [{"message": message, "hint": hint}]})


def _plain(diagnostic: Any) -> dict[str, Any]:
    span = diagnostic.span
    place = {} if span is None else {"file": span.file, "line": span.line, "column": span.column}
    return {"message": diagnostic.message, "hint": diagnostic.hint, **place}
