"""Journals and JSON files as a report reads them: without a lock, without trust, with origins.

A page is made of files that another process may be writing, that were packed away, or that
somebody changed: a torn last line is left out, and what is not as expected reads as missing.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from formwright.base.diagnostics import fail
from formwright.report.page import Origin

JOURNALS: Final = ("journal.jsonl", "journal.jsonl.gz")
MOST_BYTES: Final = 1 << 29
"""Of a journal, unpacked: a small file can unpack to any size."""

MOST_TEXT: Final = 400_000
"""Characters of entries that a page carries; figures of later ones lead to the file alone."""
MOST_ENTRY: Final = 12_000
"""Of one entry: longer lists of it are shown by their first items."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal: ``number`` counts from 0, ``time`` is when the step was done (UTC)."""

    number: int
    key: str
    time: str
    data: Any


def journal_in(folder: Path) -> Path | None:
    """The journal of ``folder``, packed or not."""
    return next((folder / name for name in JOURNALS if (folder / name).is_file()), None)


def opened(path: Path) -> BinaryIO:
    """A journal's bytes, packed or not."""
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The whole lines of a journal; a last line without an end is one that is being written.

    Raises ``InputError`` for a file that cannot be read or whose lines are no entries in order.
    """
    found: list[Entry] = []
    for number, line in enumerate(_lines(path)):
        entry = entry_of(line)
        if entry is None or entry.number != number:
            raise _disordered(path, number + 1)
        found.append(entry)
    return tuple(found)


def first_entry(path: Path) -> Entry | None:
    """The first line of a journal, without reading the rest; ``None`` where there is none yet."""
    try:
        with opened(path) as stream:
            line = stream.readline(1 << 20)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if not line.endswith(b"\n"):
        return None
    entry = entry_of(line)
    if entry is None:
        raise _disordered(path, 1)
    return entry


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with opened(path) as stream:
            text = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if len(text) > MOST_BYTES:
        raise fail(f"{path} has more than {MOST_BYTES >> 20} MiB", hint="give a smaller run")
    yield from text[: text.rfind(b"\n") + 1].splitlines()


def _disordered(path: Path, line: int) -> Exception:
    return fail(
        f"{path}, line {line}: not an entry of a journal, or out of order",
        hint="the file was changed by hand; give the folder that the command wrote",
    )


def _unreadable(path: Path, error: Exception) -> Exception:
    told = getattr(error, "strerror", None) or str(error)
    return fail(f"cannot read {path}: {told}", hint="give a folder that a command wrote")


def entry_of(line: bytes) -> Entry | None:
    """The entry that a line of a journal is; ``None`` for what is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "data" not in data:
        return None
    number, key = data.get("number"), data.get("key")
    if not isinstance(number, int) or not isinstance(key, str):
        return None
    return Entry(number, key, str(data.get("time", "")), data["data"])


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises ``InputError`` for anything else."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(value, dict):
        raise fail(f"{path} is not a JSON object", hint="give a file that a command wrote")
    return value


def text_within(folder: Path, name: str) -> str:
    """A file of ``folder`` as text; empty where there is none, or a link leads out of it: a page
    is passed on, and what a folder from elsewhere points at is not to go with it."""
    try:
        path = (folder / name).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()):
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """``value`` if it is a list of JSON, else an empty one."""
    return value if isinstance(value, list) else ()


def at(value: Any, *path: str) -> Any:
    """What stands below ``value`` at ``path``; ``None`` where there is nothing."""
    for name in path:
        value = mapping(value).get(name)
    return value


def number(value: Any, *path: str) -> float | None:
    """The finite number at ``path``; ``None`` where there is none."""
    found = at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        as_float = float(found)
    except OverflowError:
        return None
    return as_float if isfinite(as_float) else None


def words(value: Any, *path: str) -> str:
    """What stands at ``path`` as text; empty where there is nothing."""
    found = at(value, *path)
    return "" if found is None else str(found)


class Book:
    """The journal of a folder, and which parts of files a page leads to.

    ``folder`` is what the report is of; ``within`` the folder of the journal relative to it.
    """

    def __init__(self, entries: Sequence[Entry], file: str = JOURNALS[0], within: str = "") -> None:
        self.entries = tuple(entries)
        self.file = f"{within}/{file}" if within else file
        self.within = within
        self._by_key = {e.key: e for e in entries}
        self._texts: dict[Origin, str] = {}
        self._asked: set[Origin] = set()
        self._size = 0

    def keys(self, prefix: str) -> list[str]:
        """Keys that begin with ``prefix``, in the order of the journal."""
        return [e.key for e in self.entries if e.key.startswith(prefix)]

    def has(self, key: str) -> bool:
        return key in self._by_key

    def place(self, key: str) -> int:
        """How many entries stand before ``key``, which is there."""
        return self._by_key[key].number

    def data(self, key: str) -> Any:
        """What the step ``key`` gave; ``None`` where there is no such entry."""
        entry = self._by_key.get(key)
        return None if entry is None else entry.data

    def origin(self, key: str) -> Origin | None:
        """Where the entry ``key`` stands; ``None`` where there is none. Its text joins the page."""
        entry = self._by_key.get(key)
        if entry is None:
            return None
        return self._kept(Origin(self.file, key), entry.data)

    def part(self, file: str, whole: Any, *path: str) -> Origin:
        """The place ``path`` in the JSON file ``file``, whose content is ``whole``."""
        pointer = "".join(f"/{_escaped(name)}" for name in path)
        name = f"{self.within}/{file}" if self.within else file
        return self._kept(Origin(name, pointer), at(whole, *path))

    def add(self, other: "Book") -> None:
        """The texts of another book of the same page join this one."""
        for origin, text in other._texts.items():
            self._put(origin, text)

    def texts(self) -> dict[Origin, str]:
        """JSON text by origin, as a page carries it."""
        return dict(self._texts)

    def _kept(self, origin: Origin, value: Any) -> Origin:
        if origin not in self._asked and self._size < MOST_TEXT - MOST_ENTRY:
            self._asked.add(origin)
            self._put(origin, shortened(value))
        return origin

    def _put(self, origin: Origin, text: str) -> None:
        if origin not in self._texts and self._size + len(text) <= MOST_TEXT:
            self._texts[origin] = text
            self._size += len(text)


def shortened(value: Any, most: int = MOST_ENTRY) -> str:
    """JSON text of at most about ``most`` characters; what was left out is said in its place."""
    try:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        keep = 64
        while len(text) > most and keep >= 1:
            cut = _cut(value, keep, 4000 if keep > 4 else 400)
            text = json.dumps(cut, indent=1, sort_keys=True, ensure_ascii=False)
            keep //= 2
    except RecursionError:
        return json.dumps("(lists in lists too deep to be shown: see the file)")
    return text if len(text) <= 2 * most else json.dumps("(too long: see the file)")


def _cut(value: Any, keep: int, characters: int) -> Any:
    match value:
        case dict():
            shown = {k: _cut(v, keep, characters) for k, v in list(value.items())[: 4 * keep]}
            rest = len(value) - len(shown)
            return shown | ({"…": f"{rest} more in the file"} if rest else {})
        case list():
            shown_items = [_cut(v, keep, characters) for v in value[:keep]]
            rest = len(value) - len(shown_items)
            return [*shown_items, *([f"… {rest} more in the file"] if rest else [])]
        case str() if len(value) > characters:
            return f"{value[:characters]}… {len(value) - characters} more characters in the file"
        case _:
            return value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
