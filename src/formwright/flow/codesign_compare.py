"""Outcomes of methods laid side by side, and what the best chip gives each scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from formwright.chip.library import Library, Point
from formwright.flow.codesign_relaxing import recalibration
from formwright.flow.codesign_results import DesignRow, MethodRow, ScenarioRow
from formwright.flow.codesign_setting import Room, open_inner, plain, shown
from formwright.ir.expr import Scalar
from formwright.walls.bounds import Until, branch_and_bound
from formwright.walls.core import Chosen
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
    data = room.journal.step(f"{at}/scenarios", lambda: _told(room, point))
    entry = room.entry(f"{at}/scenarios")
    entries = {"scenarios": entry}
    alone: dict[str, Mapping[str, Any]] = {}
    if len(data) > 1 and room.study.objective != "energy-delay":
        for told in data:
            key = f"{at}/alone/{told['name']}"
            room.listener.stage(f"{at} the best chip for {told['name']} alone")
            one = room.journal.step(key, lambda n=told["name"]: _alone(room, n, budget, point))  # type: ignore[misc]
            alone[told["name"]] = one
            entries[f"alone/{told['name']}"] = room.entry(key)
    return tuple(_scenario(told, alone.get(told["name"]), entry) for told in data), entries


def _scenario(told: Mapping[str, Any], alone: Mapping[str, Any] | None, entry: int) -> ScenarioRow:
    ratio = Fraction(told["ratio"])
    own = None if alone is None else Fraction(alone["ratio"])
    return ScenarioRow(
        name=told["name"],
        time=float(Fraction(told["time"])),
        energy=_read(told["energy"]),
        ratio=float(ratio),
        alone=number(own),
        loses=None if not own else float(ratio / own - 1),
        designs=tuple(
            DesignRow(
                work=d["work"],
                template=d["template"],
                assignment=dict(d["assignment"]),
                count=d["count"],
                time=float(Fraction(d["time"])),
                energy=_read(d["energy"]),
                evaluated=_read(d["evaluated"]),
            )
            for d in told["designs"]
        ),
        entry=entry,
        alone_note="" if alone is None else alone["note"],
    )


def _told(room: Room, point: Point) -> list[dict[str, Any]]:
    """Each scenario on the chip at ``point``, with its designs as model and evaluator see them."""
    chip = room.study.library.values(point)
    return [
        {
            "name": s.name,
            "time": str(s.time),
            "energy": _text(s.energy),
            "ratio": str(s.ratio),
            "designs": [
                {
                    "work": c.work,
                    "template": c.template,
                    # The journal sorts keys; a reader expects the order of the template.
                    "assignment": list(c.assignment.items()),
                    "count": c.count,
                    "time": str(c.time),
                    "energy": _text(c.energy),
                    "evaluated": _text(_evaluated(room, c, chip)),
                }
                for c in s.chosen
            ],
        }
        for s in room.inner.solve(point).scenarios
    ]


def _evaluated(room: Room, chosen: Chosen, chip: Mapping[str, Scalar]) -> Fraction | None:
    """The evaluator's time of a design."""
    if room.evaluator is None:
        return None
    extents = {k.name: k.extents for s in room.study.scenarios for k, _ in s.works}
    design = (chosen.template, extents[chosen.work], chosen.assignment)
    return room.evaluator.evaluate(*design, chip).time


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _read(value: str | None) -> float | None:
    return None if value is None else float(Fraction(value))


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
