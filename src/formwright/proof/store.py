"""Proofs kept by content: a template that did not change is not proved again."""

from dataclasses import replace
from pathlib import Path

from formwright.base.digest import digest
from formwright.base.files import write_text
from formwright.base.memo import by_identity
from formwright.ir.inline import inlined
from formwright.ir.system import System
from formwright.ir.template import Template
from formwright.proof.kept import SCHEMA, kept_text, proof_path, read_proof, text_path
from formwright.proof.verdict import Proof


@by_identity
def template_digest(template: Template) -> str:
    """The content of a template: names of definitions and places in the file do not count."""
    return digest(inlined(template))


def system_digest(system: System) -> str:
    """The behaviour of a system of an inlined template: equal for equal systems of two steps.

    Its name, its places in the file and the rank that it states do not count; the names of
    its tokens, variables and actions, and what it assumes, do.
    """
    return digest(replace(system, name="", rank=()))


class ProofStore:
    """One JSON file for each proved template in ``directory``, and one for each of its texts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, template: Template) -> Proof | None:
        """The kept proof, each obligation marked as reused; ``None`` if there is none."""
        return read_proof(self._directory, template_digest(template))

    def put(self, template: Template, proof: Proof) -> None:
        """Keeps a complete proof; anything but ``proved`` is not kept."""
        if proof.verdict != "proved":
            return
        body = proof.as_json()
        path = proof_path(self._directory, template_digest(template))
        kept = {"schema": SCHEMA, "proof": body, "sha256": digest(body)}
        write_text(path, kept_text(kept))

    def put_text(self, text: str, template: Template) -> None:
        """Keeps that ``text`` is ``template``; the next look-up by text needs no parser."""
        found = template_digest(template)
        kept = {"schema": SCHEMA, "digest": found, "sha256": digest([text, found])}
        write_text(text_path(self._directory, text), kept_text(kept))
