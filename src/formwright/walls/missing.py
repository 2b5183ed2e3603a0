"""A term that the cost model lacks, named from the evaluator's counters.

Where no refit explains what was evaluated, each counter is asked: does so much a count, on top of
the model or as a bound beside it, explain the evaluated times? The counter that does names the wall
(the library's field it belongs to). If the study says what it counts of a design, and that agrees
with what was counted, the term goes into the template's cost with a coefficient of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log
from statistics import median
from typing import Any, Literal, get_args

from scipy.optimize import minimize_scalar

from formwright.ir.expr import Arith, Expr, MinMax, Var
from formwright.ir.template import Coefficient, Cost, Template
from formwright.walls.counters import Counter
from formwright.walls.fitting import EXACT, Fit
from formwright.walls.observed import Compared, as_floats, log_ratio

Form = Literal["added", "beside"]
"""``added``: every bound of the cost grows by the term. ``beside``: the term is one more bound."""

FORMS: tuple[Form, ...] = get_args(Form)

SPREAD = log(1e4)
"""How far from the first guess the cost of one count is looked for, up and down."""
AGREE = Fraction(1, 100)
"""How near a counter must be to what the study says it counts."""


@dataclass(frozen=True, slots=True)
class Term:
    """``weight``: time of one count, in the unit of the cost. ``stated``: it can be added."""

    counter: str
    field: str
    form: Form
    weight: Fraction
    fit: Fit
    stated: bool
    why: str

    @property
    def coefficient(self) -> str:
        return f"per_{self.counter}"

    def as_json(self) -> dict[str, Any]:
        return {
            "counter": self.counter,
            "field": self.field,
            "form": self.form,
            "weight": str(self.weight),
            "error": self.fit.error,
            "inside": self.fit.inside,
            "stated": self.stated,
            "why": self.why,
        }


def terms(
    rows: Sequence[Compared],
    present: Mapping[str, Fraction],
    counters: Sequence[Counter],
    noise: float,
) -> list[Term]:
    """For each counter that was seen, the better of both forms; the best explanation first."""
    named = {c.name: c for c in counters}
    seen = sorted({name for row in rows for name in row.seen.evaluation.counters})
    found = [_term(rows, present, named.get(name), name, noise) for name in seen]
    return sorted((t for t in found if t is not None), key=lambda t: (t.fit.score, t.counter))


def _term(
    rows: Sequence[Compared],
    present: Mapping[str, Fraction],
    counter: Counter | None,
    name: str,
    noise: float,
) -> Term | None:
    plain = as_floats(present)
    times = [(row.time(plain), float(row.seen.evaluation.time)) for row in rows]
    counts = [float(row.seen.evaluation.counters.get(name, 0)) for row in rows]
    pairs = [(p, e, c) for (p, e), c in zip(times, counts, strict=True)]
    fitted = [f for form in FORMS if (f := _weight(pairs, form)) is not None]
    if not fitted:
        return None
    _, weight, form = min(fitted)
    fit = _fit(pairs, weight, form, noise)
    stated, why = _stated(rows, counter)
    field = "" if counter is None else counter.field
    return Term(name, field, form, weight, fit, stated, why)


Pairs = Sequence[tuple[float, float, float]]
"""Predicted, evaluated, counted."""


def _errors(pairs: Pairs, weight: float, form: Form) -> list[float]:
    if form == "added":
        return [log_ratio(p + weight * c, e) for p, e, c in pairs]
    return [log_ratio(max(p, weight * c), e) for p, e, c in pairs]


def _weight(pairs: Pairs, form: Form) -> tuple[float, Fraction, Form] | None:
    """The cost of one count that fits best: loss, weight, form."""
    if form == "added":
        guesses = [(e - p) / c for p, e, c in pairs if c > 0 and e > p]
    else:
        guesses = [e / c for p, e, c in pairs if c > 0 and e > p]
    if not guesses:
        return None
    guess = median(guesses)

    def at(shift: float) -> float:
        errors = _errors(pairs, guess * exp(shift), form)
        return sum(e * e for e in errors) / len(errors)

    steps = 80
    step = 2 * SPREAD / steps
    best = min((SPREAD * (2 * n / steps - 1) for n in range(steps + 1)), key=at)
    found = minimize_scalar(
        at, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-8}
    )
    value = guess * exp(float(found.x) if at(float(found.x)) < at(best) else best)
    weight = _rounded(value)
    errors = _errors(pairs, float(weight), form)
    return sum(e * e for e in errors) / len(errors), weight, form


def _rounded(value: float) -> Fraction:
    """Six digits: more than an evaluator's noise leaves sure."""
    return Fraction(f"{value:.5e}")


def _fit(pairs: Pairs, weight: Fraction, form: Form, noise: float) -> Fit:
    errors = _errors(pairs, float(weight), form)
    n = len(errors)
    error = (sum(e * e for e in errors) / n) ** 0.5
    inside = sum(abs(e) <= log(1 + noise) + EXACT for e in errors) / n
    # Two choices are paid for: the counter and its weight.
    score = n * log(max(error, EXACT) ** 2) + 2 * log(n)
    return Fit({}, error, inside, score)


def _stated(rows: Sequence[Compared], counter: Counter | None) -> tuple[bool, str]:
    """Whether the counter's expression gives what was counted, for every observation."""
    if counter is None:
        return False, "the study does not say what it counts"
    for row in rows:
        said = row.counted.get(counter.name)
        if said is None:
            return False, f"the study does not say what it counts of {row.seen.design.template}"
        found = row.seen.evaluation.counters.get(counter.name, Fraction(0))
        if abs(said - found) > AGREE * max(abs(found), abs(said)):
            return False, f"the study says {float(said):.4g} where {float(found):.4g} were counted"
    return True, ""


def with_term(template: Template, counter: Counter, form: Form, weight: Fraction) -> Template:
    """``template`` with the term in its cost; only the cost changes, so its proof stands."""
    cost = template.cost
    if cost is None or template.name not in counter.counts:
        raise ValueError(f"{template.name} cannot take the counter {counter.name}")
    name = f"per_{counter.name}"
    term = Arith("*", Var(name), counter.counts[template.name])
    return replace(template, cost=_with(cost, Coefficient(name, weight), term, form))


def _with(cost: Cost, coefficient: Coefficient, term: Expr, form: Form) -> Cost:
    coefficients = (*cost.coefficients, coefficient)
    if form == "added":
        bounds = tuple(replace(b, value=Arith("+", b.value, term)) for b in cost.bounds)
    else:
        # A bound beside the others must hold under every guard, so it goes into each of them.
        bounds = tuple(replace(b, value=MinMax("max", (b.value, term))) for b in cost.bounds)
    return replace(cost, coefficients=coefficients, bounds=bounds)
