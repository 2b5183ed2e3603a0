"""From a failed condition of a step to a run that shows a fault, or nothing (rule S24)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from time import thread_time

from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.proof.verdict import Counterexample
from formwright.replay.system.domain import Domain, Values, boxes, domain, drawn, smaller
from formwright.replay.system.explore import Limits
from formwright.replay.system.findings import is_fault
from formwright.replay.system.instance import Exploration, Found, explored, step_of
from formwright.replay.system.made import plain
from formwright.replay.system.tell import counterexample

DEFAULT_SECONDS = 5.0
WHOLE = Limits(states=60_000)
"""States of one instance, all choices of tokens together; a larger one is left before it is
searched through."""
GLANCE = Limits(states=1_200, tokens=4)
"""For many instances: the nearest faults come first, and most show for many tokens."""
SHRINK = Limits(states=20_000, tokens=32)
SHRINK_SECONDS = 1.5
"""What shrinking may take at least, when the search took all the time."""
COMPLETE = 10**9
"""In place of a number of states: there is no more to see."""
ROUND = 50
"""Drawn parameters before each is given more states."""
LEVELS_SHARE = 0.3
"""Part of the time for the smallest parameters; the rest is for draws."""
MISMATCH_SECONDS = 1.0
"""After a mismatch of the coarse system a fault of the design is looked for so much longer."""


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
    hint: Values = {n: plain(v) for n, v in values.items() if n in around.used or n in around.rest}
    start = thread_time()
    search = _Search(template, around, start + seconds)
    scope = template.scope
    small = {p.name for p in (*scope.extents, *scope.agents)}
    kept = frozenset(n for n in hint if n not in small)
    if kept:
        search.near(hint, kept, start + 0.5 * seconds)
    if search.best is None and around.admits(hint) and hint.keys() >= {*around.used, *around.rest}:
        search.through([dict(hint)], start + 0.7 * seconds)
    if search.best is None:
        search.anywhere(hint)
    return search.told()


def search(template: Template, seconds: float = DEFAULT_SECONDS) -> Searched:
    """Small parameters, the smallest first, until a fault is found or ``seconds`` are over."""
    around = domain(template)
    looking = _Search(template, around, thread_time() + seconds)
    looking.anywhere({})
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
        self._seen: dict[tuple[Scalar, ...], int] = {}

    @property
    def is_refuted(self) -> bool:
        """A fault of the design was found."""
        return self.best is not None and is_fault(self.best[1].finding)

    def near(self, hint: Values, kept: frozenset[str], until: float) -> None:
        """Small extents and teams with the values of ``kept``: first at a glance, then longer."""
        limits, tried = GLANCE, -1
        while thread_time() < until and not self.is_refuted and tried < self.instances + self.cut:
            tried = self.instances + self.cut
            self.through(boxes(self._around, hint, kept, until), until, limits)
            limits = Limits(4 * limits.states, tokens=4 * limits.tokens)

    def anywhere(self, hint: Values) -> None:
        """All small parameters in turn at a glance; then those that were cut, if that was all,
        or drawn ones, looked at ever longer."""
        until = thread_time() + LEVELS_SHARE * (self.deadline - thread_time())
        self.through(boxes(self._around, hint, frozenset(), until), until, GLANCE)
        if thread_time() <= until:
            several = boxes(self._around, hint, frozenset(), self.deadline)
            self.through(several, self.deadline)
            return
        several = drawn(self._around, hint, self.deadline)
        limits = GLANCE
        while thread_time() < self.deadline and not self.is_refuted:
            self.through(islice(several, ROUND), self.deadline, limits)
            limits = Limits(2 * limits.states, tokens=2 * limits.tokens)

    def through(self, several: Iterable[Values], until: float, limits: Limits = WHOLE) -> None:
        """Ends at the first fault of the design; a mismatch is kept while one is looked for."""
        for values in several:
            if thread_time() > until or self.is_refuted:
                return
            key = tuple(values[n] for n in self._around.used)
            if self._seen.get(key, 0) >= limits.states:
                continue
            seen = self._tried(values, until, limits)
            self._seen[key] = COMPLETE if seen.complete else limits.states
            found = seen.found
            if found is None:
                continue
            if self.best is None or found.weight[0] < self.best[1].weight[0]:
                self.best = (values, found)
                until = min(until, thread_time() + MISMATCH_SECONDS)

    def told(self) -> Counterexample | None:
        """The best finding, shrunk: fewest steps, then smallest parameters."""
        if self.best is None:
            return None
        values, found = self._shrunk(*self.best)
        return counterexample(self._template, values, found)

    def _tried(self, values: Values, until: float, limits: Limits) -> Exploration:
        seen = explored(self._step, values, replace(limits, deadline=until))
        self.states += seen.states
        if seen.complete:
            self.instances += 1
        else:
            self.cut += 1
        return seen

    def _shrunk(self, values: Values, found: Found) -> tuple[Values, Found]:
        until = max(self.deadline, thread_time() + SHRINK_SECONDS)
        progress = True
        while progress and thread_time() < until:
            progress = False
            limits = replace(SHRINK, steps=len(found.reached.run))
            for less in smaller(self._around, values):
                other = self._again(less, found, replace(limits, deadline=until))
                if other is not None and other.weight <= found.weight:
                    values, found, progress = less, other, True
                    break
        return values, found

    def _again(self, values: Values, found: Found, limits: Limits) -> Found | None:
        """The same tokens first: most of a fault does not depend on how far ranges reach."""
        same = explored(self._step, values, limits, found.machine.where.tokens).found
        return same or explored(self._step, values, limits).found
