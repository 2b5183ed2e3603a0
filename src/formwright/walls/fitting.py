"""Refits of a cost model to what was evaluated: one coefficient at a time, or all together.

The loss is the root mean square of ``log(predicted / evaluated)``. It is not smooth (a cost is a
maximum of terms), so one coefficient is scanned over factors from 1/32 to 32 and refined where the
scan is least; all together go by a simplex search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

from formwright.walls.observed import Compared, all_errors, as_floats

REACH = log(32.0)
"""No coefficient is refitted by more than this factor, up or down."""
SCAN = 41
"""Factors of the scan; 1 is one of them."""
PULL = 1e-9
"""Weight of a change: what the observations leave open stays as it is."""
DRIFT = 1e-3
"""The same for all together, where more is left open: a free direction must not drift."""
EXACT = 1e-9
"""Errors below this count as none when refits are compared."""
SIMPLE = (1, 2, 3, 4, 5, 8, 10, 16, 20, 50, 100, 1000, 10**6)
"""Denominators that a refitted coefficient may have, the simplest that fits as well is taken."""


@dataclass(frozen=True, slots=True)
class Fit:
    """``changed``: new values of some coefficients of one template. ``error``: the loss with them.

    ``inside``: the part of the observations within the noise. ``score``: less is better, the
    criterion of Schwarz, which charges each changed coefficient.
    """

    changed: Mapping[str, Fraction]
    error: float
    inside: float
    score: float

    def as_json(self) -> dict[str, Any]:
        return {
            "coefficients": {n: str(v) for n, v in self.changed.items()},
            "error": self.error,
            "inside": self.inside,
        }


def loss(rows: Sequence[Compared], present: Mapping[str, float]) -> float:
    errors = all_errors(rows, present)
    return sqrt(sum(e * e for e in errors) / len(errors))


def fit_of(
    rows: Sequence[Compared],
    present: Mapping[str, Fraction],
    changed: Mapping[str, Fraction],
    noise: float,
) -> Fit:
    """What ``changed`` does to the errors over ``rows``; nothing changed is a fit as well."""
    errors = all_errors(rows, as_floats({**present, **changed}))
    n = len(errors)
    error = sqrt(sum(e * e for e in errors) / n)
    band = log(1 + noise) + EXACT
    inside = sum(abs(e) <= band for e in errors) / n
    score = n * log(max(error, EXACT) ** 2) + len(changed) * log(n)
    return Fit(dict(changed), error, inside, score)


def single(
    rows: Sequence[Compared], present: Mapping[str, Fraction], name: str, noise: float
) -> Fit:
    """The best value of one coefficient, the others as they are."""
    from scipy.optimize import minimize_scalar

    if present[name] <= 0:
        return fit_of(rows, present, {}, noise)
    plain = as_floats(present)

    def at(shift: float) -> float:
        moved = {**plain, name: plain[name] * exp(shift)}
        return loss(rows, moved) + PULL * shift * shift

    step = 2 * REACH / (SCAN - 1)
    best = min((REACH * (2 * n / (SCAN - 1) - 1) for n in range(SCAN)), key=at)
    found = minimize_scalar(
        at, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-7}
    )
    shift = float(found.x) if at(float(found.x)) < at(best) else best
    value = simplest(rows, present, name, plain[name] * exp(shift))
    changed = {} if value == present[name] else {name: value}
    return fit_of(rows, present, changed, noise)


def simplest(
    rows: Sequence[Compared], present: Mapping[str, Fraction], name: str, value: float
) -> Fraction:
    """The fraction of least denominator that fits as well as ``value``, near enough."""
    plain = as_floats(present)
    limit = loss(rows, {**plain, name: value})
    for denominator in SIMPLE:
        near = Fraction(value).limit_denominator(denominator)
        if near > 0 and loss(rows, {**plain, name: float(near)}) <= limit * 1.001 + 1e-6:
            return near
    return Fraction(value)


def joint(rows: Sequence[Compared], present: Mapping[str, Fraction], noise: float) -> Fit:
    """All coefficients together, from where they are."""
    from scipy.optimize import minimize

    names = sorted(n for n, v in present.items() if v > 0)
    if not names:
        return fit_of(rows, present, {}, noise)
    plain = as_floats(present)

    def moved(shifts: Sequence[float]) -> dict[str, float]:
        held = [max(-REACH, min(REACH, float(s))) for s in shifts]
        return plain | {n: plain[n] * exp(s) for n, s in zip(names, held, strict=True)}

    def at(shifts: Sequence[float]) -> float:
        return loss(rows, moved(shifts)) + DRIFT * sum(float(s) ** 2 for s in shifts)

    start = [0.0] * len(names)
    simplex = [
        start,
        *([0.5 if m == n else 0.0 for m in range(len(names))] for n in range(len(names))),
    ]
    found = minimize(
        at,
        start,
        method="Nelder-Mead",
        options={"maxiter": 60 * len(names), "xatol": 1e-4, "initial_simplex": simplex},
    )
    values = moved([float(x) for x in found.x])
    changed = {n: Fraction(values[n]).limit_denominator(10**6) for n in names}
    changed = {n: v for n, v in changed.items() if v != present[n]}
    return fit_of(rows, present, changed, noise)
