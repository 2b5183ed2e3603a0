"""A co-design study: a file in, a chip with its software out, through a journal."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import Any, cast

from formwright.base.diagnostics import InputError
from formwright.chip.library import Point
from formwright.flow.codesign_ahead import search_ahead
from formwright.flow.codesign_compare import best_of, method_row, number, scenario_rows
from formwright.flow.codesign_elsewhere import told_apart
from formwright.flow.codesign_generated import run_generated
from formwright.flow.codesign_methods import bound_below, counted, keys_of, run_method
from formwright.flow.codesign_purchases import given_back_last, purchase_rows
from formwright.flow.codesign_relaxing import (
    Relaxed,
    agreement_of,
    label,
    run_relaxation,
    validate_model,
)
from formwright.flow.codesign_results import (
    CeilingResult,
    ChipRow,
    FieldRow,
    ScenarioRow,
    Staircase,
    StudyResult,
)
from formwright.flow.codesign_setting import (
    Room,
    identify,
    open_evaluator,
    open_inner,
    plain,
    prove_templates,
    refuse_hopeless,
    shown,
)
from formwright.flow.codesign_staircases import area_parts, staircases
from formwright.flow.executor import Executor
from formwright.flow.executor_here import HereExecutor
from formwright.flow.journal import Journal
from formwright.flow.listener import Listener
from formwright.flow.steps import Steps
from formwright.walls.bounds import Until
from formwright.walls.counting import Counted, Shared
from formwright.walls.front import Front, FrontPoint, pareto_front
from formwright.walls.outcome import Outcome
from formwright.walls.study import RELAXATIONS, Method, Study
from formwright.walls.study_reader import load_study


def run_study(
    reference: str, out: Path, listener: Listener, executor: Executor | None = None
) -> StudyResult:
    """Everything from a study's file (or the name of one that ships) to its tables.

    The same call on the same ``out`` goes on where an earlier one stopped.

    Raises:
        InputError: a fault of the study, of what it names, a scenario that no program
            satisfies, an ``out`` that cannot be written or belongs to another study.
    """
    began = monotonic()
    study = load_study(reference)
    with Journal(out / "journal.jsonl") as journal:
        steps = Steps(journal, out, executor or HereExecutor(), listener)
        room, proofs = _opened(study, steps)
        agreement = agreement_of(room)
        repairs = validate_model(room)
        search_ahead(room)
        found = [_ceiling(room, budget) for budget in study.budgets]
        ceilings = tuple(result for result, _ in found)
        front = _front(room, [point for _, point in found if point is not None])
        return StudyResult(
            study=study.name,
            description=study.description,
            library=study.library.name,
            objective=study.objective,
            choices=tuple(f.name for f in study.library.fields if len(f.menu) > 1),
            chips_in_library=study.library.size,
            units={f.name: f.dimension for f in study.library.fields},
            start=shown(study.library, study.start),
            proofs=proofs,
            evaluator=_evaluator(room),
            agreement=agreement,
            repairs=repairs,
            ceilings=ceilings,
            front=_front_rows(room, front),
            front_tolerance=None if front is None else front.tolerance,
            front_complete_to=None if front is None else number(front.complete_to),
            chips=_chip_rows(room, front),
            generated=run_generated(room),
            area_model=tuple(
                {"name": t.name, "source": t.source, "error": t.error}
                for t in study.library.area_terms
            ),
            unmodelled=dict(study.library.unmodelled),
            journal=str(out / "journal.jsonl"),
            seconds=monotonic() - began,
            fields=_field_rows(study),
            cost_units=_cost_units(study),
        )


def _field_rows(study: Study) -> tuple[FieldRow, ...]:
    return tuple(
        FieldRow(
            f.name,
            f.dimension,
            f.role,
            f.meaning,
            f.source,
            plain(Fraction(f.menu[0])),
            plain(Fraction(f.menu[-1])),
            len(f.menu),
        )
        for f in study.library.fields
    )


def _cost_units(study: Study) -> dict[str, str]:
    """All templates of a study share them."""
    cost = next((t.cost for t in study.templates.values() if t.cost is not None), None)
    if cost is None:
        return {}
    return {"time": cost.unit} | ({"energy": cost.energy_unit} if cost.energy_unit else {})


def _opened(study: Study, steps: Steps) -> tuple[Room, dict[str, str]]:
    """The study ready for its methods, and the verdicts on its templates.

    One that is refused here leaves no journal, so that its corrected file may use the folder.
    """
    journal, out = steps.journal, steps.out
    fresh = not journal.entries
    try:
        identify(journal, study, out)
        proofs = prove_templates(steps, study)
        steps.listener.stage("listing the designs of each kernel")
        inner = open_inner(study)
        shared = Shared()
        answer = refuse_hopeless(study, Counted(inner, shared))
    except InputError:
        if fresh:
            journal.discard()
        raise
    evaluator = open_evaluator(study)
    room = Room(
        study, inner, evaluator, answer, journal, steps.listener, out, steps.executor, shared
    )
    return room, proofs


def _evaluator(room: Room) -> dict[str, Any] | None:
    found = room.evaluator
    if found is None:
        return None
    return {"name": found.name, "evidence": found.evidence, "noise": float(found.noise)}


def _ceiling(room: Room, budget: Fraction | None) -> tuple[CeilingResult, Point | None]:
    """All methods under one ceiling, the best chip among theirs, and a bound."""
    study, at = room.study, label(room, budget)
    runs: dict[Method, list[Outcome]] = {}
    entries_of: dict[Method, list[int]] = {}
    relaxed: dict[Method, Relaxed] = {}
    for method in study.search.methods:
        room.listener.stage(f"{at} {method}")
        if method in RELAXATIONS:
            relaxed[method] = run_relaxation(room, budget, method)
            runs[method] = [relaxed[method].outcome]
            entries_of[method] = [relaxed[method].entries[-1]]
        else:
            runs[method] = run_method(room, at, budget, method)
            entries_of[method] = [room.entry(k) for k in keys_of(room, at, method)]
        room.listener.done(f"{at} {method}: {_said(runs[method])}")
    best = best_of([o for each in runs.values() for o in each])
    bound = _bound(room, at, budget, runs, best)
    if bound is not None and best is not None:
        best = best_of([best, bound])
    least = None if best is None else best.objective
    scenarios: tuple[ScenarioRow, ...] = ()
    entries: dict[str, int] = {}
    stairs: tuple[Staircase, ...] = ()
    parts: dict[str, tuple[float, float]] = {}
    if best is not None and best.point is not None:
        scenarios, entries = scenario_rows(room, at, budget, best.point)
        stairs = staircases(room, at, best.point)
        parts = area_parts(study.library, study.start, best.point)
    if bound is not None:
        entries["bound"] = room.entry(f"{at}/{bound.method}")
    bought = best_of([runs[m][0] for m in reversed(RELAXATIONS) if m in runs])
    path = None if bought is None else relaxed[cast(Method, bought.method)]
    low = None if bound is None else bound.bound
    result = CeilingResult(
        budget=number(budget),
        chip=None if best is None or best.point is None else shown(study.library, best.point),
        area=None if best is None else number(best.area),
        objective=number(least),
        found_by="" if best is None else best.method,
        bound=number(low),
        gap=_gap(least, low),
        scenarios=scenarios,
        purchases=() if path is None else purchase_rows(path.state, path.entries),
        purchases_of="" if bought is None else bought.method,
        certificate=_certificate(path),
        methods=told_apart(
            room.journal,
            tuple(method_row(study.library, m, o, entries_of[m], least) for m, o in runs.items()),
        ),
        entries=entries,
        area_parts=parts,
        staircases=stairs,
    )
    return result, None if best is None else best.point


def _certificate(path: Relaxed | None) -> dict[str, Any] | None:
    shown = None if path is None else path.state.certificate
    if path is None or shown is None:
        return None
    back = given_back_last(path.state)
    return {**shown, "done": path.state.done, "reclaimed": back, "entry": path.entries[-1]}


def _said(runs: list[Outcome]) -> str:
    best = best_of(runs)
    if best is None or best.objective is None:
        return next((o.note for o in runs if o.note), "no chip")
    solves = " ".join(str(o.solves) for o in runs[:10])
    return f"objective {float(best.objective):.6g}, inner solves {solves}"


def _bound(
    room: Room,
    at: str,
    budget: Fraction | None,
    runs: dict[Method, list[Outcome]],
    best: Outcome | None,
) -> Outcome | None:
    """That of the exact method where it closed, else one that begins at the best chip."""
    exact = [o for o in runs.get("joint", []) if o.bound is not None]
    closed = next((o for o in exact if o.gap is not None and o.gap < Fraction(1, 10**6)), None)
    if closed is not None or best is None:
        return closed
    found = bound_below(room, at, budget, best)
    return max([found, *exact], key=lambda o: o.bound or Fraction(0))


def _gap(objective: Fraction | None, bound: Fraction | None) -> float | None:
    if objective is None or bound is None:
        return None
    # Below zero the bound is none, and that must show.
    return 0.0 if objective == 0 else float(1 - bound / objective)


def _front(room: Room, known: Sequence[Point]) -> Front | None:
    """The front within the largest ceiling, where the study asks for one.

    ``known``: the best chip of each ceiling, which is on it whatever the tolerance passes over.
    """
    study = room.study
    if study.front_tolerance is None:
        return None
    room.listener.stage("the front of objective and area")
    gap = float(study.front_tolerance)
    limits = Until(gap=gap, seconds=study.search.bound_seconds)

    def run() -> dict[str, Any]:
        found = pareto_front(counted(room), study.budgets[-1], limits, known=known)
        return {
            "points": [[list(p.point), str(p.objective), str(p.area)] for p in found.points],
            "tolerance": found.tolerance,
            "complete_to": None if found.complete_to is None else str(found.complete_to),
            "solves": found.solves,
            "relaxations": found.relaxations,
            "seconds": found.seconds,
        }

    data = room.journal.step("front", run)
    points = tuple(
        FrontPoint(tuple(p), Fraction(objective), Fraction(area))
        for p, objective, area in data["points"]
    )
    complete = None if data["complete_to"] is None else Fraction(data["complete_to"])
    room.listener.done(f"front: {len(points)} chips")
    return Front(
        points, data["tolerance"], complete, data["solves"], data["relaxations"], data["seconds"]
    )


def _front_rows(room: Room, front: Front | None) -> tuple[ChipRow, ...]:
    if front is None:
        return ()
    entry = room.entry("front")
    return tuple(
        ChipRow(
            "",
            shown(room.study.library, p.point),
            float(p.area),
            float(p.objective),
            False,
            "",
            entry,
        )
        for p in front.points
    )


def _chip_rows(room: Room, front: Front | None) -> tuple[ChipRow, ...]:
    """The chips that the study names, each with the best software for it."""
    study = room.study
    rows: list[ChipRow] = []
    for chip in study.chips:
        key = f"chip/{chip.name}"
        data = room.journal.step(key, lambda p=chip.point: _objective(room, p))  # type: ignore[misc]
        objective = None if data["objective"] is None else Fraction(data["objective"])
        area = Fraction(data["area"])
        beaten = None
        if front is not None and objective is not None:
            beaten = front.beating(objective, area) is not None
            if not beaten and front.complete_to is not None and area >= front.complete_to:
                beaten = None
        rows.append(
            ChipRow(
                chip.name,
                shown(study.library, chip.point),
                float(area),
                number(objective),
                beaten,
                chip.source,
                room.entry(key),
            )
        )
    return tuple(rows)


def _objective(room: Room, point: tuple[int, ...]) -> dict[str, Any]:
    answer = room.inner.solve(point)
    objective = None if answer.objective is None else str(answer.objective)
    area = room.study.library.area(point)
    return {"objective": objective, "area": str(area), "reason": answer.reason}
