"""Proof of a template, with the interpreter as the judge of every counterexample."""

from collections.abc import Callable
from pathlib import Path

from formwright.base.host import cache_folder
from formwright.ir.template import Template
from formwright.lang import load
from formwright.proof.store import ProofStore
from formwright.proof.verdict import Proof


def prove_template(
    reference: str,
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
) -> Proof:
    """Parse, then :func:`prove` with the user's proof store."""
    _, template = load(reference)
    return prove(template, fresh=fresh, progress=progress, store=store)


def prove(
    template: Template,
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
) -> Proof:
    """K1, K2 and K3 of ``template``; a proof of the same content is taken from the store.

    ``fresh`` proves again whatever is kept. Only a complete proof is kept: a refuted or
    unresolved template is looked at anew each time.
    """
    proofs = ProofStore(store or cache_folder() / "proofs")
    if not fresh:
        kept = proofs.get(template)
        if kept is not None:
            return kept
    # The solvers load slowly and a kept proof needs none of them.
    from formwright.replay import replay
    from formwright.smt import prove as prove_conditions

    proof = prove_conditions(template, replayer=replay, progress=progress)
    if proof.verdict == "proved":
        proofs.put(template, proof)
    return proof
