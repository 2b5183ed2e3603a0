"""The cost of listed points, each computed at most once, and how low a design must be to count."""

from dataclasses import dataclass, field

import numpy as np

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr
from formwright.ir.int_arrays import Array
from formwright.ir.vectorise import Evaluator
from formwright.milp.enumerate import named
from formwright.milp.listing import NotShownError, Points, floats


@dataclass(slots=True)
class Costing:
    """``value`` and ``error`` of the cost where ``done``; ``keep``: how many best are wanted."""

    points: Points
    objective: Expr
    keep: int
    value: Array = field(init=False)
    error: Array = field(init=False)
    done: Array = field(init=False)

    def __post_init__(self) -> None:
        self.value = np.full(self.points.count, np.inf)
        self.error = np.zeros(self.points.count)
        self.done = np.zeros(self.points.count, dtype=bool)

    @property
    def costed(self) -> int:
        return int(np.count_nonzero(self.done))

    def cost(self, chosen: Array) -> None:
        """Computes the cost at those of ``chosen`` where it is not known."""
        new = np.unique(chosen[~self.done[chosen]])
        if len(new):
            value, error = self.part(self.objective, new)
            self.put(new, value, error)

    def part(self, expr: Expr, chosen: Array) -> tuple[Array, float]:
        """A part of the cost at some points, with its error.

        Raises :class:`InputError` where it has no value at one of them.
        """
        evaluator = Evaluator(self.points.given(self.points.at(chosen)))
        try:
            return floats(evaluator, expr, len(chosen))
        except NotShownError as error:
            raise named("the cost", EvaluationError(str(error), self.objective.span)) from None

    def put(self, chosen: Array, value: Array, error: float) -> None:
        """The cost at some points, known from its parts."""
        self.value[chosen], self.error[chosen], self.done[chosen] = value, error, True

    @property
    def ceiling(self) -> float:
        """No point whose cost is surely above this is among the best ``keep``."""
        above = (self.value + self.error)[self.done]
        if len(above) < self.keep:
            return np.inf
        return float(np.partition(above, self.keep - 1)[self.keep - 1])

    def best(self) -> Array:
        """The points that may be among the best ``keep``."""
        return np.flatnonzero(self.done & (self.value - self.error <= self.ceiling))
