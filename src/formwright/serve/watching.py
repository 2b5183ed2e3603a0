"""One run as it is seen now, for everybody who looks: read once, drawn once for each change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from formwright.serve.drawing import section_html
from formwright.serve.folder import journals, locked
from formwright.serve.follow import Follower
from formwright.serve.sections import moment, sections_of
from formwright.serve.standing import Standing, standing_of
from formwright.serve.tally import Tally

FRESH: Final = 0.2
"""Seconds for which what was seen is what there is: however many look, a file is read so often."""
WALKED: Final = 1.0


@dataclass(frozen=True, slots=True)
class View:
    """``mark`` differs whenever anything else does, also between two starts of the server."""

    mark: str
    head: str
    standing: Standing
    tally: Tally
    parts: Mapping[str, str]
    """HTML by section, in order."""


@dataclass(slots=True)
class Locks:
    """The kernel's list of locks, read once for all runs that are looked at together."""

    read: float = -inf
    found: frozenset[str] | None = None

    def held(self) -> frozenset[str] | None:
        if monotonic() - self.read >= FRESH:
            self.found, self.read = locked(), monotonic()
        return self.found


@dataclass(slots=True)
class Watched:
    """The journal of one run, and what was last drawn of it."""

    name: str
    follower: Follower
    locks: "Locks"
    tally: Tally = field(default_factory=Tally)
    view: View | None = None
    looked: float = -inf
    lock: Lock = field(default_factory=Lock)

    def look(self) -> View:
        """What there is to see now, or was a moment ago; several threads may ask."""
        with self.lock:
            if self.view is not None and monotonic() - self.looked < FRESH:
                return self.view
            self.looked = monotonic()
            read = self.follower.look()
            if read.anew:
                self.tally = Tally()
            for entry in read.entries:
                self.tally.add(entry)
            standing = standing_of(
                self.follower.path,
                self.tally,
                self.follower.fault or self.follower.trouble,
                _seconds(self.tally.last),
                self.locks.held(),
            )
            word = standing.word.replace(" ", "-")
            mark = f"{self.follower.head or '-'}.{self.follower.count}.{word}"
            if self.view is None or self.view.mark != mark:
                self.view = self._drawn(mark, standing)
            return self.view

    def line(self, number: int) -> str:
        """The text of one entry, empty where there is none."""
        with self.lock:
            return self.follower.line(number)

    def _drawn(self, mark: str, standing: Standing) -> View:
        sections = sections_of(self.tally, standing, self.follower.path.name)
        parts = {s.key: section_html(s, self.name) for s in sections}
        return View(mark, self.follower.head, standing, self.tally, parts)


def _seconds(time: str) -> float | None:
    try:
        return moment(time).timestamp() if time else None
    except ValueError:
        return None


@dataclass(slots=True)
class Watch:
    """A folder with its runs; one that begins later is found when it is asked for."""

    folder: Path
    known: dict[str, Watched] = field(default_factory=dict)
    locks: Locks = field(default_factory=Locks)
    walked: float = -inf
    lock: Lock = field(default_factory=Lock)

    def runs(self, fresh: float = WALKED) -> dict[str, Watched]:
        """All runs there are, by name, as they were ``fresh`` seconds ago at most."""
        with self.lock:
            if monotonic() - self.walked < fresh:
                return dict(sorted(self.known.items()))
            found = journals(self.folder)
            for name, path in found.items():
                had = self.known.get(name)
                if had is None or had.follower.path != path:
                    self.known[name] = Watched(name, Follower(path), self.locks)
            for name in self.known.keys() - found.keys():
                # A run that begins again takes its journal away first: what was seen stays.
                if not self.known[name].follower.path.parent.is_dir():
                    del self.known[name]
            self.walked = monotonic()
            return dict(sorted(self.known.items()))

    def run(self, name: str) -> Watched | None:
        """The run called ``name``; only names that were found in the folder are ones."""
        return self.known.get(name) or self.runs(fresh=0.0).get(name)
