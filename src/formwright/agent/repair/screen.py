"""A fast judge of candidates: the interpreter at small values, which refutes and never proves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from time import thread_time

from formwright.agent.repair.places import places
from formwright.agent.repair.points import Values, admitted, drawn, multiples, premises
from formwright.base.diagnostics import InputError
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr
from formwright.ir.inline import inlined
from formwright.ir.template import Realised, Template
from formwright.replay.adversary import adversarial, orderly
from formwright.replay.code import compile_program
from formwright.replay.compare import expected_cells
from formwright.replay.expressions import has_asynchronous
from formwright.replay.runner import Outcome, Prepared, run_prepared
from formwright.replay.schedule import TEXTUAL, Schedule
from formwright.replay.sharing import BudgetError
from formwright.replay.stages import Lines
from formwright.replay.terms import ExpansionError, Polynomial, Terms

RUN_BUDGET = 6_000
"""Points and steps of one run: values that need more are not used."""

DRAWS = 400
TRIED = 40
"""Values that the faulty program is run at."""

SHRINKING = 2.0
"""Seconds to make the values smaller at which a defect shows."""

KEPT = 12
"""Trials that show a defect and are kept."""

SURE = 12
"""Values after which no more are tried, if enough of them show the fault."""

OTHERWISE = 8
"""Values of the right runs that other schedules are tried at."""

SCHEDULES = 24
"""Other schedules at each of them."""

SEEKING_SCHEDULES = 240
SEEKING = 4.0
"""Schedules, and seconds, at values that the verifier refuted."""

DOUBTING = 0.5
"""Seconds at each of the values where other schedules are tried on what passed every run."""

PASSING = 10
"""Right runs of the textual order, and of other schedules, that candidates must pass too."""

ENOUGH = 4
"""Failing trials after which no more are looked for."""

MORE = 48
"""Values that what passes all trials is run at as well."""

MORE_BUDGET = 12_000
MORE_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: values and a schedule. ``cost``: points that the first program took for it."""

    values: tuple[tuple[str, object], ...]
    schedule: Schedule
    cost: int = 0


@dataclass(slots=True)
class _Setting:
    """What all candidates share at the same values: the lines of the workload."""

    terms: Terms
    lines: dict[tuple[Realised, ...], Lines] = field(default_factory=dict)
    expected: dict[tuple[int, ...], Polynomial] | None = None


class Screen:
    """Runs of one faulty template and of what may repair it.

    ``failing``: trials at which the faulty one shows a defect, the cheapest first; ``passing``:
    others. Both grow by what a solver refutes candidates with.
    """

    def __init__(self, template: Template, seconds: float, seed: int = 0) -> None:
        self._settings: dict[frozenset[tuple[str, object]], _Setting] = {}
        self._faulty = _closed(template)
        self.failing: list[Trial] = []
        self.passing: list[Trial] = []
        self.runs = 0
        self._worst: dict[Trial, int] = {}
        self._more: list[Values] = list(drawn(self._faulty, seed + 1, MORE, larger=True))
        started = thread_time()
        deadline = started + seconds
        right = []
        chosen = list(self._chosen(seed))
        small = [d.name for d in self._faulty.decisions if max(d.menu) < 8]
        each: dict[tuple[object, ...], Values] = {}
        for values in chosen:
            each.setdefault(tuple(values[n] for n in small), values)
        self._each = list(each.values()) if small else []
        self._right: dict[tuple[tuple[str, object], ...], bool] = {}
        for count, values in enumerate(chosen):
            first = self._first(values)
            if first is not None:
                right.append((values, first))
            late = thread_time() - started
            if late > seconds / 2 or (late > seconds / 6 and len(self.failing) >= ENOUGH):
                break
            if count >= SURE and len(self.failing) >= ENOUGH:
                break
        right.sort(key=lambda pair: pair[1].points)
        if not self.failing:
            for values, outcome in right[:OTHERWISE]:
                self._otherwise(values, outcome, deadline, SCHEDULES)
        self.failing.sort(key=lambda t: t.cost)
        if self.failing:
            self._shrink(self.failing[0], min(deadline, thread_time() + SHRINKING))
        self._order()

    def _order(self) -> None:
        """The cheapest first; of what passes a few of the textual order, then other schedules."""
        self.failing.sort(key=lambda t: t.cost)
        self.passing.sort(key=lambda t: (t.schedule != TEXTUAL, t.cost))
        del self.failing[KEPT:]
        plain = [t for t in self.passing if t.schedule == TEXTUAL][:PASSING]
        others = [t for t in self.passing if t.schedule != TEXTUAL]
        self.passing = [*plain, *others[:: max(1, len(others) // PASSING)][:PASSING]]

    def seek(self, values: Values) -> bool:
        """Whether some schedule at ``values``, where the faulty program was refuted, shows it."""
        first = self._first(values)
        if first is not None:
            deadline = thread_time() + SEEKING
            self._otherwise(values, first, deadline, SEEKING_SCHEDULES)
        if self.failing:
            self._shrink(self.failing[0], thread_time() + SHRINKING)
        self._order()
        return bool(self.failing)

    def _shrink(self, trial: Trial, deadline: float) -> None:
        """Smaller values while the same schedule shows a defect: candidates meet them first."""
        free = [p.name for p in (*self._faulty.scope.extents, *self._faulty.scope.agents)]
        sizes = {d.name for d in self._faulty.decisions if max(d.menu) >= 8}
        free += sorted(sizes)
        stated = premises(self._faulty)
        scope = [p.condition for p in self._faulty.scope.integers if p.condition is not None]
        pairs = multiples(self._faulty, sizes)
        progress = True
        while progress:
            progress = False
            for name in free:
                values: Values = dict(trial.values)  # type: ignore[arg-type]
                if thread_time() > deadline or int(values[name]) < 2:
                    continue
                values[name] = int(values[name]) - 1
                if not all(int(values[a]) % int(values[b]) == 0 for a, b in pairs):
                    continue
                if not admitted([*scope, *stated], values):
                    continue
                outcome = self.outcome(self._faulty, values, trial.schedule)
                if outcome is None or outcome.status != "defect" or outcome.points >= trial.cost:
                    continue
                trial, progress = Trial(_frozen(values), trial.schedule, outcome.points), True
                self._keep(trial, outcome)

    def _chosen(self, seed: int) -> Iterator[Values]:
        """Values at which the faulty program may run: those that its premises admit, few
        points first, each choice of the small menus before one of them comes again."""
        stated = premises(self._faulty)
        found: dict[tuple[object, ...], list[Values]] = {}
        small = [d.name for d in self._faulty.decisions if max(d.menu) < 8]
        extents = [p.name for p in self._faulty.scope.extents]
        for values in drawn(self._faulty, seed, DRAWS):
            if admitted(stated, values):
                found.setdefault(tuple(values[n] for n in small), []).append(values)
        for several in found.values():
            several.sort(key=lambda v: _volume(v, extents))
        count = 0
        for round_ in range(TRIED):
            for several in found.values():
                at = round_ * max(1, len(several) // TRIED)
                if at < len(several):
                    if count >= TRIED:
                        return
                    count += 1
                    yield several[at]

    def _first(self, values: Values) -> Outcome | None:
        """What the faulty program does in the textual order; ``None`` where it fails already."""
        first = self.outcome(self._faulty, values, TEXTUAL)
        if first is None or first.status == "budget":
            return None
        trial = Trial(_frozen(values), TEXTUAL, first.points)
        if first.status == "defect":
            self._keep(trial, first)
            return None
        self.passing.append(trial)
        return first

    def _otherwise(
        self,
        values: Values,
        first: Outcome,
        deadline: float,
        most: int,
        enough: int = ENOUGH,
    ) -> None:
        """Other schedules, until one of them shows a defect."""
        agents = max(
            (int(values[p.name]) for p in self._faulty.scope.agents if p.name in values),
            default=2,
        )
        several: Iterable[Schedule] = (Schedule(order="reversed", backward=True),)
        if _has_team(self._faulty):
            several = adversarial(first.barriers, agents, has_asynchronous(self._faulty.program))
        for count, schedule in enumerate(several):
            if count >= most or len(self.failing) >= enough or thread_time() > deadline:
                return
            trial = Trial(_frozen(values), schedule, first.points)
            if schedule != TEXTUAL and not self._try(trial, values):
                return

    def _try(self, trial: Trial, values: Values) -> bool:
        """Whether the faulty program passes; a trial that shows something is kept as such."""
        outcome = self.outcome(self._faulty, values, trial.schedule)
        if outcome is not None and outcome.status == "defect":
            self._keep(trial, outcome)
            return False
        self.passing.append(trial)
        return True

    def _keep(self, trial: Trial, outcome: Outcome) -> None:
        self.failing.append(trial)
        self._worst[trial] = defects(outcome)

    def outcome(
        self, template: Template, values: Values, schedule: Schedule, budget: int = RUN_BUDGET
    ) -> Outcome | None:
        """A run of an inlined template; ``None`` where it has no shape or too many terms."""
        self.runs += 1
        key = frozenset(values.items())
        setting = self._settings.get(key)
        if setting is None:
            setting = self._settings[key] = _Setting(Terms())
        try:
            program = compile_program(template, values)
            lines = setting.lines.get(template.realised)
            if lines is None:
                lines = Lines(program.template, values, setting.terms)
                setting.lines[template.realised] = lines
            if setting.expected is None:
                setting.expected = expected_cells(lines, program.output, setting.terms)
            prepared = Prepared(program, setting.expected, setting.terms, lines)
            return run_prepared(prepared, schedule, budget)
        except (EvaluationError, BudgetError, ExpansionError, InputError):
            return None
        except (KeyError, IndexError, ValueError, ArithmeticError, RecursionError, TypeError):
            return None  # an edit that no text can have

    def judge(self, candidate: Template) -> int:
        """0: no defect in any trial that its premises admit. Else how bad the first one is; 10**6
        where it cannot be run or admits no trial."""
        closed = _closed(candidate)
        stated = premises(closed)
        same = (closed.program, closed.realised) == (self._faulty.program, self._faulty.realised)
        ran = False
        for trial in chain(self.failing, self.passing):
            values: Values = dict(trial.values)  # type: ignore[arg-type]
            if not admitted(stated, values):
                continue
            if same and trial in self._worst:
                return self._worst[trial]
            ran = True
            if same:
                continue
            outcome = self.outcome(closed, values, trial.schedule)
            if outcome is None or outcome.status == "budget":
                return 10**6
            if outcome.status == "defect":
                return max(1, defects(outcome))
        return 0 if ran else 10**6

    def doubt(self, candidate: Template) -> bool:
        """Whether one more round, at other and larger values, shows a defect of what has passed
        every trial; what shows it is a trial from then on."""
        closed = _closed(candidate)
        stated = premises(closed)
        deadline = thread_time() + MORE_SECONDS
        for values in self._more:
            if thread_time() > deadline:
                return False
            if not admitted(stated, values):
                continue
            outcome = self.outcome(closed, values, TEXTUAL, MORE_BUDGET)
            if outcome is None or outcome.status == "defect":
                frozen = _frozen(values)
                if outcome is not None and outcome.points < RUN_BUDGET:
                    self.passing.insert(0, Trial(frozen, TEXTUAL, outcome.points))
                return True
        if not _has_team(closed):
            return False
        same = (closed.program, closed.realised) == (self._faulty.program, self._faulty.realised)
        return self._doubt_design(stated) if same else self._doubt_order(candidate, stated)

    def _doubt_design(self, stated: Sequence[Expr]) -> bool:
        """Of a precondition alone: a choice of the small menus that it admits goes wrong."""
        return any(admitted(stated, v) and not self._is_right(v) for v in self._each)

    def _is_right(self, values: Values) -> bool:
        """Whether no schedule of those tried shows a defect of the faulty program there."""
        key = _frozen(values)
        if key not in self._right:
            before, passing = len(self.failing), list(self.passing)
            first = self._first(values)
            if first is not None:
                deadline = thread_time() + SEEKING / 4
                self._otherwise(values, first, deadline, SEEKING_SCHEDULES, before + 1)
            self._right[key] = len(self.failing) == before
            self.passing = passing  # what is right there says nothing of other programs
        return self._right[key]

    def _doubt_order(self, candidate: Template, stated: Sequence[Expr]) -> bool:
        """The same by other schedules, where the faulty program failed and at two more values."""
        several = dict.fromkeys(t.values for t in (*self.failing[:2], *self.passing[:1]))
        for frozen in several:
            values: Values = dict(frozen)  # type: ignore[arg-type]
            if admitted(stated, values) and self.distinguish(candidate, values, DOUBTING):
                return True
        return False

    def worst(self) -> int:
        """How bad the faulty program is at its cheapest failing trial; 0 if it shows nothing."""
        return self._worst[self.failing[0]] if self.failing else 0

    def distinguish(self, candidate: Template, values: Values, seconds: float = SEEKING) -> bool:
        """Keeps a trial at which ``candidate``, refuted elsewhere, shows a defect."""
        closed = _closed(candidate)
        schedules: Iterable[Schedule] = orderly()
        if _has_team(closed):
            agents = max((int(values[p.name]) for p in closed.scope.agents), default=2)
            several = adversarial(4, agents, has_asynchronous(closed.program))
            schedules = islice(several, SEEKING_SCHEDULES)
        deadline = thread_time() + seconds
        for schedule in schedules:
            outcome = self.outcome(closed, values, schedule)
            if outcome is None or outcome.status == "budget" or thread_time() > deadline:
                return False
            if outcome.status == "defect":
                self.passing.insert(0, Trial(_frozen(values), schedule, outcome.points))
                return True
        return False


def defects(outcome: Outcome) -> int:
    """How many cells and reads are wrong; a run that is stuck or has no value counts more."""
    return (
        len(outcome.cells)
        + len(outcome.anomalies)
        + 100 * len(outcome.stuck)
        + (1000 if outcome.error else 0)
    )


def _frozen(values: Values) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(values.items(), key=lambda item: item[0]))


def _closed(template: Template) -> Template:
    """The form that is run: without the cost, which no run reads."""
    bare = replace(template, cost=None)
    return inlined(bare) if bare.definitions else bare


def _volume(values: Values, extents: Sequence[str]) -> int:
    total = 1
    for name in extents:
        total *= 1 + int(values[name])
    return total


def _has_team(template: Template) -> bool:
    return any(p.is_team for p in places(template))
