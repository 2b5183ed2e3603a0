"""A population as a folder of files that people can read, review and share.

One folder for each text: the text itself, ``entry.json`` with what was computed of it and its
proof, and beside it what was seen. The same population gives the same files, so that a difference
of two exports is a difference of two populations.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import fail
from formwright.base.files import write_json, write_text
from formwright.population.entries import Entry
from formwright.population.plain import Seen, told
from formwright.population.rows import dumped
from formwright.population.signature import Signature
from formwright.population.store import Population

SCHEMA = 1
INDEX = "population.json"
TEXTS = {"fw": "template.fw", "c": "kernel.c", "cuda": "kernel.cu", "triton": "kernel.py"}
"""The file of the text, by language."""


def export_population(population: Population, folder: Path) -> int:
    """Writes ``folder`` and returns how many texts are in it.

    An export that stands there is replaced. Raises ``InputError`` where the folder holds anything
    else.
    """
    if folder.exists() and not folder.is_dir():
        raise fail(f"{folder} is a file", hint="give a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise fail(f"{folder} is not empty, and no export", hint="give a new folder")
    entries = population.entries()
    seen = _by_template(population)
    wanted = {_folder(e): e for e in entries}
    for name, entry in wanted.items():
        _entry(population, entry, seen.get(entry.digest, {}), folder / "templates" / name)
    if (folder / "templates").is_dir():
        for old in (folder / "templates").iterdir():
            if old.name not in wanted and (old / "entry.json").is_file():
                shutil.rmtree(old)
    write_json(folder / INDEX, {"schema": SCHEMA, "templates": sorted(wanted)})
    return len(entries)


def _folder(entry: Entry) -> str:
    return f"{entry.name}-{entry.digest[:16]}"


def _by_template(population: Population) -> dict[str, dict[str, list[Seen]]]:
    found: dict[str, dict[str, list[Seen]]] = {}
    kinds: tuple[tuple[str, Iterable[Seen]], ...] = (
        ("facts", (k.fact for k in population.facts())),
        ("designs", population.designs()),
        ("structures", population.held()),
        ("counterexamples", population.counterexamples()),
    )
    for kind, things in kinds:
        for thing in things:
            found.setdefault(thing.template, {}).setdefault(kind, []).append(thing)
    return found


def _entry(population: Population, entry: Entry, seen: dict[str, list[Seen]], folder: Path) -> None:
    write_text(folder / TEXTS[entry.language], entry.text)
    own = [told(s) for s in population.lineage(entry.digest) if s.child == entry.digest]
    write_json(folder / "entry.json", {**entry_data(entry), "schema": SCHEMA})
    for kind in ("facts", "designs", "structures", "counterexamples", "lineage"):
        path = folder / f"{kind}.json"
        rows = own if kind == "lineage" else [told(t) for t in seen.get(kind, [])]
        if rows:
            write_json(path, {"schema": SCHEMA, kind: sorted(rows, key=dumped)})
        else:
            path.unlink(missing_ok=True)


def entry_data(entry: Entry) -> dict[str, Any]:
    """An entry without its text, as stable JSON keys."""
    return {
        "digest": entry.digest,
        "language": entry.language,
        "name": entry.name,
        "place": entry.place,
        "verdict": entry.verdict,
        "reason": entry.reason,
        "interface": entry.interface,
        "problem": entry.problem,
        "niche": entry.niche,
        "signature": signature_data(entry.signature),
        "proof": entry.proof,
        "proof_digest": entry.proof_digest,
        "created": entry.created,
    }


def signature_data(signature: Signature | None) -> dict[str, list[str]] | None:
    """Words by part."""
    return None if signature is None else {p: list(w) for p, w in signature.parts()}
