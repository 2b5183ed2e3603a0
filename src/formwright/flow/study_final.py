"""The finalists of a task, measured afresh together, and what that makes of each searcher."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from formwright.base.digest import digest
from formwright.flow.blackbox_evaluator import SLOTS
from formwright.flow.study_results import (
    FLOWS,
    Found,
    Row,
    TaskResult,
    median_of,
    paired,
    spread,
    standing_of,
)
from formwright.flow.study_searching import Room
from formwright.flow.study_timing import side_by_side
from formwright.measure.plan import Plan

FRESH = 0x5EED
"""Added to the seed of the search: the finalists meet inputs that no search has seen."""
LEAST_ROUNDS = 7
SECONDS = 40.0
BATCH_SECONDS = 0.01

Search = Mapping[str, Any]
Timed = Mapping[str, Mapping[str, float]]
"""Seconds of a call by kernel and round."""


def best_step(search: Search) -> Mapping[str, Any] | None:
    """The step of a search that it ends with: the fastest that it measured."""
    steps = [s for s in search["steps"] if s["seconds"] is not None]
    return min(steps, key=lambda s: s["seconds"], default=None)


def final(room: Room, searches: Sequence[Search]) -> dict[str, Any]:
    """All kernels that some search ended with, timed in turn in every round."""
    keys = sorted({step["key"] for s in searches if (step := best_step(s)) is not None})
    name = f"final/{room.task.name}/{digest(keys)[:16]}"
    room.listener.stage(f"{room.task.name}: measuring {len(keys)} finalists, interleaved")
    found: dict[str, Any] = room.journal.step(name, partial(_measure, room, keys))
    return found | {"entry": room.journal.number(name)}


def _measure(room: Room, keys: Sequence[str]) -> dict[str, Any]:
    evaluator, plan = room.evaluator, room.plan
    return side_by_side(
        {key: evaluator.library(key) for key in keys},
        room.contract,
        room.task.extents,
        threads=plan.threads,
        seed=evaluator.seed + FRESH,
        plan=Plan(
            rounds=plan.final_rounds,
            least_rounds=LEAST_ROUNDS,
            seconds=SECONDS,
            batch_seconds=BATCH_SECONDS,
            slots=SLOTS,
        ),
    )


def result_of(
    room: Room,
    searches: Mapping[str, Sequence[Search]],
    copied: Sequence[Search],
    timed: Mapping[str, Any],
) -> TaskResult:
    """Rows by searcher, each held against the flow with the same proposer."""
    found = {
        searcher: tuple(_found(room, searcher, n, s, timed) for n, s in enumerate(those))
        for searcher, those in searches.items()
    }
    ours = median_of(found.get("flow", ()))
    notes = {name: str(those[0]["note"]) for name, those in searches.items()}
    theirs = median_of(found.get("flow-transcript", ()))
    rows = tuple(
        _row(n, f, theirs if n == "evolution-transcript" else ours, timed["rounds"], notes[n])
        for n, f in found.items()
    )
    control = tuple(_found(room, "copied", n, s, timed) for n, s in enumerate(copied))
    return TaskResult(
        name=room.task.name,
        template=room.template.name,
        extents=dict(room.task.extents),
        designs=len(room.space.points),
        proof=room.proof,
        rows=rows,
        copied=_row("copied", control, ours, timed["rounds"], str(copied[0]["note"])),
        best_seconds=min(timed["seconds"].values(), default=None),
        entry=timed["entry"],
    )


def _row(name: str, found: tuple[Found, ...], ours: Found | None, rounds: Timed, note: str) -> Row:
    middle = median_of(found)
    seconds = spread([f.seconds for f in found if f.seconds is not None])
    if name in FLOWS or ours is None or middle is None:
        return Row(name, found, seconds, None, None, note)
    ratio = paired(rounds[middle.key], rounds[ours.key])
    return Row(name, found, seconds, ratio, standing_of(ours.key, middle.key, ratio), note)


def _found(room: Room, searcher: str, seed: int, search: Search, timed: Mapping[str, Any]) -> Found:
    step = best_step(search)
    key = "" if step is None else str(step["key"])
    task = room.task.name
    searched = f"search/{task}/{searcher}/{seed}"
    entry = f"copied/{task}/{seed}" if searcher == "copied" else searched
    return Found(
        seed=seed,
        template="" if step is None else str(step["template"]),
        assignment={} if step is None else dict(step["assignment"]),
        key=key,
        seconds=timed["seconds"].get(key),
        searched_seconds=None if step is None else float(step["seconds"]),
        evaluations=len(search["steps"]),
        failures=sum(s["seconds"] is None for s in search["steps"]),
        spent=float(search["spent"]),
        curve=tuple((int(n), float(s), float(v)) for n, s, v in search["curve"]),
        entry=room.journal.number(entry),
    )
