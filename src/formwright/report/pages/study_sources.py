"""What a study has left in its folder, and which of it a page cites."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import fail
from formwright.report.page import Origin
from formwright.report.pages.entries import (
    Book,
    Entry,
    journal_in,
    mapping,
    read_entries,
    read_json,
)

RESULT: Final = "result.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """``entries`` of the journal, none where it is not there; ``book`` knows what is cited."""

    folder: Path
    result: Mapping[str, Any]
    entries: tuple[Entry, ...]
    book: Book

    def data(self, number: int | None) -> Any:
        """What the journal has at a number; ``None`` where it has nothing."""
        if number is None or not 0 <= number < len(self.entries):
            return None
        return self.entries[number].data

    def entry(self, number: int | None) -> Origin | None:
        """The origin of a figure that came with an entry of the journal."""
        if number is None or not 0 <= number < len(self.entries):
            return None
        return self.book.origin(self.entries[number].key)

    def at(self, *path: str) -> Origin:
        """The origin of a figure that stands in ``result.json``."""
        return self.book.part(RESULT, self.result, *path)

    def keyed(self, key: str) -> int | None:
        """The number of the entry with a key."""
        return next((e.number for e in self.entries if e.key == key), None)

    @property
    def made(self) -> str:
        """By which version, from which folder, when the work was done."""
        if not self.entries:
            return f"from {self.folder.name}; no journal is kept beside the result"
        version = mapping(self.entries[0].data).get("version", "?")
        first, last = self.entries[0].time[:16], self.entries[-1].time[:16]
        when = f"{first.replace('T', ' ')} to {last.replace('T', ' ')} UTC"
        return f"formwright {version}, folder {self.folder.resolve().name}, {when}"


def read_kept(folder: Path) -> Kept:
    """The result of a study with its journal, plain or packed.

    Raises:
        InputError: there is no result yet, or a file is not what a study wrote.
    """
    if not (folder / RESULT).is_file():
        raise fail(
            f"{folder} has no {RESULT}: the study has not come to its end",
            hint="give its command again: it goes on where it stopped",
        )
    result = read_json(folder / RESULT)
    journal = journal_in(folder)
    entries = () if journal is None else read_entries(journal)
    brief = [replace(e, data=excerpt(e.data)) for e in entries]
    return Kept(folder, result, entries, Book(brief, "" if journal is None else journal.name))


def excerpt(data: Any) -> Any:
    """An entry's data without what other entries have too: a round of a relaxation repeats all
    rounds before it, and every question that was asked."""
    if not isinstance(data, dict) or not {"rounds", "queries", "purchases"} <= data.keys():
        return data
    brief = {k: v for k, v in data.items() if k not in ("queries", "purchases")}
    for name in ("rounds", "visited"):
        brief[name] = data[name][-1:]
    brief["…"] = f"earlier rounds, {len(data['queries'])} inner problems: see the file"
    return brief
