"""A standard black-box optimiser over the menus: Optuna's tree-structured Parzen estimator.

Bergstra, Bardenet, Bengio and Kégl, "Algorithms for hyper-parameter optimization", 2011. Each
field is an integer, its place in the menu; areas over the budget are given as a constraint, as
Optuna's manual says, and cost no inner solve. Optuna is an optional dependency.
"""

from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from formwright.chip.library import Point
from formwright.walls.attempt import Attempt
from formwright.walls.counting import Counted
from formwright.walls.outcome import Outcome

ASKS_A_SOLVE = 20
"""Trials that may be over the budget or known already, for each solve of the allowance."""

_REFUSED = 1e30
"""The value of a trial without a program or over the budget; Optuna refuses ``inf``."""


def optuna_search(
    inner: Counted, budget: Fraction | None = None, solves: int = 100, seed: int = 0
) -> Outcome:
    """At most ``solves`` distinct chips within ``budget`` (mm2), each with its best software."""
    attempt = Attempt("optuna", inner, budget, seed)
    if find_spec("optuna") is None:
        return attempt.outcome(
            note="not run: Optuna is not installed (pip install 'formwright[codesign]')"
        )
    if attempt.areas.cut(inner.library.whole, budget) is None:
        return attempt.outcome(note="no chip is within the budget")
    study = _study(seed)
    asks = 0
    while inner.solves < solves and asks < ASKS_A_SOLVE * solves:
        asks += 1
        trial = study.ask()
        point = _suggested(trial, inner)
        excess = _excess(attempt, point)
        trial.set_constraint("area", excess)
        study.tell(trial, _REFUSED if excess > 0 else _value(attempt, point))
    note = "" if inner.solves == solves else f"{inner.solves} distinct chips in {asks} trials"
    return attempt.outcome(note=note)


def _study(seed: int) -> Any:
    optuna: Any = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed)
    return optuna.create_study(direction="minimize", sampler=sampler)


def _suggested(trial: Any, inner: Counted) -> Point:
    return tuple(
        trial.suggest_int(field.name, 0, len(field.menu) - 1) if len(field.menu) > 1 else 0
        for field in inner.library.fields
    )


def _excess(attempt: Attempt, point: Point) -> float:
    """Area over the budget in mm2, at most 0 where it is within; rules count as 1 mm2 over."""
    if not attempt.areas.legal(point):
        return 1.0
    if attempt.budget is None:
        return -1.0
    over = attempt.areas.of(point) - attempt.budget
    return float(over) if over <= 0 else max(float(over), 1e-12)


def _value(attempt: Attempt, point: Point) -> float:
    objective = attempt.solve(point).objective
    return _REFUSED if objective is None else min(float(objective), _REFUSED)
