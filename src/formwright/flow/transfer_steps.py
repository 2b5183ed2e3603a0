"""The steps of the study `transfer` at one task: each plain data, for a journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from shutil import rmtree
from time import perf_counter
from typing import Any

from formwright.base.diagnostics import fail
from formwright.codegen import build, emit_c
from formwright.contract.contract import Contract
from formwright.flow.blackbox_evaluator import Evaluator
from formwright.flow.blackbox_flow import best_by_model, defaults
from formwright.flow.blackbox_space import space_of
from formwright.flow.choosing import choose
from formwright.flow.job_solving import WITHIN
from formwright.flow.journal import Journal
from formwright.flow.refit import Observation, refit
from formwright.flow.setting import Listener, fractions_as_text
from formwright.flow.study_timing import side_by_side
from formwright.flow.transfer_tasks import Transfer, TransferPlan
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.measure.plan import Plan
from formwright.milp.check import check
from formwright.milp.solve import solve

LEAST_ROUNDS = 5
COMPARE_SECONDS = 15.0
"""Of the rounds of one repeat, in which the picks are timed in turn."""

Values = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Desk:
    """What all steps of one task share. ``source`` and ``target`` are values of the scope."""

    task: Transfer
    plan: TransferPlan
    journal: Journal
    listener: Listener
    out: Path
    contract: Contract
    template: Template
    source: Values
    target: Values
    evaluator: Evaluator
    proof: str

    def evaluate(self, side: str, assignment: Mapping[str, int]) -> dict[str, Any]:
        """A design at ``source`` or ``target``, measured once."""
        extents = self.task.source if side == "source" else self.task.target
        found = self.evaluator.evaluate(
            f"{self.task.name}.{side}", extents, 0, self.template, assignment
        )
        return {
            "assignment": dict(assignment),
            "key": found.key,
            "seconds": found.seconds,
            "fault": found.fault,
            "cost": found.cost,
        }


def at_source(desk: Desk) -> dict[str, Any]:
    """A few good and different designs, measured, and the coefficients that they teach."""
    present = defaults(desk.template)
    best = best_by_model(desk.template, desk.source, present)
    designs = [
        desk.evaluate("source", a) for a, _ in choose(best, desk.plan.source_designs, WITHIN)
    ]
    seen = [
        Observation(desk.source, d["assignment"], d["seconds"])
        for d in designs
        if d["seconds"] is not None
    ]
    learned = refit(desk.template, seen, present).coefficients if seen else present
    return {"designs": designs, "coefficients": fractions_as_text(learned)}


def choose_target(desk: Desk, learned: Mapping[str, Fraction]) -> dict[str, Any]:
    """The model's choices at the target, each solved and built afresh as often as is repeated."""
    solved: list[float] = []
    built: list[float] = []
    selected: dict[str, int] = {}
    for repeat in range(desk.plan.repeats):
        begun = perf_counter()
        answer = solve(desk.template, desk.target, coefficients=learned, time_limit=60.0)
        solved.append(perf_counter() - begun)
        if answer.status != "optimal":
            raise fail(f"{desk.task.name}: no design of {desk.template.name} is known there")
        selected = {d.name: answer.assignment[d.name] for d in desk.template.decisions}
        begun = perf_counter()
        folder = desk.out / "again" / f"{desk.task.name}-{repeat}"
        build(emit_c(desk.template, selected, desk.evaluator.target), folder)
        built.append(perf_counter() - begun)
        rmtree(folder)
    shipped = solve(desk.template, desk.target, time_limit=60.0).assignment
    return {
        "selected": selected,
        "shipped": {d.name: shipped[d.name] for d in desk.template.decisions},
        "solve_seconds": solved,
        "build_seconds": built,
    }


def copied_from(desk: Desk, designs: Sequence[Mapping[str, Any]]) -> tuple[dict[str, int], str]:
    """The fastest design of the source that the constraints allow at the target."""
    held = sorted((d for d in designs if d["seconds"] is not None), key=lambda d: d["seconds"])
    refused = ""
    for design in held:
        assignment = {d.name: int(design["assignment"][d.name]) for d in desk.template.decisions}
        checked = check(desk.template, desk.target, assignment)
        if checked.ok:
            return assignment, refused
        refused = f"the best of the source breaks {', '.join(checked.failed)}: the next was copied"
    raise fail(f"{desk.task.name}: no design of the source holds at the target")


def search_target(
    desk: Desk, learned: Mapping[str, Fraction], first: Sequence[Mapping[str, int]]
) -> dict[str, Any]:
    """The picks, designs that the model finds good, and some drawn from all; each measured."""
    good = best_by_model(desk.template, desk.target, learned)
    wanted = [dict(a) for a in first]
    wanted += [a for a, _ in choose(good, desk.plan.target_designs, WITHIN)]
    space = space_of(desk.template, desk.target)
    draws = Random(desk.evaluator.seed)
    wanted += [space.drawn(draws) for _ in range(desk.plan.random_designs)]
    once = {text_of(a): a for a in wanted}
    return {
        "space": len(space.points),
        "designs": [desk.evaluate("target", a) for a in once.values()],
    }


def compare_picks(desk: Desk, keys: Sequence[str], repeat: int) -> dict[str, Any]:
    """The picks in turn in every round, on inputs of this repeat."""
    return side_by_side(
        {key: desk.evaluator.library(key) for key in keys},
        desk.contract,
        desk.task.target,
        threads=desk.plan.threads,
        seed=desk.evaluator.seed + 1 + repeat,
        plan=Plan(rounds=desk.plan.rounds, least_rounds=LEAST_ROUNDS, seconds=COMPARE_SECONDS),
    )


def text_of(assignment: Mapping[str, int]) -> str:
    """One name for an assignment, whatever its order."""
    return " ".join(f"{n}={v}" for n, v in sorted(assignment.items()))
