"""A journal that is still being written, read from outside: no lock, no write, whole lines only.

What a run has flushed is read once. A torn last line waits for its end; a run that goes on cuts it
off and writes it again, which changes nothing that was read here. A journal that was replaced by
another one (a new file, or new first entry in the old one) begins anew.
"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from formwright.report.pages.entries import Entry, entry_of, opened

LONGEST: Final = 64 << 20
"""Bytes of a line, above which a file is no journal of ours."""

_UNREADABLE: Final = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Read:
    """What came since the last look; with ``anew`` everything before it is void."""

    entries: tuple[Entry, ...]
    anew: bool


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Two looks with one stamp find the same bytes."""

    device: int
    inode: int
    size: int
    changed: int


@dataclass(slots=True)
class Follower:
    """How far ``path`` was read. Not for several threads at once."""

    path: Path
    head: str = ""
    """Tells this journal from another one at the same path; empty while there is no entry."""
    fault: str = ""
    """Why nothing more of this journal is read, in words."""
    trouble: str = ""
    """Why the last look read nothing; the next one tries again."""
    count: int = 0
    _stamp: _Stamp | None = None
    _first: bytes = b""
    _last: bytes = b""
    _places: list[tuple[int, int]] = field(default_factory=list)
    """Offset and length of the line of each entry, by number."""

    def look(self) -> Read:
        """Whole lines that were not read before. A file that is not there (yet) has none."""
        try:
            stamp = _stamp_of(self.path)
        except OSError:
            stamp = None
        if stamp == self._stamp:
            return Read((), False)
        if stamp is None:
            # The run may begin again in a moment; what is shown stays until it does.
            self._stamp = None
            return Read((), False)
        self.trouble, anew, entries = "", False, []
        try:
            with opened(self.path) as stream:
                anew = self._replaced(stream)
                if anew:
                    self._forget()
                for entry in self._rest(stream):
                    entries.append(entry)  # what came before a fault stays
        except _UNREADABLE as error:
            self.trouble = f"it cannot be read: {error}"
        self._stamp = None if self.trouble else stamp
        return Read(tuple(entries), anew)

    def line(self, number: int) -> str:
        """The text of entry ``number`` as it stands in the file; empty where there is none."""
        if not 0 <= number < len(self._places):
            return ""
        offset, length = self._places[number]
        try:
            with opened(self.path) as stream:
                stream.seek(offset)
                return bytes(stream.read(length)).decode(errors="replace")
        except _UNREADABLE:
            return ""

    @property
    def _offset(self) -> int:
        return sum(self._places[-1]) if self._places else 0

    def _replaced(self, stream: Any) -> bool:
        """Whether what was read before no longer stands where it stood."""
        if not self._places:
            return bool(self.fault)
        stream.seek(0)
        if stream.read(len(self._first)) != self._first:
            return True
        stream.seek(self._places[-1][0])
        return bool(stream.read(len(self._last)) != self._last)

    def _forget(self) -> None:
        self.head, self.fault, self.count = "", "", 0
        self._first, self._last = b"", b""
        self._places.clear()

    def _rest(self, stream: Any) -> Iterator[Entry]:
        stream.seek(self._offset)
        while not self.fault:
            line = stream.readline(LONGEST)
            if not line.endswith(b"\n"):
                if len(line) >= LONGEST:
                    self.fault = f"line {self.count + 1} is longer than {LONGEST >> 20} MiB"
                break
            entry = entry_of(line)
            if entry is None or entry.number != self.count:
                self.fault = f"line {self.count + 1} is not a journal entry"
                break
            self._places.append((self._offset, len(line)))
            self._last = line
            if not self.count:
                self._first = line
                self.head = sha256(line).hexdigest()[:12]
            self.count += 1
            yield entry


def _stamp_of(path: Path) -> _Stamp:
    found = os.stat(path)
    return _Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
