"""Learning from measurements: the cost model's coefficients, refitted.

The objective is a maximum of terms, so the error is not smooth; a simplex search over the
logarithms of the coefficients needs no derivative. A weak pull towards the present
values decides what the measurements leave open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log

from formwright.ir.expr import Scalar
from formwright.ir.floats import floats
from formwright.ir.template import Template
from formwright.measure.statistics import rank_correlation
from formwright.milp.check import objective_of
from formwright.milp.problem import cost_over

PULL = 0.01
"""Weight of (log change)^2 beside the mean squared log error."""
RANGE = log(50.0)
"""No coefficient moves further than a factor of 50 from its default."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured design: ``parameters`` as the solver takes them, ``seconds`` a median."""

    parameters: Mapping[str, Scalar]
    assignment: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Refit:
    """``error_*``: the mean of |log(predicted/measured)|. ``rank``: Spearman, after."""

    coefficients: dict[str, Fraction]
    error_before: float
    error_after: float
    rank: float | None
    observations: int


def predictions(
    template: Template,
    observations: Sequence[Observation],
    coefficients: Mapping[str, Fraction],
) -> list[float]:
    """Seconds by the cost model, in the order of ``observations``."""
    return [
        float(objective_of(template, o.parameters, o.assignment, dict(coefficients)))
        for o in observations
    ]


def mean_error(predicted: Sequence[float], observations: Sequence[Observation]) -> float:
    """The mean of |log(predicted/measured)|: 0.1 is about ten per cent."""
    pairs = zip(predicted, observations, strict=True)
    return sum(abs(log(p / o.seconds)) for p, o in pairs) / len(observations)


def refit(
    template: Template,
    observations: Sequence[Observation],
    coefficients: Mapping[str, Fraction] | None = None,
) -> Refit:
    """Coefficients that predict ``observations`` better, or the present ones.

    Raises:
        ValueError: no observations, or a template without a cost model.
    """
    if not observations or template.cost is None:
        raise ValueError("refit needs a cost model and at least one measurement")
    defaults = {c.name: c.default for c in template.cost.coefficients}
    present = {**defaults, **(coefficients or {})}
    before = predictions(template, observations, present)
    names = sorted(defaults)
    found = dict(present)
    if names:
        found = _search(template, observations, names, present, defaults)
    after = predictions(template, observations, found)
    if mean_error(after, observations) > mean_error(before, observations):
        found, after = dict(present), before
    return Refit(
        found,
        mean_error(before, observations),
        mean_error(after, observations),
        rank_correlation(after, [o.seconds for o in observations]),
        len(observations),
    )


def _search(
    template: Template,
    observations: Sequence[Observation],
    names: list[str],
    present: Mapping[str, Fraction],
    defaults: Mapping[str, Fraction],
) -> dict[str, Fraction]:
    from scipy.optimize import minimize

    start = [0.0] * len(names)
    costs = [floats(cost_over(template, o.parameters, o.assignment, names)) for o in observations]

    def at(point: Sequence[float]) -> dict[str, Fraction]:
        moved = dict(present)
        for name, shift in zip(names, point, strict=True):
            away = log(float(present[name] / defaults[name])) + float(shift)
            bounded = max(-RANGE, min(RANGE, away))
            scaled = float(defaults[name]) * exp(bounded)
            moved[name] = Fraction(scaled).limit_denominator(10**6)
        return moved

    def loss(point: Sequence[float]) -> float:
        moved = {name: float(value) for name, value in at(point).items()}
        predicted = [cost(moved) for cost in costs]
        pairs = zip(predicted, observations, strict=True)
        error = sum(log(p / o.seconds) ** 2 for p, o in pairs) / len(observations)
        return float(error + PULL * sum(float(x) ** 2 for x in point))

    result = minimize(
        loss, start, method="Nelder-Mead", options={"maxiter": 200 * len(names), "xatol": 1e-3}
    )
    return at([float(x) for x in result.x])
