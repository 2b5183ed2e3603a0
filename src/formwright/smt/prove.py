"""Proof of a template: K1, K2 and K3 with the derived requirements, cheap work first."""

import time
from collections.abc import Callable
from dataclasses import replace

import z3

from formwright.ir.formulation import require_program
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.alpha import alpha_digest
from formwright.proof.database import Database
from formwright.proof.refutation import ClauseJudge, Replayer, StepReplayer
from formwright.proof.store import template_digest
from formwright.proof.verdict import LIMITS, Obligation, Proof, overall
from formwright.smt.clock import OBLIGATION_SECONDS, Clock
from formwright.smt.prover import Prover
from formwright.smt.reuse import keep_renamed, known_renamed

Progress = Callable[[str], None]
Only = Callable[[str], bool]


def prove(
    template: Template,
    *,
    replayer: Replayer | None = None,
    step_replayer: StepReplayer | None = None,
    clause_judge: ClauseJudge | None = None,
    progress: Progress | None = None,
    only: Only | None = None,
    timeout_ms: int = 3000,
    stop_early: bool = False,
    seconds: float = 300.0,
    obligation_seconds: float = OBLIGATION_SECONDS,
    memory_mb: int = LIMITS.memory,
    database: Database | None = None,
) -> Proof:
    """Every obligation of ``template`` (in either form) with its verdict.

    ``only`` picks by the condition's word. ``replayer`` judges solutions of K2: without it
    they are ``unresolved``. ``step_replayer`` does that for a refinement step. ``stop_early``
    ends at the first obligation that is not proved. ``timeout_ms`` bounds one call of
    the solver, ``obligation_seconds`` the solver's work on one obligation, all retries together,
    ``memory_mb`` its memory in MiB; what ``seconds`` of work leave undone is ``unresolved``.
    What earlier proofs left in
    ``database`` is not shown again, and this one leaves there what it shows.
    """
    require_program(template, "prove")
    started = time.perf_counter()
    clock = Clock(timeout_ms, obligation_seconds, memory_mb)
    whole = inlined(template)
    nothing_kept = database is None or database.is_empty()
    work = Prover(whole, replayer, clock, step_replayer, database, clause_judge)
    tasks = [t for t in work.tasks() if only is None or only(t.condition)]

    def told(obligations: tuple[Obligation, ...]) -> Proof:
        return Proof(
            template=template.name,
            digest=template_digest(template),
            verdict=overall(obligations),
            obligations=obligations,
            seconds=time.perf_counter() - started,
            solver=f"z3 {z3.get_version_string()}",
            queries=clock.asked,
        )

    reuse = None if only else work.reuse
    names = None if reuse is None else alpha_digest(whole)
    known = None if reuse is None else known_renamed(names, tasks, reuse)
    if known is not None:
        return told(known)
    done: dict[int, Obligation] = {}
    for count, (place_in_text, task) in enumerate(
        sorted(enumerate(tasks), key=lambda item: item[1].weight)
    ):
        if progress is not None:
            progress(f"{count + 1}/{len(tasks)} {task.name}")
        left = seconds - (time.perf_counter() - started)
        late = left <= 0
        skipped = f"not within {seconds:g} s"
        done[place_in_text] = task.skipped(skipped) if late else task.settle(left)
        if stop_early and done[place_in_text].verdict != "proved":
            break
    work.write()
    shown = tuple(done[n] for n in sorted(done))
    if nothing_kept:  # what one obligation takes from another of the same proof is no reuse
        shown = tuple(replace(o, reused=False) for o in shown)
    proof = told(shown)
    if reuse is not None:
        keep_renamed(names, proof.obligations, reuse)
    return proof
