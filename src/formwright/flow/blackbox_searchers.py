"""Black-box searchers over the menus: each knows the designs that are allowed, and clocks.

None of them sees the template's cost, its program or what was proved of it.
"""

from importlib import import_module
from random import Random
from typing import Any

from formwright.flow.blackbox_search import Asking
from formwright.flow.blackbox_space import Space

REFUSED = 1e30
"""The value of a design that is not built or not right; Optuna refuses ``inf``."""
SHARE = 4
"""A fourth of the budget is drawn at random before a model is made of it, at least
:data:`LEAST_DRAWN`: the library's default of ten would be most of a small budget."""
LEAST_DRAWN = 4


def random_search(space: Space, asking: Asking, seed: int) -> None:
    """Designs drawn at random, none twice, until the budget ends or all were asked."""
    points = list(space.points)
    Random(seed).shuffle(points)
    for point in points:
        asking.ask(space.template, space.design(point))


def optuna_tpe(space: Space, asking: Asking, seed: int) -> None:
    """Optuna's tree-structured Parzen estimator (Bergstra et al., 2011) with its constraints.

    A decision is the place of its value in the menu. Designs outside the space are told as
    violations, as Optuna's manual says, and cost nothing.
    """
    optuna: Any = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=max(LEAST_DRAWN, asking.budget.evaluations // SHARE)
    )
    study = optuna.create_study(direction="minimize", sampler=sampler)
    allowed = frozenset(space.points)
    refused = 0
    while refused < REFUSALS * asking.budget.evaluations:
        trial = study.ask()
        point = tuple(
            menu[trial.suggest_int(name, 0, len(menu) - 1) if len(menu) > 1 else 0]
            for name, menu in space.menus.items()
        )
        trial.set_constraint("space", -1.0 if point in allowed else 1.0)
        if point not in allowed:
            refused += 1
            study.tell(trial, REFUSED)
            continue
        seconds = asking.ask(space.template, space.design(point))
        study.tell(trial, REFUSED if seconds is None else seconds)


REFUSALS = 60
"""Trials outside the space for each evaluation of the budget, after which the search ends."""
