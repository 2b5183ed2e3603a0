"""What every command shares: where text, JSON and errors go, and the exit status.

Results go to standard output; progress and errors to standard error. Exit status: 0 held,
1 refuted or not met, 2 bad input, 130 interrupted.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from formwright.base.diagnostics import InputError

# rich takes as long to import as a kept proof to read: only what draws with it loads it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

HELD, NOT_MET, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def console() -> "Console":
    """Standard output; rich drops colour when it is not a terminal."""
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False, emoji=False)


def progress_console() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """A function that says what is going on now; nothing is drawn before its first call."""
    shown: Status | None = None
    with ExitStack() as stack:

        def say(text: str) -> None:
            nonlocal shown
            if shown is None:
                shown = stack.enter_context(progress_console().status(text))
            shown.update(text)

        yield say


def emit_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, keys in order."""
    json.dump(value, sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")


def report_error(error: InputError, as_json: bool) -> None:
    """The message on standard error; with ``--json`` also as data on standard output."""
    print(str(error), file=sys.stderr)
    if as_json:
        emit_json({"schema": 1, "error": [_plain(d) for d in error.diagnostics]})


def _plain(diagnostic: Any) -> dict[str, Any]:
    span = diagnostic.span
    place = {} if span is None else {"file": span.file, "line": span.line, "column": span.column}
    return {"message": diagnostic.message, "hint": diagnostic.hint, **place}
