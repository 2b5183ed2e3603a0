"""What a journal belongs to: it goes on only for what it began with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from formwright.base.diagnostics import fail
from formwright.flow.journal import Journal

Kind = Literal["run", "study"]

_STEP: Final[dict[Kind, str]] = {"run": "problem", "study": "study"}
"""The first step of a journal, by kind."""


def identify(journal: Journal, kind: Kind, now: Mapping[str, Any], out: Path) -> None:
    """Begin ``journal`` with ``now``, or hold what it began with against it.

    Raises:
        InputError: ``out`` holds something else, or one that began with another value.
    """
    step = _STEP[kind]
    own = f"give this {kind} its own folder with --out"
    if journal.entries and journal.known(step) is None:
        raise fail(f"{out} holds another run", hint=own)
    then = journal.step(step, lambda: now)
    changed = sorted(k for k in now.keys() | then.keys() if then.get(k) != now.get(k))
    if changed:
        raise fail(f"{out} holds a {kind} with another {', another '.join(changed)}", hint=own)
