"""Proof of a template, with the interpreter as the judge of every counterexample."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from formwright.base.collector import collecting_seldom
from formwright.base.host import cache_folder
from formwright.lang import load_source
from formwright.proof.kept import (
    context,
    database_path,
    read_proof,
    read_text_digest,
    solver_version,
)
from formwright.proof.verdict import LIMITS, Limits, Obligation, Proof

# Here and in the functions below: a kept proof is found by the text alone, and answers before
# the parser, the nodes, the solver and the interpreter could be imported.
if TYPE_CHECKING:
    from formwright.base.source import Source
    from formwright.ir.template import Template


def prove_template(
    reference: str,
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
    limits: Limits = LIMITS,
) -> Proof:
    """A kept proof of the very text; else parse, then :func:`prove` with the user's store."""
    source = load_source(reference)
    return prove_source(source, fresh=fresh, progress=progress, store=store, limits=limits)


def prove_source(
    source: "Source",
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
    limits: Limits = LIMITS,
) -> Proof:
    """As :func:`prove_template`, for a text that was read."""
    kept = None if fresh else kept_proof(source, store)
    if kept is not None:
        return kept
    from formwright.lang.parser import parse
    from formwright.proof.store import ProofStore

    with collecting_seldom():
        template = parse(source)
        proof = prove(template, fresh=fresh, progress=progress, store=store, limits=limits)
        if proof.verdict == "proved":
            ProofStore(_folder(store)).put_text(source.text, template)
    return proof


def kept_proof(source: "Source", store: Path | None = None) -> Proof | None:
    """The proof that is kept of this very text, if there is one."""
    folder = _folder(store)
    known = read_text_digest(folder, source.text)
    return None if known is None else read_proof(folder, known)


def prove(
    template: "Template",
    *,
    fresh: bool = False,
    progress: Callable[[str], None] | None = None,
    store: Path | None = None,
    limits: Limits = LIMITS,
    only: str = "",
) -> Proof:
    """K1, K2 and K3 of ``template``; a proof of the same content is taken from the store.

    Else each obligation is looked up in the store's database, and what is shown goes there.
    ``fresh`` proves again whatever is kept. A refuted template is looked at anew each time; an
    unresolved obligation is tried again when ``limits`` are larger than they were.
    ``only`` one condition is asked for where the template is no formulation of its own, but a
    question about a chain.
    """
    from formwright.ir.formulation import require_program
    from formwright.proof.store import ProofStore

    require_program(template, "prove")
    if only:
        # Kept under a name that no file can have: one condition never stands for all of them.
        template = replace(template, name=f"{template.name}: {only} only")
    folder = _folder(store)
    proofs = ProofStore(folder)
    kept = None if fresh else proofs.get(template)
    if kept is not None:
        return kept
    if progress is not None:
        progress("loading the solver")
    try:
        from formwright.smt import prove as prove_conditions
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "z3":
            raise
        return _without_solver(template)
    from formwright.proof.database import Database
    from formwright.replay import replay
    from formwright.replay.system import refute_step, why_not_kept

    database = None if fresh else Database(database_path(folder), context())
    try:
        with collecting_seldom():
            proof = prove_conditions(
                template,
                replayer=replay,
                step_replayer=refute_step,
                clause_judge=why_not_kept,
                progress=progress,
                only=(lambda word: word == only) if only else None,
                timeout_ms=limits.call_ms,
                seconds=limits.whole,
                obligation_seconds=limits.seconds,
                memory_mb=limits.memory,
                database=database,
            )
    finally:
        if database is not None:
            database.close()
    if proof.verdict == "proved":
        proofs.put(template, proof)
    return proof


def keep_proof(subject: "Source | Template", proof: Proof, store: Path | None = None) -> None:
    """Keep a proof of ``subject`` that another process has made, unless it is kept."""
    from formwright.ir.template import Template
    from formwright.lang.parser import parse
    from formwright.proof.store import ProofStore

    folder = _folder(store)
    if read_proof(folder, proof.digest) is not None:
        return
    template = subject if isinstance(subject, Template) else parse(subject)
    ProofStore(folder).put(template, proof)
    if not isinstance(subject, Template):
        ProofStore(folder).put_text(subject.text, template)


def _without_solver(template: "Template") -> Proof:
    """Nothing is shown where there is no solver; that is no fault of the template."""
    from formwright.proof.store import template_digest

    reason = "no solver: z3 is not installed (the package z3-solver)"
    missing = Obligation("solver", "derived", "solver", "unresolved", "none", 0.0, detail=reason)
    return Proof(
        template.name, template_digest(template), "unresolved", (missing,), 0.0, solver_version()
    )


def _folder(store: Path | None) -> Path:
    return store or cache_folder() / "proofs"
