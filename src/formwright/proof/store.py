"""Proofs kept by content: a template that did not change is not proved again.

The key is the digest of the inlined template, of the source text of everything that gives it
meaning (expressions, program, conditions), and of the solver's version: dependencies are
derived, none is declared. A file that does not check against its own digest is ignored.
"""

import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from formwright.base.digest import digest
from formwright.base.files import write_json
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.verdict import Obligation, Proof

SCHEMA = 1
_MEANING = ("ir", "smt", "proof")


def solver_version() -> str:
    """The installed solver, without loading it."""
    try:
        return f"z3 {version('z3-solver')}"
    except PackageNotFoundError:
        return "z3 (not installed)"


def semantics_digest() -> str:
    """What the rules mean, as the text of the packages that read them."""
    root = files("formwright")
    texts: dict[str, str] = {}
    for package in _MEANING:
        for entry in sorted(root.joinpath(package).iterdir(), key=lambda e: e.name):
            if entry.name.endswith(".py"):
                texts[f"{package}/{entry.name}"] = entry.read_text(encoding="utf-8")
    return digest(texts)


def template_digest(template: Template) -> str:
    """The content of a template: names of definitions and places in the file do not count."""
    return digest(inlined(template))


class ProofStore:
    """One JSON file for each proved template in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, template: Template) -> Proof | None:
        """The kept proof, each obligation marked as reused; ``None`` if there is none."""
        path = self._path(template)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return _checked(kept, template)

    def put(self, template: Template, proof: Proof) -> None:
        """Keeps a complete proof; anything but ``proved`` is not kept."""
        if proof.verdict != "proved":
            return
        body = proof.as_json()
        write_json(self._path(template), {"schema": SCHEMA, "proof": body, "sha256": digest(body)})

    def _path(self, template: Template) -> Path:
        key = digest([template_digest(template), semantics_digest(), solver_version()])
        return self._directory / f"{key}.json"


def _checked(kept: Any, template: Template) -> Proof | None:
    """A proof only if the file is whole, is of this template and says ``proved`` throughout."""
    try:
        body = kept["proof"]
        if kept["schema"] != SCHEMA or kept["sha256"] != digest(body):
            return None
        if body["digest"] != template_digest(template) or body["verdict"] != "proved":
            return None
        obligations = tuple(_obligation(o) for o in body["obligations"])
        proof = Proof(
            body["template"],
            body["digest"],
            body["verdict"],
            obligations,
            float(body["seconds"]),
            body["solver"],
        )
    except (KeyError, TypeError, ValueError):
        return None
    whole = obligations and all(o.verdict == "proved" for o in obligations)
    return replace(proof, template=template.name) if whole else None


def _obligation(kept: dict[str, Any]) -> Obligation:
    return Obligation(
        name=kept["name"],
        group=kept["group"],
        condition=kept["condition"],
        verdict=kept["verdict"],
        evidence=kept["evidence"],
        seconds=float(kept["seconds"]),
        reused=True,
        detail=kept["detail"],
    )
