"""Proof of a template, with the interpreter as the judge of every counterexample."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from formwright.base.host import cache_folder
from formwright.lang import load_source
from formwright.proof.kept import read_proof, read_text_digest
from formwright.proof.verdict import Proof

# Here and in the functions below: a kept proof is found by the text alone, and answers before
# the parser, the nodes, the solver and the interpreter could be imported.
if TYPE_CHECKING:
    from formwright.ir.template import Template


def prove_template(
    reference: str,
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
) -> Proof:
    """A kept proof of the very text; else parse, then :func:`prove` with the user's store."""
    source = load_source(reference)
    folder = _folder(store)
    known = None if fresh else read_text_digest(folder, source.text)
    kept = None if known is None else read_proof(folder, known)
    if kept is not None:
        return kept
    from formwright.lang.parser import parse
    from formwright.proof.store import ProofStore

    template = parse(source)
    proof = prove(template, fresh=fresh, progress=progress, store=store)
    if proof.verdict == "proved":
        ProofStore(folder).put_text(source.text, template)
    return proof


def prove(
    template: "Template",
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
) -> Proof:
    """K1, K2 and K3 of ``template``; a proof of the same content is taken from the store.

    ``fresh`` proves again whatever is kept. Only a complete proof is kept: a refuted or
    unresolved template is looked at anew each time.
    """
    from formwright.proof.store import ProofStore

    proofs = ProofStore(_folder(store))
    kept = None if fresh else proofs.get(template)
    if kept is not None:
        return kept
    if progress is not None:
        progress("loading the solver")
    from formwright.replay import replay
    from formwright.replay.system import refute_step
    from formwright.smt import prove as prove_conditions

    proof = prove_conditions(
        template, replayer=replay, step_replayer=refute_step, progress=progress
    )
    if proof.verdict == "proved":
        proofs.put(template, proof)
    return proof


def _folder(store: Path | None) -> Path:
    return store or cache_folder() / "proofs"
