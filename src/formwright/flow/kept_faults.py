"""Damage in the user's kept proofs: files and rows that are not as they were written."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formwright.base.digest import digest
from formwright.base.host import cache_folder
from formwright.lang import load_source, parse
from formwright.lang.chain_sources import names_chain
from formwright.proof.database import Database
from formwright.proof.kept import (
    SCHEMA,
    context,
    database_path,
    kept_text,
    proof_path,
    read_text_digest,
    text_path,
)
from formwright.proof.store import template_digest
from formwright.smt.certify.again import core_fault
from formwright.smt.ledger import read_core

CORES = 24
"""How many kept cores are solved again unless all are."""

CORE_MILLISECONDS = 5000


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that is damaged or out of place."""

    file: str
    entry: str
    reason: str


def kept_faults(
    store: Path | None,
    everything: bool,
    choose: random.Random,
    proved: Mapping[str, frozenset[str]],
) -> list[Fault]:
    """Faults of the files of kept proofs and of the database of facts.

    ``proved`` has, for each template digest that was looked at, the obligations that hold: a
    kept verdict ``proved`` for any other is believed no more. Of the cores that are kept, some
    (or all) are solved again.
    """
    folder = store or cache_folder() / "proofs"
    found: list[Fault] = []
    for path in sorted(folder.glob("*.json")):
        reason, body = _read(path)
        if reason:
            found.append(Fault(path.name, "proof", reason))
            continue
        held = proved.get(str(body.get("digest")))
        if held is None or path != proof_path(folder, str(body["digest"])):
            continue
        for o in body.get("obligations", ()):
            if o["verdict"] == "proved" and o["name"] not in held:
                found.append(Fault(path.name, o["name"], "kept as proved, and it does not hold"))
    path = database_path(folder)
    return [*found, *_database_faults(path, everything, choose)] if path.exists() else found


def text_faults(reference: str, store: Path | None) -> list[Fault]:
    """What leads from the very text of a template to its digest, if it is kept and wrong."""
    if names_chain(reference):
        return []
    source = load_source(reference)
    folder = store or cache_folder() / "proofs"
    path = text_path(folder, source.text)
    if not path.exists():
        return []
    found = read_text_digest(folder, source.text)
    plain = {"digest": found, "schema": SCHEMA, "sha256": digest([source.text, found])}
    if found == template_digest(parse(source)) and path.read_bytes() == kept_text(plain).encode():
        return []
    return [Fault(f"texts/{path.name}", reference, "it does not lead to this template")]


def _database_faults(path: Path, everything: bool, choose: random.Random) -> list[Fault]:
    database = Database(path, context())
    try:
        found = [
            Fault(path.name, f"{kind} {key}", "its seal does not fit")
            for kind, key in database.damage()
        ]
        rows = list(database.every("core"))
    finally:
        database.close()
    if not everything and rows:
        rows = choose.sample(rows, min(len(rows), CORES))
    for key, body in rows:
        reason = _core_fault(key, body)
        if reason:
            found.append(Fault(path.name, f"core {key}", reason))
    return found


def _core_fault(key: str, body: Any) -> str:
    try:
        core = read_core(key, body)
    except ValueError as error:
        return str(error)
    return core_fault(core.query, core.reading, CORE_MILLISECONDS)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """Why a file is not whole, or its proof."""
    try:
        text = path.read_bytes().decode()
        kept = json.loads(text)
    except (OSError, ValueError) as error:
        return f"it cannot be read: {error}", {}
    whole = isinstance(kept, dict) and kept.keys() == {"schema", "proof", "sha256"}
    if not whole or kept["schema"] != SCHEMA or not isinstance(kept["proof"], dict):
        return "not a kept proof", {}
    if kept["sha256"] != digest(kept["proof"]):
        return "its digest does not fit", {}
    earlier = json.dumps(kept, indent=2, sort_keys=True) + "\n"  # as they were written once
    if text not in (kept_text(kept), earlier):
        return "its text is not as it was written", {}
    return "", kept["proof"]
