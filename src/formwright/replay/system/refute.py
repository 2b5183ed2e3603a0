"""From a failed condition of a step to a run that shows a fault, or nothing (rule S24)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic

from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.proof.verdict import Counterexample
from formwright.replay.system.domain import Domain, Values, boxes, domain, smaller
from formwright.replay.system.explore import Limits
from formwright.replay.system.findings import is_fault
from formwright.replay.system.instance import Exploration, Found, explored, step_of
from formwright.replay.system.tell import counterexample

DEFAULT_SECONDS = 5.0
INSTANCE_STATES = 60_000
"""States of one instance; a larger one is left before it is searched through."""
MISMATCH_SHARE = 0.4
"""After a mismatch of the coarse system this part of the time goes on looking for a fault."""


@dataclass(frozen=True, slots=True)
class Searched:
    """``instances`` were searched through to the end, ``states`` seen in all.

    ``cut``: instances left early. No counterexample claims nothing about larger parameters.
    """

    counterexample: Counterexample | None
    instances: int
    states: int
    cut: int


def refute_step(
    template: Template, values: Mapping[str, Scalar], seconds: float = DEFAULT_SECONDS
) -> Counterexample | None:
    """A run from the initial state that shows a fault, near the ``values`` of a solver's model.

    First the decisions stay as in the model, with small extents and teams; then the model's own
    values; then everything small. ``None``: none was found in ``seconds``.
    """
    around = domain(template)
    hint = {n: v for n, v in values.items() if n in around.used or n in around.rest}
    start = monotonic()
    search = _Search(template, around, start + seconds)
    scope = template.scope
    small = {p.name for p in (*scope.extents, *scope.agents)}
    kept = frozenset(n for n in hint if n not in small)
    if kept:
        until = start + 0.5 * seconds
        search.through(boxes(around, hint, kept, until), until)
    if search.best is None and around.admits(hint) and hint.keys() >= {*around.used, *around.rest}:
        search.through([dict(hint)], start + 0.7 * seconds)
    if search.best is None:
        search.through(boxes(around, hint, frozenset(), search.deadline), search.deadline)
    return search.told()


def search(template: Template, seconds: float = DEFAULT_SECONDS) -> Searched:
    """Small parameters, the smallest first, until a fault is found or ``seconds`` are over."""
    around = domain(template)
    looking = _Search(template, around, monotonic() + seconds)
    looking.through(boxes(around, {}, frozenset(), looking.deadline), looking.deadline)
    return Searched(looking.told(), looking.instances, looking.states, looking.cut)


class _Search:
    """The best finding so far, and what was searched for it."""

    def __init__(self, template: Template, around: Domain, deadline: float) -> None:
        self.deadline = deadline
        self.best: tuple[Values, Found] | None = None
        self.instances = self.states = self.cut = 0
        self._template = template
        self._step = step_of(template)
        self._around = around
        self._seen: set[tuple[Scalar, ...]] = set()

    def through(self, several: Iterable[Values], until: float) -> None:
        """Ends at the first fault of the design; a mismatch is kept while one is looked for."""
        for values in several:
            if monotonic() > until:
                return
            key = tuple(values[n] for n in self._around.used)
            if key in self._seen:
                continue
            self._seen.add(key)
            found = self._tried(values, until).found
            if found is None:
                continue
            if self.best is None or found.weight[0] < self.best[1].weight[0]:
                self.best = (values, found)
            if is_fault(found.finding):
                return
            until = min(until, monotonic() + MISMATCH_SHARE * (until - monotonic()))

    def told(self) -> Counterexample | None:
        """The best finding, shrunk: fewest steps, then smallest parameters."""
        if self.best is None:
            return None
        values, found = self._shrunk(*self.best)
        return counterexample(self._template, values, found)

    def _tried(self, values: Values, until: float) -> Exploration:
        seen = explored(self._step, values, Limits(INSTANCE_STATES, until))
        self.states += seen.states
        if seen.complete:
            self.instances += 1
        else:
            self.cut += 1
        return seen

    def _shrunk(self, values: Values, found: Found) -> tuple[Values, Found]:
        progress = True
        while progress and monotonic() < self.deadline:
            progress = False
            for less in smaller(self._around, values):
                other = self._tried(less, self.deadline).found
                if other is not None and other.weight <= found.weight:
                    values, found, progress = less, other, True
                    break
        return values, found
