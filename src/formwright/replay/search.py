"""The replayer: from a solver's claim to a defect that a run has reached, or nothing."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from time import monotonic
from typing import Literal

from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample
from formwright.replay.adversary import adversarial, orderly
from formwright.replay.events import AnomalyKind
from formwright.replay.expressions import has_asynchronous
from formwright.replay.judge import ORDER_CONDITIONS, finding, telling
from formwright.replay.known import Caught, runs_of
from formwright.replay.lanes import interleaving
from formwright.replay.narrative import trace
from formwright.replay.runner import Outcome, run_prepared
from formwright.replay.schedule import TEXTUAL, Schedule
from formwright.replay.settled import broken_requirement, empty_menu, overflow
from formwright.replay.sizes import (
    Family,
    Values,
    candidates,
    family,
    full_sizes,
    products,
    smaller,
)

DEFAULT_SECONDS = 5.0
RUN_BUDGET = 60_000
OWN_BUDGET = 4_000
"""Points and steps up to which the claim's own values are tried before any miniature."""
OWN_SECONDS = 1.0
FULL_SIZE_PRODUCTS = 20_000
"""Points of the workload up to which a miniature is repeated with the menus' sizes."""
FULL_SIZE_SECONDS = 1.5

_EMPTY_REDUCTION = frozenset({"defined", "coverage"})


def replay(
    template: Template, refutation: Refutation, seconds: float = DEFAULT_SECONDS
) -> Counterexample | None:
    """Reaches a defect that bears out ``refutation`` from the initial state.

    ``None`` when none was found in ``seconds``: then the claim is unresolved.
    """
    closed = inlined(template) if template.definitions else template
    base = {name: _plain(value) for name, value in refutation.values.items()}
    condition = refutation.condition
    text = _settled(closed, base, condition)
    if text is not None:
        return Counterexample(_shown(base), text, True)
    if condition in ("implied", "menu", "fits", "stable"):
        return None
    scope = closed.scope
    free = {p.name for p in (*scope.extents, *scope.agents)}
    kept = tuple((n, v) for n, v in sorted(base.items()) if n not in free)
    buffer = _sufferer(refutation)
    own = _Search(family(closed, base), condition, buffer, monotonic() + min(OWN_SECONDS, seconds))
    found = own.as_claimed(base, OWN_BUDGET)
    if found is not None:
        return found
    small = _searched(closed, kept, condition, buffer, seconds)
    if small is not None:
        return small
    return _Search(family(closed, base), condition, buffer, monotonic() + seconds).as_claimed(base)


def _sufferer(refutation: Refutation) -> str:
    """The buffer that the claim is about, if it names one."""
    return refutation.instances[0].buffer if refutation.instances else ""


def _searched(
    template: Template,
    kept: tuple[tuple[str, Scalar], ...],
    condition: str,
    buffer: str,
    seconds: float,
) -> Counterexample | None:
    """Claims that differ in extents, agents and lines alone are answered once."""
    answers = runs_of(template).answers
    key = (kept, condition, buffer, seconds)
    if key not in answers:
        around = family(template, dict(kept))
        search = _Search(around, condition, buffer, monotonic() + seconds)
        answers[key] = search.counterexample()
    return answers[key]


def _settled(template: Template, values: Values, condition: str) -> str | None:
    match condition:
        case "implied":
            return broken_requirement(template, values)
        case "menu":
            return empty_menu(template, values)
        case "fits":
            return overflow(template, values)
        case _:
            return None


class _Search:
    """One search round a refutation: it ends at the first defect or at the deadline."""

    def __init__(self, around: Family, condition: str, buffer: str, deadline: float) -> None:
        self._around = around
        self._condition = condition
        self._buffer = buffer
        self._deadline = deadline
        self._played = runs_of(around.template)

    def counterexample(self) -> Counterexample | None:
        known = self._known()
        if known is not None:
            return self._told(known)
        empty = self._condition in _EMPTY_REDUCTION
        for number, values in enumerate(candidates(self._around, empty)):
            if monotonic() > self._deadline:
                return None
            caught = self._attack(values, self._deadline)
            if caught is not None:
                small = caught if number == 0 else self._shrunk(caught)
                self._played.caught.append(small)
                return self._told(small)
        return None

    def _known(self) -> Caught | None:
        """What another obligation failed by, if it bears out this one too."""
        free = {*self._around.extents, *self._around.agents, *self._around.sizes}
        fixed = {n: v for n, v in self._around.base.items() if n not in free}
        for caught in reversed(self._played.caught):
            fair = self._condition in ORDER_CONDITIONS or caught.schedule in tuple(orderly())
            if fair and all(caught.values.get(n) == v for n, v in fixed.items()):
                again = self._again(caught.values, caught.schedule)
                if again is not None:
                    return again
        return None

    def as_claimed(self, values: Values, budget: int = RUN_BUDGET) -> Counterexample | None:
        """What happens at the very values of the claim, if a run of them is within ``budget``."""
        caught = self._attack(values, self._deadline, budget)
        return None if caught is None else self._told(caught)

    def _attack(self, values: Values, deadline: float, budget: int = RUN_BUDGET) -> Caught | None:
        """Runs the condition's schedules at these values until one shows the defect."""
        known = self._played.outcome(values, TEXTUAL, budget)
        if known is None or known.status == "budget":
            return None
        for schedule in self._schedules(known, values):
            if monotonic() > deadline:
                return None
            outcome = known
            if schedule != TEXTUAL:
                other = self._played.outcome(values, schedule, RUN_BUDGET)
                assert other is not None, "the program was prepared"
                outcome = other
            found = finding(self._condition, self._buffer, outcome, known)
            if found is not None:
                return Caught(values, schedule, found)
        return None

    def _schedules(self, known: Outcome, values: Values) -> Iterator[Schedule]:
        if self._condition not in ORDER_CONDITIONS:
            return orderly()
        agents = max((int(values[a]) for a in self._around.agents), default=1)
        is_asynchronous = has_asynchronous(self._around.template.program)
        return adversarial(known.barriers, agents, is_asynchronous)

    def _again(
        self, values: Values, schedule: Schedule, until: frozenset[AnomalyKind] = frozenset()
    ) -> Caught | None:
        """The same schedule at other values, at most to an anomaly of ``until``."""
        outcome = self._played.outcome(values, schedule, RUN_BUDGET, until)
        if outcome is None:
            return None
        known = None
        if self._condition == "race":
            known = self._played.outcome(values, TEXTUAL, RUN_BUDGET)
        found = finding(self._condition, self._buffer, outcome, known)
        return None if found is None else Caught(values, schedule, found)

    def _shrunk(self, caught: Caught) -> Caught:
        """Smaller values while the same schedule shows the defect."""
        progress = True
        while progress and monotonic() < self._deadline:
            progress = False
            for values in smaller(self._around, caught.values):
                less = self._again(values, caught.schedule)
                if less is not None:
                    caught, progress = less, True
                    break
        return caught

    def _told(self, caught: Caught) -> Counterexample | None:
        """In words. A miniature whose full size shows nothing is no evidence."""
        sizes = self._around.miniature(caught.values)
        note = ""
        repeated: tuple[str, ...] = ()
        if sizes:
            note = f"\nminiature: {', '.join(sizes)} stand for the menu's tiles"
            real = self._at_full_size(caught)
            if real == "nothing":
                return None
            if isinstance(real, Caught):
                repeated = (f"with {_named(self._around, real.values)}: {real.found.sentence}",)
        prepared = self._played.prepared(caught.values)
        assert prepared is not None, "the defect was reached there"
        traced = run_prepared(prepared, caught.schedule, RUN_BUDGET, trace=True)
        lines = (*trace(caught.found, traced, caught.values), *repeated)
        title = f"{self._around.template.name} with {_named(self._around, caught.values)}"
        drawn = interleaving(title, caught.found, traced, caught.values)
        return Counterexample(
            _shown(caught.values), caught.found.sentence + note, True, lines, drawn
        )

    def _at_full_size(self, caught: Caught) -> Caught | Literal["too large", "nothing"]:
        """The defect again with sizes of the menus, where that is not too long to run.

        ``nothing``: the sizes that were refuted run to their end under every schedule of
        the condition and show no defect.
        """
        deadline = min(self._deadline, monotonic() + FULL_SIZE_SECONDS)
        enough = telling(self._condition)
        answer: Literal["too large", "nothing"] = "too large"
        for full in full_sizes(self._around, caught.values):
            narrow = _narrowed(self._around, caught.values, full)
            real = None if narrow is None else self._again(narrow, caught.schedule, enough)
            if real is not None:
                return real
            if products(self._around, full) > FULL_SIZE_PRODUCTS or monotonic() > deadline:
                continue
            real = self._again(full, caught.schedule, enough) or self._attack(full, deadline)
            if real is not None:
                return real
            is_refuted = all(full[n] == self._around.base[n] for n in self._around.sizes)
            if is_refuted and monotonic() < deadline and self._runs(full):
                answer = "nothing"
        return answer

    def _runs(self, values: Values) -> bool:
        """Not cut off by the budget."""
        outcome = self._played.outcome(values, TEXTUAL, RUN_BUDGET)
        return outcome is not None and outcome.status != "budget"


def _narrowed(around: Family, values: Values, full: Values) -> Values | None:
    """``full`` with the extents of the output as small as in ``values``: there is less to run.

    ``None`` if that is not in scope, or the same.
    """
    outer = {n: values[n] for n in around.extents if n not in around.reductions}
    narrow = {**full, **outer}
    return narrow if narrow != full and around.admits(narrow, menus=True) else None


def _named(around: Family, values: Values) -> str:
    return ", ".join(f"{n} = {values[n]}" for n in (*around.extents, *around.sizes))


def _plain(value: int | Fraction) -> Scalar:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _shown(values: Mapping[str, Scalar]) -> dict[str, int | str]:
    return {n: v if isinstance(v, int) else str(v) for n, v in values.items()}
