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
from typing import Any, Literal, assert_never, get_args

from formwright.ir.expr import Arith, Expr, MinMax, Var
from formwright.ir.template import Coefficient, Cost, Template
from formwright.walls.counters import Counter
from formwright.walls.fitting import EXACT, Fit
from formwright.walls.observed import Compared, as_floats, log_ratio

Form = Literal["added", "beside", "energy"]
"""``added``: every bound of the cost grows by the term. ``beside``: the term is one more bound.
``energy``: the energy grows by it."""

FORMS: tuple[Form, ...] = get_args(Form)

SPREAD = log(1e4)
"""How far from the first guess the cost of one count is looked for, up and down."""
AGREE = Fraction(1, 100)
"""How near a counter must be to what the study says it counts."""


@dataclass(frozen=True, slots=True)
class Term:
    """``weight``: time or energy of one count, in the cost's unit. ``stated``: it can be added."""

    counter: str
    field: str
    form: Form
    weight: Fraction
    fit: Fit
    stated: bool
    why: str

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


def coefficient_of(counter: str, form: Form) -> str:
    """The name that the weight of a term has among the template's coefficients."""
    return f"energy_per_{counter}" if form == "energy" else f"per_{counter}"


def terms(
    rows: Sequence[Compared],
    present: Mapping[str, Fraction],
    counters: Sequence[Counter],
    noise: float,
) -> list[Term]:
    """For each counter that was seen, the best of its forms; the best explanation first.

    A term that the cost has already is not offered again: a refit moves its coefficient.
    """
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
    fitted = []
    for form in FORMS:
        if coefficient_of(name, form) not in present:
            given = _Given(form, *_pairs(rows, plain, name, form))
            weight = _weight(given)
            fitted += (
                [] if weight is None else [(_loss(given.errors(float(weight))), weight, given)]
            )
    if not fitted:
        return None
    _, weight, given = min(fitted, key=lambda f: f[0])
    fit = _fit(given.errors(float(weight)), noise)
    stated, why = _stated(rows, counter)
    field = "" if counter is None else counter.field
    return Term(name, field, given.form, weight, fit, stated, why)


Pairs = Sequence[tuple[float, float, float]]
"""Predicted, evaluated, counted."""


@dataclass(frozen=True, slots=True)
class _Given:
    """The figure that a term is about, and the errors of the other, which it leaves as they are."""

    form: Form
    pairs: Pairs
    rest: Sequence[float]

    def errors(self, weight: float) -> list[float]:
        if self.form == "beside":
            return [*(log_ratio(max(p, weight * c), e) for p, e, c in self.pairs), *self.rest]
        return [*(log_ratio(p + weight * c, e) for p, e, c in self.pairs), *self.rest]


def _pairs(
    rows: Sequence[Compared], plain: Mapping[str, float], name: str, form: Form
) -> tuple[Pairs, list[float]]:
    about, rest = 1 if form == "energy" else 0, []
    pairs: list[tuple[float, float, float]] = []
    for row in rows:
        count = float(row.seen.evaluation.counters.get(name, 0))
        for n, (predicted, evaluated) in enumerate(row.pairs(plain)):
            if n == about:
                pairs.append((predicted, evaluated, count))
            else:
                rest.append(log_ratio(predicted, evaluated))
    return pairs, rest


def _loss(errors: Sequence[float]) -> float:
    return sum(e * e for e in errors) / len(errors)


def _weight(given: _Given) -> Fraction | None:
    """The cost of one count that fits best, if any design takes longer than the model says."""
    from scipy.optimize import minimize_scalar

    short = [(p, e, c) for p, e, c in given.pairs if c > 0 and e > p]
    if not short:
        return None
    guess = median(e / c if given.form == "beside" else (e - p) / c for p, e, c in short)

    def at(shift: float) -> float:
        return _loss(given.errors(guess * exp(shift)))

    steps = 80
    step = 2 * SPREAD / steps
    best = min((SPREAD * (2 * n / steps - 1) for n in range(steps + 1)), key=at)
    found = minimize_scalar(
        at, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-8}
    )
    return _rounded(guess * exp(float(found.x) if at(float(found.x)) < at(best) else best))


def _rounded(value: float) -> Fraction:
    """Six digits: more than an evaluator's noise leaves sure."""
    return Fraction(f"{value:.5e}")


def _fit(errors: Sequence[float], noise: float) -> Fit:
    n = len(errors)
    error = _loss(errors) ** 0.5
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
    name = coefficient_of(counter.name, form)
    term = Arith("*", Var(name), counter.counts[template.name])
    return replace(template, cost=_with(cost, Coefficient(name, weight), term, form))


def _with(cost: Cost, coefficient: Coefficient, term: Expr, form: Form) -> Cost:
    coefficients = (*cost.coefficients, coefficient)
    match form:
        case "added":
            bounds = tuple(replace(b, value=Arith("+", b.value, term)) for b in cost.bounds)
            return replace(cost, coefficients=coefficients, bounds=bounds)
        case "beside":
            # A bound beside the others must hold under every guard, so it goes into each of them.
            bounds = tuple(replace(b, value=MinMax("max", (b.value, term))) for b in cost.bounds)
            return replace(cost, coefficients=coefficients, bounds=bounds)
        case "energy":
            if cost.energy is None:
                raise ValueError("a cost without energies cannot take a term of them")
            return replace(cost, coefficients=coefficients, energy=Arith("+", cost.energy, term))
        case _:
            assert_never(form)
