"""Step 4 of the relaxation: a purchase is evaluated, and a model that missed is repaired.

A purchase *agrees* where the evaluated drop of the objective lies within the noise of the predicted
one, and so do the times (and energies) of nine designs in ten, none further off than twice the
noise. Otherwise it misses. Then, template by template:

1. each coefficient alone is refitted to what was evaluated (the designs before and after the
   purchase, and a sample drawn once), then all together;
2. if no refit brings the misses back, each counter of the evaluator is tried as a term that the
   model lacks;
3. if nothing brings them all back, what takes a third of the error away is kept as partial;
4. else the miss stays, marked as unexplained.

A verdict depends on the model, the purchase and the sample alone, so a resumed run judges alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from typing import Any

from formwright.simulate.evaluator import Evaluation, Evaluator
from formwright.walls.agreement import ranked, sampled
from formwright.walls.core import Chosen, Inner
from formwright.walls.counters import Counter
from formwright.walls.counting import Counted
from formwright.walls.explaining import INSIDE, Search
from formwright.walls.fitting import EXACT
from formwright.walls.inner import Store, TemplateInner, build_inner
from formwright.walls.measured import objective_by
from formwright.walls.observed import (
    Compared,
    Design,
    Observer,
    Seen,
    as_floats,
    compare,
    designs_of,
    present_of,
)
from formwright.walls.problem import CodesignProblem
from formwright.walls.repairs import Repair, repaired
from formwright.walls.verdict import Agrees, Judge, Repaired, Unexplained, Verdict, Visit

FAR = 2
"""Noises: nothing may be further off, however few the strays."""
LIMIT = 12
"""Repairs of one run; a model that needs more is not repaired but searched for by luck."""


@dataclass(slots=True)
class Recalibration:
    """``problem`` holds the model to begin with; ``noise`` is relative.

    ``samples`` designs are drawn with ``seed`` and evaluated when a purchase first misses.
    """

    problem: CodesignProblem
    evaluator: Evaluator
    noise: Fraction
    counters: Sequence[Counter] = ()
    samples: int = 30
    seed: int = 0
    store: Store = field(default_factory=Store)
    repairs: list[Mapping[str, Any]] = field(default_factory=list)
    _observer: Observer | None = None
    _sample: list[Seen] | None = None

    @property
    def observer(self) -> Observer:
        if self._observer is None:
            self._observer = Observer(self.problem, self.evaluator)
        return self._observer

    @property
    def present(self) -> CodesignProblem:
        """The problem with the model as it is now."""
        return repaired(self.problem, self.repairs, self.counters)

    def rebuild(self, repairs: Sequence[Mapping[str, Any]]) -> Inner:
        """The inner problem after the journaled ``data`` of ``Repaired`` verdicts, in order."""
        self.repairs = [each for data in repairs for each in data["repairs"]]
        return build_inner(self.present, self.store)

    def judge(self, inner: Inner) -> Judge:
        """Judges purchases by ``inner`` until one repairs the model, then by the repaired one.

        What is asked of a :class:`Counted` one here is no part of the search, and not counted.
        """
        current = inner.inner if isinstance(inner, Counted) else inner
        if isinstance(current, TemplateInner):
            self.store = current.store

        def verdict(before: Visit, after: Visit) -> Verdict:
            nonlocal current
            found = _verdict(self, current, before, after)
            if isinstance(found, Repaired):
                current = found.inner
            return found

        return verdict

    def sample(self) -> list[Seen]:
        """Drawn without the model, so that it is the same before and after repairs."""
        if self._sample is None:
            self._sample = sampled(self.problem, None, self.observer, self.samples, self.seed)
        return self._sample


def _verdict(run: Recalibration, inner: Inner, before: Visit, after: Visit) -> Verdict:
    problem = run.present
    designs = {d.key: d for v in (before, after) for d in designs_of(v.point, v.answer)}
    visited = [run.observer.see(d) for d in designs.values()]
    by_template = compare(problem, visited, run.counters)
    missed = _beyond(problem, by_template, run.noise)
    far = _beyond(problem, by_template, FAR * run.noise)
    strays = not any(far.values()) and _count(missed) <= (1 - INSIDE) * len(visited)
    drop = _drops(run, inner, before, after)
    data: dict[str, Any] = {
        "evaluator": run.evaluator.name,
        "evidence": run.evaluator.evidence,
        "noise": float(run.noise),
        "evaluated_designs": len(visited),
        **drop.as_json(),
        "missed": [_told(problem, n, row) for n, rows in missed.items() for row in rows],
    }
    if drop.agrees(run.noise) and strays:
        return Agrees(data)
    if not any(missed.values()):
        # Each kernel is within the noise, their sum is not: all of them are looked at.
        missed = dict(by_template)
    if len(run.repairs) >= LIMIT:
        return Unexplained({**data, "why": f"the model has been repaired {LIMIT} times"})
    return _repair(run, problem, visited, missed, data)


def _repair(
    run: Recalibration,
    problem: CodesignProblem,
    visited: Sequence[Seen],
    missed: Mapping[str, Sequence[Compared]],
    data: dict[str, Any],
) -> Verdict:
    every = {s.design.key: s for s in (*visited, *run.sample())}
    rows = compare(problem, every.values(), run.counters)
    tried: list[dict[str, Any]] = []
    repairs: list[Repair] = []
    for name in sorted(n for n, found in missed.items() if found):
        present = present_of(problem, name)
        noise = float(run.noise)
        search = Search(name, present, rows[name], missed[name], run.counters, noise)
        repair, told = search.run()
        tried.append(told)
        if repair is not None:
            repairs.append(repair)
    data = {**data, "tried": tried, "rank_before": ranked(problem, list(every.values()))["rank"]}
    if not repairs:
        return Unexplained({**data, "why": "no coefficient and no counter explains the misses"})
    made = [r.as_json() for r in repairs]
    run.repairs = [*run.repairs, *made]
    after = ranked(run.present, list(every.values()))["rank"]
    inner = build_inner(run.present, run.store)
    return Repaired(inner, {**data, "repairs": made, "rank_after": after})


def _beyond(
    problem: CodesignProblem, rows: Mapping[str, Sequence[Compared]], noise: Fraction
) -> dict[str, list[Compared]]:
    """Of each template, the designs whose time or energy is off by more than ``noise``."""
    band = log(1 + float(noise)) + EXACT
    found: dict[str, list[Compared]] = {}
    for name, mine in rows.items():
        present = as_floats(present_of(problem, name))
        found[name] = [r for r in mine if any(abs(e) > band for e in r.errors(present))]
    return found


def _count(rows: Mapping[str, Sequence[Compared]]) -> int:
    return sum(len(mine) for mine in rows.values())


def _told(problem: CodesignProblem, template: str, row: Compared) -> dict[str, Any]:
    design = row.seen.design
    return {
        "kernel": design.kernel,
        "template": template,
        "point": list(design.point),
        "predicted": row.time(as_floats(present_of(problem, template))),
        "evaluated": float(row.seen.evaluation.time),
    }


@dataclass(frozen=True, slots=True)
class _Drops:
    """What the purchase takes off the objective; ``None`` where a side has no objective."""

    predicted: Fraction | None
    evaluated: Fraction | None
    base: Fraction | None

    def agrees(self, noise: Fraction) -> bool:
        if self.predicted is None or self.evaluated is None or self.base is None:
            return True
        return abs(self.predicted - self.evaluated) <= noise * self.base

    def as_json(self) -> dict[str, Any]:
        return {
            "predicted": None if self.predicted is None else float(self.predicted),
            "evaluated": None if self.evaluated is None else float(self.evaluated),
        }


def _drops(run: Recalibration, inner: Inner, before: Visit, after: Visit) -> _Drops:
    reference = inner.solve(run.problem.reference)

    def objective(visit: Visit) -> Fraction | None:
        return objective_by(
            run.problem,
            visit.answer,
            lambda c: _see(run, c, visit),
            reference,
            lambda c: _see(run, c, Visit(run.problem.reference, reference)),
        )

    old, new = objective(before), objective(after)
    told = (before.answer.objective, after.answer.objective)
    predicted = None if told[0] is None or told[1] is None else told[0] - told[1]
    evaluated = None if old is None or new is None else old - new
    return _Drops(predicted, evaluated, old)


def _see(run: Recalibration, chosen: Chosen, visit: Visit) -> Evaluation:
    design = Design(chosen.work, chosen.template, chosen.assignment, visit.point)
    return run.observer.see(design).evaluation
