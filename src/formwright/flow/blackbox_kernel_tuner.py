"""Kernel Tuner's strategies, as they are, over the study's evaluator.

Van Werkhoven, "Kernel Tuner: a search-optimizing GPU code auto-tuner", 2019. Kernel Tuner's own C
backend compiles and times in its own process; here its search space and its strategies are its own
and the kernels are built, validated and timed by the evaluator that all searchers share. It takes a
strategy of the user's, which is handed the runner: ours puts its own runner in the place.
"""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from formwright.flow.blackbox_search import Asking, BudgetSpentError
from formwright.flow.blackbox_space import Space

STRATEGIES = {
    "kernel-tuner-annealing": ("simulated_annealing", {}),
    "kernel-tuner-greedy": ("greedy_ils", {}),
    "kernel-tuner-genetic": ("genetic_algorithm", {"popsize": 0}),
}
"""The searchers by name: Kernel Tuner's strategy, and the options that are not its defaults. A
``popsize`` of 0 stands for a third of the budget: its default of 26 would be all of it."""
GENERATIONS = 3
IDLE = 5
"""Times in a row that a strategy may be begun again without asking anything new."""
UNUSED = "void kernel(void) {}"
"""Its interface asks for a source; the runner below never looks at it."""


def kernel_tuner(space: Space, asking: Asking, seed: int, searcher: str) -> None:
    """One of Kernel Tuner's strategies over the designs of ``space``, until the budget ends.

    A strategy that comes to its end before the budget does is begun again, with other draws.
    """
    module: Any = import_module("kernel_tuner")
    interface: Any = import_module("kernel_tuner.interface")
    constraint: Any = import_module("constraint")
    util: Any = import_module("kernel_tuner.util")
    strategy, options = STRATEGIES[searcher]
    sizes = {
        name: max(4, asking.budget.evaluations // GENERATIONS) if value == 0 else value
        for name, value in options.items()
    }
    allowed = frozenset(space.points)

    def restriction(*values: int) -> bool:
        return values in allowed

    def tune() -> None:
        module.tune_kernel(
            "kernel",
            UNUSED,
            1,
            [],
            {name: list(menu) for name, menu in space.menus.items()},
            restrictions=[constraint.FunctionConstraint(restriction)],
            lang="C",
            strategy=_Strategy(interface.strategy_map[strategy], space, asking),
            strategy_options={"max_fevals": asking.left, **sizes},
            simulation_mode=True,
            quiet=True,
        )

    idle = 0
    with _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not asking.done and idle < IDLE:
            before = len(asking.steps)
            with suppress(util.StopCriterionReached):  # some strategies let it out
                tune()
            idle = 0 if len(asking.steps) > before else idle + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Strategy:
    """What Kernel Tuner calls: its own strategy, with our runner in place of its."""

    strategy: Any
    space: Space
    asking: Asking

    def tune(self, searchspace: Any, runner: Any, tuning_options: Any) -> Any:
        own: Any = _runner()(self.space, self.asking)
        return self.strategy.tune(searchspace, own, tuning_options)


def _runner() -> Callable[[Space, Asking], Any]:
    """A class of Kernel Tuner's, made where the package is loaded."""
    base: Any = import_module("kernel_tuner.runners.runner").Runner
    util: Any = import_module("kernel_tuner.util")

    class Runner(base):  # type: ignore[misc]
        def __init__(self, space: Space, asking: Asking) -> None:
            super().__init__()
            self.space, self.asking = space, asking

        def get_device_info(self) -> Any:
            raise NotImplementedError("the search space is made before a strategy is called")

        def get_environment(self, tuning_options: Any) -> dict[str, Any]:
            return {}

        def run(self, parameter_space: Sequence[Any], tuning_options: Any) -> list[Any]:
            """Milliseconds of each point; ``None`` once the budget is spent, as its runners do."""
            found: list[Any] = []
            for point in parameter_space:
                if tuning_options.budget.is_done():
                    found.append(None)
                    continue
                design = self.space.design(tuple(int(v) for v in point))
                before = len(self.asking.steps)
                try:
                    seconds = self.asking.ask(self.space.template, design)
                except BudgetSpentError:
                    tuning_options.budget.max_fevals = 0
                    found.append(None)
                    continue
                tuning_options.budget.add_evaluations(len(self.asking.steps) - before)
                result: dict[str, Any] = dict(design)
                if seconds is None:
                    result["__error__"] = util.RuntimeFailedConfig()
                else:
                    result["time"] = seconds * 1e3
                found.append(result)
            return found

    return Runner


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Its strategies draw from the global generators; those of others go on as they were."""
    plain, numbers = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numbers)
