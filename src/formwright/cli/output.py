"""What every command shares: where text, JSON and errors go, and the exit status.

Results go to standard output; progress and errors to standard error. Exit status: 0 held,
1 refuted or not met, 2 bad input, 130 interrupted.
"""

import json
import sys
from typing import Any

from rich.console import Console

from formwright.base.diagnostics import InputError

HELD, NOT_MET, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def console() -> Console:
    """Standard output; rich drops colour when it is not a terminal."""
    return Console(soft_wrap=False, highlight=False)


def progress_console() -> Console:
    return Console(stderr=True, highlight=False)


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
