"""The study `white-black`: the flow beside black-box searchers, on the same kernels and budget."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any

from formwright import __version__
from formwright.agent.recorded import Recorded
from formwright.base.diagnostics import fail
from formwright.base.digest import digest
from formwright.base.source import Source
from formwright.contract.contract import Contract, contract_digest
from formwright.contract.matching import typed_for
from formwright.contract.operators import operator
from formwright.flow.blackbox_evaluator import Evaluator
from formwright.flow.blackbox_flow import best_by_model, defaults
from formwright.flow.blackbox_quiet import Quiet
from formwright.flow.blackbox_search import Asking, BudgetSpentError, Step, best_steps
from formwright.flow.blackbox_space import Space, space_of
from formwright.flow.chips import chip_entry, figures_of, open_chip
from formwright.flow.identity import identify
from formwright.flow.journal import Journal
from formwright.flow.parameters import bind
from formwright.flow.proving import prove
from formwright.flow.setting import Listener
from formwright.flow.study_final import final, result_of
from formwright.flow.study_results import TaskResult, WhiteBlack
from formwright.flow.study_searching import Room, Told, run_searcher
from formwright.flow.study_tasks import TASKS, Plan, Task
from formwright.flow.study_templates import last_proved, proof_of, template_of
from formwright.flow.study_workers import run_jobs
from formwright.lang.parser import parse

WORKERS = 2
"""Searches at a time: on more, building would outrun the one that may time."""
AHEAD = 128
"""Designs up to which a space is built ahead, and how many times over it must be asked for."""
ASKED_TIMES = 2


def run_white_black(plan: Plan, out: Path, listener: Listener) -> WhiteBlack:
    """Every search of every task and seed, then a measurement of all finalists, interleaved.

    The same call on the same ``out`` goes on where an earlier one stopped; other tasks, searchers
    and more seeds may be added to it.

    Raises:
        InputError: a template that is not proved, or an ``out`` of another study.
    """
    start = monotonic()
    with Journal(out / "journal.jsonl") as journal:
        _identify(journal, plan, out)
        quiet = Quiet()
        rooms = [_room(journal, plan, out, task, listener, quiet) for task in plan.tasks]
        for room in rooms:
            _ahead(room)
        jobs = [
            (searcher, partial(_searched, room, searcher, seed))
            for seed in range(plan.seeds)
            for room in rooms
            for searcher in plan.searchers
        ]
        run_jobs(jobs, WORKERS, quiet)
        with quiet.work():
            results = tuple(_task(room, rooms) for room in rooms)
        kernels = sum(e["key"].startswith("build/") for e in journal.entries)
        return WhiteBlack(
            chip=rooms[0].chip_name,
            threads=plan.threads,
            seeds=plan.seeds,
            evaluations=plan.budget.evaluations,
            budget_seconds=plan.budget.seconds,
            tasks=results,
            kernels=kernels,
            journal="journal.jsonl",
            seconds=monotonic() - start,
        )


def _identify(journal: Journal, plan: Plan, out: Path) -> None:
    """What may not change within a journal: this version, chip, threads, timings, budget."""
    now = {
        "study": "white-black",
        "version": __version__,
        "chip": plan.chip,
        "threads": plan.threads,
        "timings": plan.timings,
        "budget": asdict(plan.budget),
    }
    identify(journal, "study", now, out)
    if plan.transcript is None:
        return
    # It may be added to a study; its searches are kept by searcher, task and seed alone.
    texts = digest([p.text for p in Recorded(plan.transcript).proposals])
    if journal.step("transcript", lambda: {"texts": texts})["texts"] != texts:
        raise fail(
            f"{out} holds a study with another transcript",
            hint="give this study its own folder with --out",
        )


def _room(
    journal: Journal, plan: Plan, out: Path, task: Task, listener: Listener, quiet: Quiet
) -> Room:
    listener.stage("reading the chip (a first detection takes about 15 s)")
    chip = journal.step("chip", lambda: chip_entry(open_chip(plan.chip)))
    values: dict[str, Any] = dict(figures_of(chip["values"]))
    values["chip.cores"] = plan.threads
    contract = operator(task.operator).contract()
    template = template_of(task.template, contract)
    listener.stage(f"proving {template.name}")
    key = f"template/{task.operator}/{task.template}"
    proof = proof_of(journal, key, task.template, template, out)
    typed = typed_for(template, contract)
    shapes = [min((t.extents for t in TASKS if t.operator == task.operator), key=_cells)]
    return Room(
        task=task,
        plan=plan,
        journal=journal,
        listener=listener,
        chip_name=chip["name"],
        chip=values,
        contract=contract,
        template=template,
        space=space_of(typed, bind(typed, values, task.extents, chip["name"])),
        evaluator=Evaluator(
            journal, out, contract, shapes, plan.threads, _seed(contract_digest(contract)), quiet
        ),
        proof=proof,
        told=_told(journal, plan, task, contract, values, chip["name"]),
    )


def _told(
    journal: Journal,
    plan: Plan,
    task: Task,
    contract: Contract,
    chip: Mapping[str, Any],
    chip_name: str,
) -> Told | None:
    """What the transcript has for a task; its programs are proved here, once for an operator."""
    if plan.transcript is None:
        return None
    recorded = Recorded(plan.transcript)
    texts = digest([p.text for p in recorded.proposals])[:16]
    found = journal.step(
        f"transcript/{texts}/{task.operator}",
        lambda: {"text": last_proved(recorded, contract, lambda t: prove(t).verdict == "proved")},
    )
    if found["text"] is None:
        return None
    template = parse(Source("transcript.fw", found["text"]))
    typed = typed_for(template, contract)
    return Told(template, space_of(typed, bind(typed, chip, task.extents, chip_name)), recorded)


def _ahead(room: Room) -> None:
    """Where the searches will ask for most designs anyway, all are built first, on every core."""
    plan, designs = room.plan, room.space.points
    asked = plan.seeds * plan.budget.evaluations * len(plan.searchers)
    if len(designs) <= AHEAD and asked >= ASKED_TIMES * len(designs):
        room.listener.stage(f"{room.task.name}: building all {len(designs)} designs")
        room.evaluator.prepare(
            room.space.template, [room.space.design(p) for p in designs], os.cpu_count() or 1
        )


def _cells(extents: Mapping[str, int]) -> int:
    return prod(extents.values())


def _seed(text: str) -> int:
    return int(text[:8], 16)


def _searched(room: Room, searcher: str, seed: int) -> dict[str, Any]:
    """One search, a step of the journal: a resumed study begins it anew, with the kernels that are
    kept, unless it is done."""
    name = room.task.name
    room.listener.stage(f"{name}: {searcher}, seed {seed + 1}", *_searches(room))
    key = f"search/{name}/{searcher}/{seed}"
    fresh = room.journal.known(key) is None
    found: dict[str, Any] = room.journal.step(key, partial(_search, room, searcher, seed))
    if fresh:
        best = min((s["seconds"] for s in found["steps"] if s["seconds"]), default=None)
        nothing = found["note"] or "nothing that holds"
        told = nothing if best is None else f"{best * 1e6:.1f} us"
        room.listener.done(f"{name}: {searcher}, seed {seed + 1}: {told}")
    return found


def _searches(room: Room) -> tuple[int, int]:
    """How many searches of the study are done, and of how many."""
    plan = room.plan
    keys = [
        f"search/{task.name}/{searcher}/{seed}"
        for task in plan.tasks
        for searcher in plan.searchers
        for seed in range(plan.seeds)
    ]
    return sum(room.journal.known(key) is not None for key in keys), len(keys)


def _search(room: Room, searcher: str, seed: int) -> dict[str, Any]:
    timing = seed % room.plan.timings
    evaluate = partial(room.evaluator.evaluate, room.task.name, room.task.extents, timing)
    asking = Asking(evaluate, room.plan.budget)
    note = ""
    try:
        asking.think()
        note = run_searcher(room, searcher, asking, seed)
    except BudgetSpentError:
        pass
    asking.think()
    return _account(asking, note)


def _account(asking: Asking, note: str) -> dict[str, Any]:
    """A search as the journal has it."""
    return {
        "steps": [step.as_json() for step in asking.steps],
        "spent": asking.spent,
        "asks": asking.asks,
        "note": note,
        "curve": _curve(asking.steps),
    }


def _curve(steps: list[Step]) -> list[list[float]]:
    better = {id(step) for step in best_steps(steps)}
    return [
        [number, step.spent, step.seconds]
        for number, step in enumerate(steps, 1)
        if id(step) in better and step.seconds is not None
    ]


def _task(room: Room, rooms: list[Room]) -> TaskResult:
    searches = {
        searcher: [_searched(room, searcher, seed) for seed in range(room.plan.seeds)]
        for searcher in room.plan.searchers
    }
    copied = [
        room.journal.step(f"copied/{room.task.name}/{seed}", partial(_copied, room, rooms, seed))
        for seed in range(room.plan.seeds)
    ]
    timed = final(room, [*(f for s in searches.values() for f in s), *copied])
    return result_of(room, searches, copied, timed)


def _copied(room: Room, rooms: list[Room], seed: int) -> dict[str, Any]:
    """The control: the best assignment of the neighbour, asked for here once."""
    timing = seed % room.plan.timings
    evaluate = partial(room.evaluator.evaluate, room.task.name, room.task.extents, timing)
    asking = Asking(evaluate, room.plan.budget)
    source, assignment = _neighbours(room, rooms, seed)
    asking.ask(room.space.template, assignment)
    return _account(asking, source)


def _neighbours(room: Room, rooms: list[Room], seed: int) -> tuple[str, dict[str, int]]:
    """Where the assignment comes from, and what it is."""
    names = room.space.names
    for other in rooms:
        same = other.task.template == room.task.template
        if same and dict(other.task.extents) == dict(room.task.copied_from):
            found = room.journal.known(f"search/{other.task.name}/flow/{seed}")
            steps = [s for s in (found or {"steps": []})["steps"] if s["seconds"] is not None]
            if steps:
                best = min(steps, key=lambda s: s["seconds"])["assignment"]
                return f"measured best of {other.task.name}", {n: best[n] for n in names}
    at = bind(room.space.template, room.chip, room.task.copied_from, room.chip_name)
    designs = best_by_model(room.space.template, at, defaults(room.space.template))
    allowed = frozenset(room.space.points)
    told = ", ".join(f"{n}={v}" for n, v in room.task.copied_from.items())
    return f"best by the model at {told}", _allowed(room.space, designs, allowed)


def _allowed(space: Space, designs: Any, allowed: frozenset[tuple[int, ...]]) -> dict[str, int]:
    """The best design of the neighbour that is allowed here too."""
    for assignment, _ in designs:
        if space.point(assignment) in allowed:
            return {n: assignment[n] for n in space.names}
    return space.design(space.points[0])
