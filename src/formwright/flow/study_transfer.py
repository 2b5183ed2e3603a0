"""The study `transfer`: known families at new shapes, chosen by the model, copied, or searched for.

At the source a few designs are measured and the cost model is refitted to them. At the target the
refitted model chooses, with nothing measured there; beside it stand the source's best design,
copied, and the best of a search that measures at the target.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from formwright import __version__
from formwright.base.digest import digest
from formwright.contract.contract import contract_digest
from formwright.contract.matching import typed_for
from formwright.contract.operators import operator
from formwright.flow.blackbox_evaluator import Evaluator
from formwright.flow.chips import chip_entry, figures_of, open_chip
from formwright.flow.identity import identify
from formwright.flow.journal import Journal
from formwright.flow.parameters import bind
from formwright.flow.setting import Listener, fractions_from_text
from formwright.flow.study_results import Spread, paired, spread
from formwright.flow.study_templates import proof_of
from formwright.flow.transfer_results import Pick, Transferred, TransferStudy
from formwright.flow.transfer_steps import (
    Desk,
    at_source,
    choose_target,
    compare_picks,
    copied_from,
    search_target,
    text_of,
)
from formwright.flow.transfer_tasks import Transfer, TransferPlan
from formwright.lang import load

FINALISTS = 3
"""Designs of the search at the target that go into the comparison."""


def run_transfer(plan: TransferPlan, out: Path, listener: Listener) -> TransferStudy:
    """Every task of ``plan``; the same call on the same ``out`` goes on where one stopped.

    Raises:
        InputError: a template that is not proved, or an ``out`` of another study.
    """
    start = monotonic()
    with Journal(out / "journal.jsonl") as journal:
        _identify(journal, plan, out)
        listener.stage("reading the chip (a first detection takes about 15 s)")
        chip = journal.step("chip", lambda: chip_entry(open_chip(plan.chip)))
        figures = figures_of(chip["values"])
        figures["chip.cores"] = plan.threads
        rows = []
        for task in plan.tasks:
            proof = _proved(journal, task, out, listener)
            # A journal for each task: a kernel is validated for the two shapes of its own.
            with Journal(out / task.name / "journal.jsonl") as own:
                rows.append(_task(_desk(plan, task, own, figures, chip["name"], proof, listener)))
        return TransferStudy(
            chip=chip["name"],
            threads=plan.threads,
            repeats=plan.repeats,
            rows=tuple(rows),
            journal="journal.jsonl",
            seconds=monotonic() - start,
        )


def _identify(journal: Journal, plan: TransferPlan, out: Path) -> None:
    """What may not change within a journal; tasks may be added."""
    now = {
        "study": "transfer",
        "version": __version__,
        "chip": plan.chip,
        "threads": plan.threads,
        "repeats": plan.repeats,
        "number of designs": [
            plan.source_designs,
            plan.target_designs,
            plan.random_designs,
            plan.rounds,
        ],
    }
    identify(journal, "study", now, out)


def _proved(journal: Journal, task: Transfer, out: Path, listener: Listener) -> str:
    template = load(task.template)[1]
    listener.stage(f"proving {template.name}")
    return proof_of(journal, f"template/{task.template}", task.template, template, out)


def _desk(
    plan: TransferPlan,
    task: Transfer,
    journal: Journal,
    figures: Mapping[str, int | Fraction],
    chip_name: str,
    proof: str,
    listener: Listener,
) -> Desk:
    contract = operator(task.operator).contract()
    template = typed_for(load(task.template)[1], contract)
    out = journal.path.parent
    return Desk(
        task=task,
        plan=plan,
        journal=journal,
        listener=listener,
        out=out,
        contract=contract,
        template=template,
        source=bind(template, figures, task.source, chip_name),
        target=bind(template, figures, task.target, chip_name),
        evaluator=Evaluator(
            journal,
            out,
            contract,
            (task.source, task.target),
            plan.threads,
            int(contract_digest(contract)[:8], 16),
        ),
        proof=proof,
    )


def _task(desk: Desk) -> Transferred:
    name, plan = desk.task.name, desk.plan
    desk.listener.stage(f"{name}: designs at the source")
    source = desk.journal.step(f"source/{name}", partial(at_source, desk))
    learned = fractions_from_text(source["coefficients"])
    desk.listener.stage(f"{name}: choosing at the target")
    chosen = desk.journal.step(f"choose/{name}", partial(choose_target, desk, learned))
    selected, shipped = chosen["selected"], chosen["shipped"]
    copied, note = copied_from(desk, source["designs"])
    desk.listener.stage(f"{name}: searching at the target")
    searched = desk.journal.step(
        f"search/{name}", partial(search_target, desk, learned, [selected, shipped, copied])
    )
    by_assignment = {text_of(d["assignment"]): d for d in searched["designs"]}
    picks = {
        n: by_assignment[text_of(a)]
        for n, a in (("selected", selected), ("shipped", shipped), ("copied", copied))
    }
    held = [d for d in searched["designs"] if d["seconds"] is not None]
    # The fastest of a search is often lucky: the first few of it are compared.
    held.sort(key=lambda d: (d["seconds"], d["key"]))
    finalists = {f"found {n}": d for n, d in enumerate(held[:FINALISTS])}
    keys = sorted({d["key"] for d in (*picks.values(), *finalists.values()) if d["seconds"]})
    sessions = []
    for repeat in range(plan.repeats):
        desk.listener.stage(f"{name}: comparing", repeat, plan.repeats)
        sessions.append(
            desk.journal.step(
                f"compare/{name}/{repeat}/{digest(keys)[:16]}",
                partial(compare_picks, desk, keys, repeat),
            )
        )
    rounds = _rounds(sessions)
    found = {
        n: _pick(d, sessions, note if n == "copied" else "")
        for n, d in {**picks, **finalists}.items()
    }
    timed = [(p.seconds.median, n) for n, p in found.items() if p.seconds is not None]
    best = found[min(timed)[1]] if timed else found["selected"]
    desk.listener.done(_told(name, found["selected"], found["copied"], best))
    validated = desk.journal.known(f"validate/{desk.contract.operator}/{found['selected'].key}")
    return Transferred(
        task=desk.task,
        designs=int(searched["space"]),
        proof=desk.proof,
        solve_seconds=_must(spread(chosen["solve_seconds"])),
        build_seconds=_must(spread(chosen["build_seconds"])),
        validate_seconds=None if validated is None else float(validated["seconds"]),
        selected=found["selected"],
        shipped=found["shipped"],
        copied=found["copied"],
        best=best,
        copied_over_selected=_ratio(rounds, found["copied"], found["selected"]),
        selected_over_best=_ratio(rounds, found["selected"], best),
        searched=len(searched["designs"]),
        searched_seconds=sum(d["cost"] for d in searched["designs"]),
        entry=desk.journal.number(f"search/{name}"),
    )


def _rounds(sessions: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Seconds by kernel and round, the rounds of all repeats apart."""
    found: dict[str, dict[str, float]] = {}
    for repeat, session in enumerate(sessions):
        for key, rounds in session["rounds"].items():
            found.setdefault(key, {}).update({f"{repeat}/{n}": v for n, v in rounds.items()})
    return found


def _pick(design: Mapping[str, Any], sessions: Sequence[Mapping[str, Any]], note: str) -> Pick:
    key = str(design["key"])
    seconds = [float(s["seconds"][key]) for s in sessions if key in s["seconds"]]
    failures = [str(s["failures"][key]) for s in sessions if key in s["failures"]]
    told = design["fault"] or "; ".join([*([note] if note else []), *failures[:1]])
    return Pick(dict(design["assignment"]), key, spread(seconds), told)


def _ratio(rounds: Mapping[str, Mapping[str, float]], slower: Pick, faster: Pick) -> Spread | None:
    if slower.key == faster.key or slower.key not in rounds or faster.key not in rounds:
        return None
    return paired(rounds[slower.key], rounds[faster.key])


def _must(found: Spread | None) -> Spread:
    assert found is not None  # a plan repeats at least once
    return found


def _told(name: str, selected: Pick, copied: Pick, best: Pick) -> str:
    def micro(pick: Pick) -> str:
        return "-" if pick.seconds is None else f"{pick.seconds.median * 1e6:.1f}"

    return f"{name}: selected {micro(selected)} us, copied {micro(copied)}, best {micro(best)}"
