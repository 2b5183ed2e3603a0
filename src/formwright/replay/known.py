"""What was run and found for one template: obligations that fail together meet the same runs.

A run is a function of the template, its values and the schedule. So the miniature that shows one
obligation to fail is tried first for the next one, and no run is made twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from formwright.base.memo import by_identity
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.proof.verdict import Counterexample
from formwright.replay.events import AnomalyKind
from formwright.replay.judge import Finding
from formwright.replay.runner import Outcome, Prepared, prepare, run_prepared
from formwright.replay.schedule import Schedule
from formwright.replay.sharing import BudgetError
from formwright.replay.sizes import Values

PREPARED = 8
"""How many compiled programs are held at a time, with what their outputs should be."""

OUTCOMES = 1024
"""How many runs are remembered."""


@dataclass(frozen=True, slots=True)
class Caught:
    """A schedule that reaches a defect at some values."""

    values: Values
    schedule: Schedule
    found: Finding


@dataclass(slots=True)
class Runs:
    """The runs of one template."""

    template: Template
    caught: list[Caught] = field(default_factory=list)
    """What reached a defect before, made small, the newest last."""
    answers: dict[object, Counterexample | None] = field(default_factory=dict)
    """Claims that differ in extents, agents and lines alone are answered once."""
    _prepared: dict[object, Prepared | None] = field(default_factory=dict)
    _outcomes: dict[object, Outcome | None] = field(default_factory=dict)

    def prepared(self, values: Mapping[str, Scalar]) -> Prepared | None:
        """The program at these values; ``None`` where it has no shape or too many terms."""
        key = frozenset(values.items())
        if key not in self._prepared:
            if len(self._prepared) >= PREPARED:
                del self._prepared[next(iter(self._prepared))]
            try:
                self._prepared[key] = prepare(self.template, values)
            except (EvaluationError, BudgetError):
                self._prepared[key] = None
        return self._prepared[key]

    def outcome(
        self,
        values: Mapping[str, Scalar],
        schedule: Schedule,
        budget: int,
        until: frozenset[AnomalyKind] = frozenset(),
    ) -> Outcome | None:
        """What comes of a run, at most to an anomaly of ``until``; ``None`` where the program
        cannot be prepared."""
        point = frozenset(values.items())
        key = (point, schedule, budget, until)
        if key not in self._outcomes:
            if len(self._outcomes) >= OUTCOMES:
                del self._outcomes[next(iter(self._outcomes))]
            prepared = self.prepared(values)
            made = (
                None if prepared is None else run_prepared(prepared, schedule, budget, until=until)
            )
            self._outcomes[key] = made
            if made is None or not any(a.kind in until for a in made.anomalies):
                self._outcomes[point, schedule, budget, frozenset()] = made  # it was not cut short
        return self._outcomes[key]


@by_identity
def runs_of(template: Template) -> Runs:
    """The runs of this very template, made for the obligations of one proof."""
    return Runs(template)
