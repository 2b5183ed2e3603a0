"""One method at work: what it has paid, the best it knows, and how it came there."""

from fractions import Fraction
from time import perf_counter

from formwright.chip.library import Point
from formwright.walls.areas import Areas
from formwright.walls.core import Answer
from formwright.walls.counting import Counted
from formwright.walls.outcome import Outcome, Reached


class Attempt:
    """Chips are offered to it; it keeps the best within ``budget`` (mm2, ``None``: no limit).

    Of equal objectives the smaller area is better, then the chip earlier in the menus.
    """

    def __init__(
        self, method: str, inner: Counted, budget: Fraction | None, seed: int | None = None
    ) -> None:
        self.method = method
        self.inner = inner
        self.budget = budget
        self.seed = seed
        self.areas = Areas(inner.library)
        self.best: tuple[Fraction, Fraction, Point] | None = None
        self.answer: Answer | None = None
        self._trajectory: list[Reached] = []
        self._reason = ""
        self._began = perf_counter()
        self._before = inner.spent

    @property
    def objective(self) -> Fraction | None:
        """The best so far."""
        return None if self.best is None else self.best[0]

    @property
    def seconds(self) -> float:
        """What the inner problem is charged with, and what the method itself has taken."""
        own = perf_counter() - self._began - (self.inner.spent - self._before)
        return self.inner.seconds + own

    def admits(self, point: Point) -> bool:
        """The chip breaks no rule and is within the budget."""
        return self.areas.admits(point, self.budget)

    def solve(self, point: Point) -> Answer:
        """The best software of a chip that :meth:`admits`, taken into account."""
        return self.take(point, self.inner.solve(point))

    def keep(self, point: Point, software: Answer) -> Answer:
        """What ``software`` costs at a chip that :meth:`admits`, taken into account."""
        return self.take(point, self.inner.keep(point, software))

    def take(self, point: Point, answer: Answer) -> Answer:
        """Note ``answer`` if it is the best so far."""
        if answer.objective is None:
            self._reason = self._reason or answer.reason
            return answer
        found = (answer.objective, self.areas.of(point), point)
        if self.best is None or found < self.best:
            self.best, self.answer = found, answer
            self._trajectory.append(
                Reached(
                    self.inner.solves,
                    self.inner.evaluations,
                    self.seconds,
                    point,
                    answer.objective,
                    found[1],
                )
            )
        return answer

    def outcome(self, bound: Fraction | None = None, note: str = "") -> Outcome:
        """What the method ends in. Without a chip, the first refusal is the note."""
        objective, area, point = (None, None, None) if self.best is None else self.best
        reason = self._reason if self.best is None else ""
        return Outcome(
            method=self.method,
            point=point,
            answer=self.answer,
            area=area,
            objective=objective,
            solves=self.inner.solves,
            evaluations=self.inner.evaluations,
            relaxations=self.inner.relaxations,
            seconds=self.seconds,
            trajectory=tuple(self._trajectory),
            seed=self.seed,
            bound=bound,
            note="; ".join(part for part in (note, reason) if part),
        )
