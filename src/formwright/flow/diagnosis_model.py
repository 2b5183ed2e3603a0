"""Prediction: is it a coefficient of the cost model that is wrong, or does a term miss?

A refit answers first, one coefficient alone and then all; where none brings the measured designs
back, each counter of the program text is tried as a term (:mod:`formwright.walls.explaining`).
What no refit and no counter explains disagrees with every term: a wall is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import Any, Final

from formwright.base.diagnostics import InputError
from formwright.flow.diagnosis_data import Case, Diagnosis, Figure, Solved, Tried, measured
from formwright.ir.template import Template
from formwright.milp.problem import plain
from formwright.milp.solve import solve
from formwright.simulate.evaluator import Evaluation
from formwright.walls.explaining import Search
from formwright.walls.fitting import fit_of
from formwright.walls.observed import Compared, Design, Seen, as_floats, figures

MODEL: Final = 0.10
"""Relative: a model within this of every measurement is right, even if the clock is finer."""
LEAST: Final = 4
"""With fewer designs measured, a missing term and a wrong coefficient look alike."""


@dataclass(frozen=True, slots=True)
class Model:
    """What the measurements say of one template's cost model.

    ``error``: the largest of ``|log(predicted / measured)|`` by the coefficients that chose;
    ``refitted``: all coefficients after the best refit, ``left`` the largest error with them.
    """

    template: str
    rows: tuple[Tried, ...]
    noise: float
    error: float
    worst: Tried | None
    refitted: Mapping[str, Fraction]
    changed: Mapping[str, Fraction]
    left: float
    explained: Mapping[str, float]
    told: Mapping[str, Any]

    @property
    def right(self) -> bool:
        """The model that chose holds within the noise."""
        return self.error <= log(1 + self.noise)

    def unexplained(self, tried: Tried) -> float:
        """The part of a design's time that the refitted model does not have, at least 0."""
        return max(0.0, 1 - self.explained.get(_key(tried), tried.seconds) / tried.seconds)


def model_of(case: Case, solved: Solved, noise: float) -> Model | None:
    """The model of ``solved.template`` against all that was measured of it; ``None`` without
    a cost in seconds or a measurement."""
    template = case.templates.get(solved.template)
    mine = tuple(t for t in case.tried if t.template == solved.template)
    if template is None or template.cost is None or template.cost.unit != "seconds" or not mine:
        return None
    present = {c.name: c.default for c in template.cost.coefficients} | dict(solved.coefficients)
    rows = [_compared(template, t) for t in mine]
    errors = [abs(r.errors(as_floats(present))[0]) for r in rows]
    worst = max(range(len(rows)), key=lambda n: errors[n])
    missed = [r for r, e in zip(rows, errors, strict=True) if e > log(1 + noise)]
    told: dict[str, Any] = {"by": "", "wall": None, "terms": []}
    changed: Mapping[str, Fraction] = {}
    if missed:
        _, told = Search(solved.template, present, rows, missed, (), noise).run()
        changed = _best_refit(told, rows, present, noise)
    refitted = {**present, **changed}
    after = [r.errors(as_floats(refitted))[0] for r in rows]
    explained = {_key(t): r.time(as_floats(refitted)) for t, r in zip(mine, rows, strict=True)}
    return Model(
        solved.template,
        mine,
        noise,
        errors[worst],
        mine[worst],
        refitted,
        changed,
        max(abs(e) for e in after),
        explained,
        told,
    )


def prediction(
    case: Case, solved: Solved, model: Model, chosen: Tried | None, best: Tried
) -> Diagnosis | None:
    """The model ranks wrongly: its choice is slower than another measured design, or the refitted
    model has a design that it expects to be faster than all that were measured."""
    if model.right:
        return None
    regret = 0.0 if chosen is None else max(0.0, 1 - best.high / chosen.low)
    promised = _promise(case, solved, model, best)
    saved = 0.0 if promised is None else max(0.0, 1 - promised[1] / best.seconds)
    loss = 1 - (1 - regret) * (1 - saved)
    if loss <= model.noise:
        return None
    enough = len(model.rows) >= LEAST
    what = ", ".join(f"{n} = {float(v):.4g}" for n, v in sorted(model.changed.items()))
    says = (
        f"the cost model of {model.template} is off by up to {exp(model.error) - 1:.0%}"
        f" and ranks designs wrongly"
    )
    found = [
        Figure("error of the model that chose", model.error, "|log|", "modelled", solved.entry),
        Figure("error after the refit", model.left, "|log|", "modelled", solved.entry),
        measured("the best measured design", best),
    ]
    if chosen is not None:
        found.append(measured("the model's first choice", chosen))
    if promised is not None:
        found.append(
            Figure("promised by the refit", promised[1], "seconds", "modelled", solved.entry)
        )
    repair = f"refit {what} and solve again" if what else "measure designs further apart and refit"
    return Diagnosis(
        kind="prediction",
        template=model.template,
        loss=loss,
        evidence="measured" if regret > saved else "modelled",
        says=says if enough else f"{says}; {len(model.rows)} designs cannot tell why",
        repair=repair,
        action="refit" if what else "measure",
        figures=tuple(found),
        data={
            "coefficients": {n: str(v) for n, v in model.changed.items()},
            "assignment": {} if promised is None else dict(promised[0]),
        },
    )


def missing_wall(solved: Solved, model: Model, best: Tried) -> Diagnosis | None:
    """No refit brings the measurements back: a term is missing, named by a counter if one does."""
    told = model.told
    if model.right or model.left <= log(1 + model.noise) or len(model.rows) < LEAST:
        return None
    loss = max(model.unexplained(best), _spread(model))
    wall = told["wall"]
    if told["by"] == "refit" or loss <= model.noise:
        return None
    found = [
        Figure("error of the model that chose", model.error, "|log|", "modelled", solved.entry),
        Figure("error after the best refit", model.left, "|log|", "modelled", solved.entry),
        measured("the best measured design", best),
    ]
    worst = model.worst
    if worst is not None:
        found.append(measured("the design that the model misses most", worst))
    name = "" if wall is None else str(wall["counter"])
    term = next((t for t in told["terms"] if t["counter"] == name), None)
    if term is not None:
        weight = float(Fraction(term["weight"]))
        found.append(Figure(f"time of one of {name}", weight, "seconds", "modelled", solved.entry))
    named = f"{name.replace('_', ' ')} would explain it" if name else "no count of the text does"
    return Diagnosis(
        kind="missing wall",
        template=model.template,
        loss=loss,
        evidence="measured",
        says=f"no coefficients of {model.template} explain what was measured: {named}",
        repair=(
            f"give the cost a term for {name.replace('_', ' ')}, {_form(term)}"
            if name
            else "find what the time is waiting for, and give the cost a term for it"
        ),
        action="term" if name else "measure",
        figures=tuple(found),
        data={"counter": name, "term": term or {}, "field": _field(name)},
    )


def _form(term: Mapping[str, Any] | None) -> str:
    return "as one more bound" if term and term["form"] == "beside" else "on top of each bound"


def _field(counter: str) -> str:
    """The rate of the chip that a counter of bytes belongs to."""
    level = counter.removeprefix("bytes_")
    return f"{level}_bandwidth" if counter.startswith("bytes_") else ""


def _spread(model: Model) -> float:
    """The largest part of a measured time that the refitted model does not have."""
    return max((model.unexplained(t) for t in model.rows), default=0.0)


def _promise(
    case: Case, solved: Solved, model: Model, best: Tried
) -> tuple[Mapping[str, int], float] | None:
    """The refitted model's choice and its cost, if that design was not measured."""
    here = next((t for t in model.rows if t.workload == case.workload), None)
    if here is None or not model.changed:
        return None
    try:
        answer = solve(
            case.templates[model.template],
            here.parameters,
            coefficients=model.refitted,
            time_limit=10.0,
        )
    except InputError:
        return None
    if answer.status != "optimal" or answer.objective is None:
        return None
    known = {_design(t) for t in case.mine if t.template == model.template}
    if tuple(sorted(answer.assignment.items())) in known:
        return None
    return answer.assignment, float(answer.objective)


def _best_refit(
    told: Mapping[str, Any],
    rows: Sequence[Compared],
    present: Mapping[str, Fraction],
    noise: float,
) -> Mapping[str, Fraction]:
    """Of the refits that were tried, one that explains, else the one with the least score."""
    tried = [{n: Fraction(v) for n, v in f["coefficients"].items()} for f in told["refits"]]
    whole = [c for c, f in zip(tried, told["refits"], strict=True) if f["explains"]]
    options = [c for c in whole or tried if c]
    if not options:
        return {}
    return min(options, key=lambda c: fit_of(rows, present, c, noise).score)


def _compared(template: Template, tried: Tried) -> Compared:
    design = Design(tried.workload, tried.template, tried.assignment, ())
    seen = Seen(design, Evaluation(Fraction(tried.seconds), None, tried.counters))
    values = plain({**tried.parameters, **tried.assignment})
    return Compared(seen, figures(template, values), {})


def _design(tried: Tried) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(tried.assignment.items()))


def _key(tried: Tried) -> str:
    return f"{tried.entry} {_design(tried)}"
