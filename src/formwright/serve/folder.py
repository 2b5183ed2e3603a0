"""Which journals lie in a folder, and whether somebody is writing one: looked up, never locked."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

NAMES: Final = ("journal.jsonl", "journal.jsonl.gz")
DEEPEST: Final = 4
"""Folders below the one that is served: a study of runs has its journals three below."""
MOST: Final = 500

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
    for name, path in _walk(folder, "", 0):
        found[name] = path
        if len(found) == MOST:
            break
    return found


def _walk(folder: Path, name: str, depth: int) -> Iterator[tuple[str, Path]]:
    try:
        inside = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    inside = [each for each in inside if _readable(each.name)]
    files = {each.name for each in inside if each.is_file(follow_symlinks=False)}
    kept = next((each for each in NAMES if each in files), None)
    if kept is not None:
        yield name, folder / kept
    if depth == DEEPEST:
        return
    for each in inside:
        if each.is_dir(follow_symlinks=False) and each.name not in _OTHERS:
            below = f"{name}/{each.name}" if name else each.name
            yield from _walk(folder / each.name, below, depth + 1)


def _readable(name: str) -> bool:
    """Whether a browser can ask for it: names that are not UTF-8 have no address."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def writer_of(journal: Path) -> Writer:
    """Whether a process of this machine holds the journal's lock, by the kernel's own list.

    To try the lock would turn a run away that begins at that moment.
    """
    try:
        stat = os.stat(journal)
        listed = _LOCKS.read_text()
    except OSError:
        return "unknown"
    place = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
    held = (line.split() for line in listed.splitlines())
    return "somebody" if any("FLOCK" in words and place in words for words in held) else "nobody"


def result_of(journal: Path) -> tuple[str, float] | None:
    """The file that a run writes at its end, with the seconds since 1970 of its last change."""
    for name in _RESULTS:
        try:
            return name, (journal.parent / name).stat().st_mtime
        except OSError:
            continue
    return None
