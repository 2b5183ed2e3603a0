"""Outcomes of methods laid side by side, and what the best chip gives each scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from formwright.chip.library import Library, Point
from formwright.flow.codesign_relaxing import recalibration
from formwright.flow.codesign_results import DesignRow, MethodRow, ScenarioRow
from formwright.flow.codesign_setting import Room, open_inner, plain, shown
from formwright.walls.bounds import Until, branch_and_bound
from formwright.walls.core import Answer, Chosen, ScenarioAnswer
from formwright.walls.counting import Counted
from formwright.walls.inner import TemplateInner
from formwright.walls.outcome import Outcome
from formwright.walls.study import Study

NEAR: Final = Fraction(101, 100)
"""A run has come to the best of all methods where it is within 1 % of it."""


def best_of(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The least objective; of equal ones the least area, then the method that is named first."""
    found = [o for o in outcomes if o.objective is not None and o.area is not None]
    return min(found, key=lambda o: (o.objective, o.area), default=None)


def method_row(
    library: Library,
    method: str,
    runs: Sequence[Outcome],
    entries: Sequence[int],
    best: Fraction | None,
) -> MethodRow:
    """One line of the table of methods; ``best`` is the least objective of all methods."""
    top = best_of(runs)
    near = None if best is None else best * NEAR
    reach = [None if near is None else run.solves_to(near) for run in runs]
    bounds = [run.bound for run in runs if run.bound is not None]
    return MethodRow(
        method=method,
        chip=None if top is None or top.point is None else shown(library, top.point),
        area=None if top is None else number(top.area),
        objective=None if top is None else number(top.objective),
        bound=number(max(bounds, default=None)),
        objectives=tuple(number(run.objective) for run in runs),
        solves=tuple(run.solves for run in runs),
        evaluations=tuple(run.evaluations for run in runs),
        relaxations=tuple(run.relaxations for run in runs),
        solves_to_best=tuple(
            run.solves if r is None else r for run, r in zip(runs, reach, strict=True)
        ),
        reached_by=tuple(r is not None for r in reach),
        seconds=tuple(round(run.seconds, 6) for run in runs),
        note="; ".join(dict.fromkeys(run.note for run in runs if run.note)),
        entries=tuple(entries),
    )


def scenario_rows(
    room: Room, at: str, budget: Fraction | None, point: Point
) -> tuple[tuple[ScenarioRow, ...], dict[str, int]]:
    """What each scenario gets on the chip at ``point``, and what it would get on its own chip."""
    answer = room.inner.solve(point)
    evaluated = room.journal.step(f"{at}/evaluated", lambda: _evaluated(room, point, answer))
    entries = {"evaluated": room.entry(f"{at}/evaluated")}
    alone: dict[str, Fraction] = {}
    if len(answer.scenarios) > 1 and room.study.objective != "energy-delay":
        for scenario in answer.scenarios:
            key = f"{at}/alone/{scenario.name}"
            room.listener.stage(f"{at} the best chip for {scenario.name} alone")
            data = room.journal.step(key, lambda n=scenario.name: _alone(room, n, budget, point))  # type: ignore[misc]
            alone[scenario.name] = Fraction(data["ratio"])
            entries[f"alone/{scenario.name}"] = room.entry(key)
    rows = tuple(
        _scenario(s, alone.get(s.name), evaluated, entries["evaluated"]) for s in answer.scenarios
    )
    return rows, entries


def _scenario(
    found: ScenarioAnswer, alone: Fraction | None, evaluated: Mapping[str, Any], entry: int
) -> ScenarioRow:
    times = evaluated.get(found.name, {})
    return ScenarioRow(
        name=found.name,
        time=float(found.time),
        energy=number(found.energy),
        ratio=float(found.ratio),
        alone=number(alone),
        loses=None if not alone else float(found.ratio / alone - 1),
        designs=tuple(_design(c, times.get(c.work)) for c in found.chosen),
        entry=entry,
    )


def _design(chosen: Chosen, evaluated: str | None) -> DesignRow:
    return DesignRow(
        work=chosen.work,
        template=chosen.template,
        assignment=dict(chosen.assignment),
        count=chosen.count,
        time=float(chosen.time),
        energy=number(chosen.energy),
        evaluated=None if evaluated is None else float(Fraction(evaluated)),
    )


def _evaluated(room: Room, point: Point, answer: Answer) -> dict[str, dict[str, str]]:
    """The evaluator's time of each design, by scenario and work."""
    if room.evaluator is None:
        return {}
    extents = {k.name: k.extents for s in room.study.scenarios for k, _ in s.works}
    chip = room.study.library.values(point)
    return {
        s.name: {
            c.work: str(
                room.evaluator.evaluate(c.template, extents[c.work], c.assignment, chip).time
            )
            for c in s.chosen
        }
        for s in answer.scenarios
    }


def _alone(room: Room, name: str, budget: Fraction | None, known: Point) -> dict[str, Any]:
    one = only_scenario(room.study, name)
    store = room.inner.store if isinstance(room.inner, TemplateInner) else None
    inner = (
        recalibration(room, one).rebuild(room.repairs) if room.repairs else open_inner(one, store)
    )
    limits = Until(gap=1e-6, seconds=room.study.search.bound_seconds)
    found = branch_and_bound(Counted(inner), budget, known, limits)
    assert found.point is not None
    ratio = inner.solve(found.point).scenarios[0].ratio
    chip = {n: plain(Fraction(v)) for n, v in room.study.library.shown(found.point).items()}
    return {"ratio": str(ratio), "chip": chip, "note": found.note}


def only_scenario(study: Study, name: str) -> Study:
    return replace(
        study,
        scenarios=tuple(s for s in study.scenarios if s.name == name),
        programs=tuple(p for p in study.programs if p.name == name),
    )


def number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
