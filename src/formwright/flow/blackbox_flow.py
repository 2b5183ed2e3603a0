"""The flow as a searcher of the study: model, solver and refit, over the same evaluator.

As in :mod:`formwright.flow.loop`: solve with the coefficients as they stand, measure designs that
are good by the model and differ, refit to all that was measured, and again.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from formwright.flow.blackbox_search import Asking
from formwright.flow.blackbox_space import Point, Space
from formwright.flow.choosing import Design, choose
from formwright.flow.job_solving import POOL, WITHIN
from formwright.flow.refit import Observation, refit
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.milp.solve import solve

CANDIDATES = 3
"""Designs of a round; `formwright run` takes four where a problem does not say."""
TIME_LIMIT = 60.0


def flow_search(space: Space, asking: Asking) -> None:
    """Rounds of solve, measure and refit until the budget ends or every design was measured."""
    coefficients = defaults(space.template)
    observations: list[Observation] = []
    asked: set[Point] = set()
    while len(asked) < len(space.points):
        for assignment, _ in _next(space, coefficients, asked, min(CANDIDATES, asking.left)):
            asked.add(space.point(assignment))
            seconds = asking.ask(space.template, assignment)
            if seconds is not None:
                observations.append(Observation(space.parameters, assignment, seconds))
        if observations:
            coefficients = refit(space.template, observations, coefficients).coefficients


def best_by_model(
    template: Template, parameters: Mapping[str, Scalar], coefficients: Mapping[str, Fraction]
) -> Sequence[Design]:
    """The best designs by the model, ascending; the solver's answer is exact."""
    solution = solve(
        template, parameters, coefficients=coefficients, limit=POOL, time_limit=TIME_LIMIT
    )
    return solution.best


def defaults(template: Template) -> dict[str, Fraction]:
    """The coefficients of the template's cost as it ships."""
    return {} if template.cost is None else {c.name: c.default for c in template.cost.coefficients}


def _next(
    space: Space, coefficients: Mapping[str, Fraction], asked: set[Point], count: int
) -> list[Design]:
    """Designs not yet asked, near the optimum and different; beyond the pool, in order."""
    best = best_by_model(space.template, space.parameters, coefficients)
    fresh = [d for d in best if space.point(d[0]) not in asked]
    if fresh:
        return choose(fresh, max(1, count), WITHIN)
    left = next(p for p in space.points if p not in asked)
    return [(space.design(left), Fraction(0))]
