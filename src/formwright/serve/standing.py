"""Whether a run is at work, finished or neither: from the kernel's list of locks and its result."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from formwright.serve.folder import result_of, writer_of
from formwright.serve.tally import Tally

Word = Literal["not begun", "at work", "finished", "at rest", "unreadable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A word, and what it rests on."""

    word: Word
    says: str


def standing_of(
    journal: Path,
    tally: Tally,
    fault: str,
    last_seconds: float | None,
    held: frozenset[str] | None,
) -> Standing:
    """``held``: what :func:`locked` says; ``last_seconds``: when the last entry was written, in
    seconds since 1970."""
    if fault:
        return Standing("unreadable", fault)
    writer = writer_of(journal, held)
    if writer == "somebody":
        return Standing("at work", "a process of this machine holds the journal")
    if not tally.entries:
        return Standing("not begun", "the journal has no entry yet")
    result = result_of(journal)
    if journal.suffix == ".gz":
        return Standing("finished", "the journal was kept and packed")
    if result is not None and last_seconds is not None and result[1] >= last_seconds:
        return Standing("finished", f"{result[0]} was written after the last entry")
    if writer == "unknown":
        return Standing("at rest", "who writes the journal cannot be seen on this machine")
    return Standing(
        "at rest", "no process of this machine holds the journal; the same command goes on from it"
    )
