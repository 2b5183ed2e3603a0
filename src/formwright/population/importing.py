"""An export read back, perhaps from strangers: texts are parsed and proved here, none is believed.

Digests, signatures and niches are computed anew; a proof that the files tell of admits nothing.
Figures, designs and counterexamples come in marked as imported.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, fail
from formwright.population.entries import LANGUAGES, Entry, Origin, Step
from formwright.population.export import INDEX, SCHEMA, TEXTS
from formwright.population.plain import (
    DESIGN,
    FACT,
    HELD,
    MET,
    STEP,
    Reading,
    Seen,
    checked,
    design_from,
    fact_from,
    held_from,
    met_from,
    step_from,
)
from formwright.population.settling import Prove, settle
from formwright.population.store import Population
from formwright.population.texts import described

FILE_BYTES = 16 << 20
"""The largest file that is read."""
FOLDERS = 100_000

_NAMED: dict[str, tuple[dict[str, str], Callable[[Any], Seen]]] = {
    "facts": (FACT, fact_from),
    "designs": (DESIGN, design_from),
    "structures": (HELD, held_from),
    "counterexamples": (MET, met_from),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One folder of an export: the text and what was told with it."""

    folder: str
    language: str
    name: str
    text: str
    interface: str
    place: str
    steps: tuple[Step, ...]
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of each text: admitted here, put on the shelf, or known before."""

    admitted: tuple[Entry, ...]
    shelved: tuple[Entry, ...]
    known: tuple[Entry, ...]


def import_population(
    population: Population,
    folder: Path,
    prove: Prove,
    progress: Callable[[str], None] = lambda _: None,
) -> Imported:
    """Takes an export in. Each text that was admitted elsewhere is proved here by ``prove``.

    Raises ``InputError`` with every fault of the files before anything is taken in.
    """
    found = read_export(folder)
    before = {e.digest: e for e in population.entries()}
    admitted, shelved, known = list[Entry](), list[Entry](), list[Entry]()
    for number, one in enumerate(found, 1):
        progress(f"{number}/{len(found)} {one.name}")
        entry = _taken(population, one)
        told = before.get(entry.digest)
        if told is not None and (told.admitted or one.place != "admitted"):
            known.append(entry)
            continue
        if one.place == "admitted":
            entry = settle(population, entry.digest, prove, "import").entry
        (admitted if entry.admitted else shelved).append(entry)
    for one in found:
        population.record(*one.seen)
    return Imported(tuple(admitted), tuple(shelved), tuple(known))


def _taken(population: Population, one: Found) -> Entry:
    entry = population.add_template(
        one.text,
        language=one.language,  # type: ignore[arg-type]
        name=one.name,
        interface=one.interface,
        reason="imported, not proved here",
    )
    for step in one.steps:
        parents = (step.parent,) if step.parent else ()
        origin = Origin(step.proposer, step.rule, parents, step.why, step.run)
        population.descend(entry.digest, origin)
    return entry


def read_export(folder: Path) -> tuple[Found, ...]:
    """Every folder of an export. Raises ``InputError`` with all faults of all files."""
    if not (folder / INDEX).is_file():
        raise fail(f"{folder} is no export: it has no {INDEX}", hint="formwright population export")
    faults: list[Diagnostic] = []
    _json(folder / INDEX, Reading(INDEX, faults))
    templates = folder / "templates"
    names = sorted(p.name for p in templates.iterdir()) if templates.is_dir() else []
    found = []
    if len(names) > FOLDERS:
        raise fail(f"{folder} has more than {FOLDERS} folders", hint="split the export")
    for name in names:
        one = _folder(templates / name, f"templates/{name}", faults)
        if one is not None:
            found.append(one)
    if faults:
        raise InputError(faults)
    return tuple(found)


def _folder(path: Path, shown: str, faults: list[Diagnostic]) -> Found | None:
    reading = Reading(f"{shown}/entry.json", faults)
    data = _json(path / "entry.json", reading)
    if data is None:
        return None
    told = dict[str, str]()
    for key in ("digest", "language", "name", "interface", "place"):
        value = data.get(key)
        if not isinstance(value, str):
            reading.fault(key, "a text is needed")
            return None
        told[key] = value
    language = told["language"]
    if language not in LANGUAGES:
        reading.fault("language", f"none of {', '.join(LANGUAGES)}")
        return None
    text = _text(path / TEXTS[language], Reading(f"{shown}/{TEXTS[language]}", faults))
    if text is None or not _is_named(text, told, reading):
        return None
    seen: list[Seen] = []
    for kind, (keys, made) in _NAMED.items():
        seen += [made(row) for row in _rows(path, shown, kind, keys, told["digest"], faults)]
    steps = _rows(path, shown, "lineage", STEP, told["digest"], faults)
    return Found(
        folder=shown,
        language=language,
        name=told["name"],
        text=text,
        interface=told["interface"],
        place=told["place"],
        steps=tuple(step_from(row) for row in steps),
        seen=tuple(seen),
    )


def _is_named(text: str, told: dict[str, str], reading: Reading) -> bool:
    """Whether the text is the one that the entry is about."""
    try:
        found = described(text, told["language"], told["name"], told["interface"])
    except InputError as error:
        reading.faults += error.diagnostics
        return False
    if found["digest"] != told["digest"]:
        reading.fault(
            "digest",
            f"the text is {found['digest'][:16]}…: it was changed",
            "a changed template is another one: formwright population add",
        )
        return False
    return True


def _rows(
    path: Path, shown: str, kind: str, keys: dict[str, str], digest: str, faults: list[Diagnostic]
) -> list[Any]:
    """The rows of a file that need not be there, each checked and about this text."""
    reading = Reading(f"{shown}/{kind}.json", faults)
    file = path / f"{kind}.json"
    if not file.exists():
        return []
    data = _json(file, reading)
    listed = None if data is None else data.get(kind)
    if not isinstance(listed, list):
        if data is not None:
            reading.fault(kind, "a list is needed")
        return []
    found = []
    about = "child" if kind == "lineage" else "template"
    for number, row in enumerate(listed):
        place = f"{kind}[{number}]"
        if checked(reading, place, row, keys) is None:
            continue
        if row[about] != digest:
            reading.fault(f"{place}.{about}", "is another text than that of the folder")
            continue
        found.append(row)
    return found


def _text(path: Path, reading: Reading) -> str | None:
    """A file's text; no file outside the export is read through a link."""
    try:
        if path.is_symlink() or path.parent.is_symlink():
            reading.fault("file", "a link, which is not followed")
            return None
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as error:
        reading.fault("file", f"cannot be read: {error.strerror}")
        return None
    if len(data) > FILE_BYTES:
        reading.fault("file", f"larger than {FILE_BYTES} bytes")
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        reading.fault("file", "no UTF-8 text", "save the file as UTF-8")
        return None


def _json(path: Path, reading: Reading) -> dict[str, Any] | None:
    text = _text(path, reading)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        reading.fault("file", f"not JSON: {error}")
        return None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        reading.fault("schema", f"this version reads schema {SCHEMA}")
        return None
    return data
