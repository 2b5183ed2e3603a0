"""What kind of thing a report is asked for, from what stands in the file or folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from formwright.base.diagnostics import InputError, fail, nearest
from formwright.lang.chain_sources import shipped_chains
from formwright.lang.sources import shipped
from formwright.report.pages.entries import JOURNALS, first_entry, journal_in, mapping, read_json

Kind = Literal[
    "run",
    "runs",
    "artifact",
    "codesign",
    "white-black",
    "growth",
    "transfer",
    "population",
    "proof",
    "chain proof",
    "template",
    "chain",
]

RECORD: Final = "record.json"
RESULT: Final = "result.json"
_STUDIES: Final[dict[str, Kind]] = {
    "white-black": "white-black",
    "growth": "growth",
    "transfer": "transfer",
}
_EXAMPLES: Final = (
    "give the folder of a run, a study or an artifact, a population, the JSON of `prove`,"
    " or the name of a template"
)


@dataclass(frozen=True, slots=True)
class Found:
    """``place``: the folder or file that the report is of; of a template or a chain ``name``,
    of a population its file or URL too, is what was asked for."""

    kind: Kind
    place: Path
    name: str


def find(subject: str) -> Found:
    """The kind of ``subject``: a path, a URL of a population, or the name of what ships.

    Raises ``InputError`` for what is none of them.
    """
    if "://" in subject:
        return Found("population", Path.cwd(), subject)
    place = Path(subject)
    if place.is_dir():
        return _folder(place, subject)
    if place.is_file():
        return _file(place, subject)
    if subject in shipped():
        return Found("template", Path.cwd(), subject)
    chains = {n: n for n in shipped_chains()} | {f"chains/{n}.toml": n for n in shipped_chains()}
    if subject in chains:
        return Found("chain", Path.cwd(), f"chains/{chains[subject]}.toml")
    hint = nearest(subject, (*shipped(), *chains)) or _EXAMPLES
    raise fail(f"{subject}: no such file, folder or template", hint=hint)


def _folder(place: Path, subject: str) -> Found:
    if (place / RECORD).is_file():
        return Found("artifact", place, subject)
    journal = journal_in(place)
    if journal is not None:
        return Found(_kind(journal), place, subject)
    if (place / RESULT).is_file():
        return Found(_study(mapping(read_json(place / RESULT)), place), place, subject)
    if any(runs_in(place)):
        return Found("runs", place, subject)
    raise fail(f"{place} holds no journal and no record.json", hint=_EXAMPLES)


def runs_in(place: Path) -> tuple[tuple[Path, ...], dict[str, str]]:
    """The folders of runs in ``place``, as ``run`` with several problems writes them; and those
    by name, with why, whose journal cannot be read."""
    found: list[Path] = []
    unread: dict[str, str] = {}
    for folder in sorted(p for p in place.iterdir() if p.is_dir()):
        journal = journal_in(folder)
        if journal is None:
            continue
        try:
            if _kind(journal) == "run":
                found.append(folder)
        except InputError as error:
            unread[folder.name] = error.diagnostics[0].message
    return tuple(found), unread


def _kind(journal: Path) -> Kind:
    first = first_entry(journal)
    if first is None:
        raise fail(f"{journal} has no entry yet", hint="wait for the first step of the run")
    if first.key == "problem":
        return "run"
    if first.key == "study":
        return _study(mapping(first.data), journal)
    raise fail(f"{journal} begins with {first.key!r}: not a journal of a run or a study")


def _study(data: Mapping[str, Any], place: Path) -> Kind:
    """Of the first entry of a journal, or of a result."""
    named = _STUDIES.get(str(data.get("study")))
    if named is not None:
        return named
    if "library" in data:
        return "codesign"
    raise fail(f"{place}: of no study that a report is made of", hint=_EXAMPLES)


def _file(place: Path, subject: str) -> Found:
    match place.suffix:
        case ".fw":
            return Found("template", place.parent, subject)
        case ".toml":
            return Found("chain", place.parent, subject)
        case ".json":
            return _json(place, subject)
    if place.name in JOURNALS:
        return _folder(place.parent, str(place.parent))
    with place.open("rb") as stream:
        if stream.read(16).startswith(b"SQLite format 3"):
            return Found("population", place.parent, subject)
    raise fail(f"{place}: nothing that a report is made of", hint=_EXAMPLES)


def _json(place: Path, subject: str) -> Found:
    if place.name == RECORD:
        return Found("artifact", place.parent, str(place.parent))
    whole = read_json(place)
    if "obligations" in whole and "template" in whole:
        return Found("proof", place, subject)
    if "steps" in whole and "chain" in whole:
        return Found("chain proof", place, subject)
    known = json.dumps(sorted(whole)[:8])
    raise fail(f"{place} is no proof: it has {known}", hint="write one with `prove NAME --json`")
