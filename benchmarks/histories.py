"""Recorded histories of templates: a base and edits on top of one another, as TOML.

Each edit has a class, a reason, and ``change`` (pairs of texts, the first of which stands once in
the version before) or ``rename`` (pairs of words). A folder of whole ``.fw`` files, in the order of
their names, is a history as well; a line ``# class: WORD`` in a file says what it is.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).resolve().parent / "history"
CLASSES = (
    "base",
    "program",
    "constraints",
    "cost",
    "menus",
    "renames",
    "reordering",
    "fault",
    "repair",
)


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a template with what was done to reach it."""

    name: str
    kind: str
    text: str


def load_history(folder: Path = HISTORY) -> list[Version]:
    """All versions of a folder: of its ``.toml`` files, or of its ``.fw`` files if it has none."""
    recorded = sorted(folder.glob("*.toml"))
    if not recorded:
        return [_whole(path) for path in sorted(folder.glob("**/*.fw"))]
    return [version for path in recorded for version in _replayed(path)]


def _whole(path: Path) -> Version:
    text = path.read_text(encoding="utf-8")
    found = re.search(r"#\s*class:\s*(\S+)", text)
    return Version(path.stem, found[1] if found else "edit", text)


def _replayed(path: Path) -> list[Version]:
    record = tomllib.loads(path.read_text(encoding="utf-8"))
    text = (path.parent / record["base"]).read_text(encoding="utf-8")
    found = [Version(f"{path.stem}/00", "base", text)]
    for number, edit in enumerate(record["edit"], 1):
        name = f"{path.stem}/{number:02}"
        text = _edited(name, text, edit)
        found.append(Version(name, edit["class"], text))
    return found


def _edited(name: str, text: str, edit: dict[str, Any]) -> str:
    for old, new in edit.get("change", ()):
        if text.count(old) != 1:
            raise ValueError(
                f"{name}: {old!r} stands {text.count(old)} times in the version before"
            )
        text = text.replace(old, new)
    for old, new in edit.get("rename", ()):
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text
