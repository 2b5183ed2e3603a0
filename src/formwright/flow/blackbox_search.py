"""What every searcher of a study has: a budget, and one question it may ask.

A searcher asks for the seconds of a design. Each distinct kernel counts once against the budget, in
evaluations and in the seconds that building, validating and measuring it took when that was first
done, whoever asked; so do the seconds that the searcher thinks between two questions. What it asks
again is answered from memory and costs nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from formwright.flow.blackbox_evaluator import Evaluation
from formwright.flow.study_tasks import Budget
from formwright.ir.template import Template

ASKS = 60
"""Questions, old ones included, for each evaluation of the budget: a searcher that goes round in a
circle ends."""


@dataclass(frozen=True, slots=True)
class Step:
    """An evaluation of a search: ``spent`` are the seconds of the search when it was done."""

    template: str
    assignment: dict[str, int]
    key: str
    seconds: float | None
    fault: str
    spent: float

    def as_json(self) -> dict[str, Any]:
        return {
            "template": self.template,
            "assignment": self.assignment,
            "key": self.key,
            "seconds": self.seconds,
            "fault": self.fault,
            "spent": self.spent,
        }


class BudgetSpentError(Exception):
    """The search may ask no more; what it found so far counts."""


class Evaluating(Protocol):
    """Builds, validates and measures a design, or remembers that it did."""

    def __call__(self, template: Template, assignment: Mapping[str, int]) -> Evaluation: ...


@dataclass(slots=True)
class Asking:
    """One search's account: its budget and all that it asked."""

    evaluate: Evaluating
    budget: Budget
    clock: Callable[[], float] = perf_counter
    steps: list[Step] = field(default_factory=list)
    spent: float = 0.0
    asks: int = 0
    _known: dict[str, float | None] = field(default_factory=dict)
    _since: float | None = None

    def ask(self, template: Template, assignment: Mapping[str, int]) -> float | None:
        """Median seconds of a call; ``None`` for a design that is not built or not right.

        Raises:
            BudgetSpentError: the budget has ended, in evaluations, seconds or questions.
        """
        self.think()
        self.asks += 1
        if self.done or self.asks > ASKS * self.budget.evaluations:
            raise BudgetSpentError
        found = self.evaluate(template, assignment)
        if found.key not in self._known:
            self.spent += found.cost
            self._known[found.key] = found.seconds
            self.steps.append(
                Step(
                    template.name,
                    dict(assignment),
                    found.key,
                    found.seconds,
                    found.fault,
                    self.spent,
                )
            )
        self._since = self.clock()
        return self._known[found.key]

    def think(self) -> None:
        """Charge the seconds since the last answer: they were the searcher's own."""
        now = self.clock()
        if self._since is not None:
            self.spent += now - self._since
        self._since = now

    @property
    def done(self) -> bool:
        """Whether the budget has ended."""
        return len(self.steps) >= self.budget.evaluations or self.spent >= self.budget.seconds

    @property
    def left(self) -> int:
        """Evaluations that are left."""
        return max(0, self.budget.evaluations - len(self.steps))


def best_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps at which a search became better: its curve."""
    least = float("inf")
    for step in steps:
        if step.seconds is not None and step.seconds < least:
            least = step.seconds
            yield step
