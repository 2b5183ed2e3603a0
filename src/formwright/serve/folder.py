"""Which journals lie in a folder, and whether somebody is writing one: looked up, never locked."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from formwright.report.pages.entries import JOURNALS

DEEPEST: Final = 4
"""Folders below the one that is served: a study of runs has its journals three below."""
MOST: Final = 500
MOST_FOLDERS: Final = 20_000
"""Folders that are looked into: a home with everything in it must not be walked for ever."""

_OTHERS: Final = frozenset(("build", "artifacts", "report", "__pycache__"))
"""Folders of a run in which no run lies."""

_LOCKS: Final = Path("/proc/locks")

Writer = Literal["somebody", "nobody", "unknown"]

_RESULTS: Final = ("artifacts/dispatch.json", "result.json", "ran.json")
"""What is written once all steps are done, by a run, a study, a run within a study."""


def journals(folder: Path) -> dict[str, Path]:
    """Journals in and below ``folder`` by the name of their folder, as far as :data:`MOST`.

    The name is relative to ``folder``, and empty for its own journal. Links are not followed.
    """
    found: dict[str, Path] = {}
    for name, path in islice(_walk(folder, "", 0, iter(range(MOST_FOLDERS))), MOST):
        found[name] = path
    return found


def _walk(folder: Path, name: str, depth: int, left: Iterator[int]) -> Iterator[tuple[str, Path]]:
    """``left`` counts the folders that may still be looked into, of all levels."""
    if next(left, None) is None:
        return
    try:
        inside = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    inside = [each for each in inside if _readable(each.name)]
    files = {each.name for each in inside if each.is_file(follow_symlinks=False)}
    kept = next((each for each in JOURNALS if each in files), None)
    if kept is not None:
        yield name, folder / kept
    if depth == DEEPEST:
        return
    for each in inside:
        if each.is_dir(follow_symlinks=False) and each.name not in _OTHERS:
            below = f"{name}/{each.name}" if name else each.name
            yield from _walk(folder / each.name, below, depth + 1, left)


def _readable(name: str) -> bool:
    """Whether a browser can ask for it: names that are not UTF-8 have no address."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def locked() -> frozenset[str] | None:
    """The files of this machine that a process has locked, by the kernel's own list; ``None``
    where that cannot be read."""
    try:
        listed = _LOCKS.read_text()
    except OSError:
        return None
    held = (line.split() for line in listed.splitlines())
    return frozenset(words[5] for words in held if len(words) > 5 and words[1] == "FLOCK")


def writer_of(journal: Path, held: frozenset[str] | None) -> Writer:
    """Whether a process holds the journal's lock, by what :func:`locked` says.

    To try the lock would turn a run away that begins at that moment.
    """
    try:
        stat = os.stat(journal)
    except OSError:
        return "unknown"
    if held is None:
        return "unknown"
    place = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
    return "somebody" if place in held else "nobody"


def result_of(journal: Path) -> tuple[str, float] | None:
    """The file that a run writes at its end, with the seconds since 1970 of its last change."""
    for name in _RESULTS:
        try:
            return name, (journal.parent / name).stat().st_mtime
        except OSError:
            continue
    return None
