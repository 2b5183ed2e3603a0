"""How each kind of obligation of one template is settled."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import Expr
from formwright.ir.template import Template
from formwright.proof.database import Database
from formwright.proof.refutation import ClauseJudge, Replayer, StepReplayer
from formwright.proof.refutation import Instance as Run
from formwright.proof.verdict import Counterexample, Evidence, Obligation
from formwright.smt.atoms import Atoms
from formwright.smt.cases import Answer
from formwright.smt.clock import Clock
from formwright.smt.design import divisor_goals, extent_goals, fits_goals, implied_goals
from formwright.smt.encode import UnderivableError
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Goal, Query
from formwright.smt.lazy import reaches
from formwright.smt.ledger import Ledger
from formwright.smt.menus import Cover, cover
from formwright.smt.nodes import Nodes
from formwright.smt.outcome import FAILURES, Outcome, Task, failed, proved
from formwright.smt.premises import Premises, premises, schedule_conditions
from formwright.smt.refute import completed, leaves_shape, preferences, refutation
from formwright.smt.reuse import NOTHING_ASKED, Asked, Reuse, known_cover, said
from formwright.smt.sites import Sites, sites_of
from formwright.smt.slices import program_goals
from formwright.smt.solve import Solver
from formwright.smt.step import Setting, acting_conditions, shown_state, step_goals
from formwright.smt.targets import meaning_of
from formwright.smt.terms import Formula, Number, conj
from formwright.smt.vacuity import reachable
from formwright.smt.ways import scope_conditions
from formwright.smt.whole import WholeQueries, is_first

Choices = Sequence[list[Expr]] | None
"""Conditions that a counterexample should meet, the best first; ``None``: as it stands."""


class Prover:
    """The obligations of one inlined template."""

    def __init__(
        self,
        template: Template,
        replayer: Replayer | None,
        clock: Clock,
        step_replayer: StepReplayer | None = None,
        database: Database | None = None,
        clause_judge: ClauseJudge | None = None,
    ) -> None:
        self._template = template
        self._clause_judge = clause_judge
        self._replayer = replayer
        self._step_replayer = step_replayer
        self._setting: Setting | None = None
        self._runs: dict[tuple[tuple[str, Number], ...], Counterexample | None] = {}
        self._clock = clock
        self._atoms = Atoms()
        self._linear = Encoding(self._atoms, exact=False)
        self._queries_kept: WholeQueries | None = None
        if database is not None and template.refinement is not None:
            first = is_first(database, template.name)
            self._queries_kept = WholeQueries(database, self._linear, self._atoms, not first)
            database = None if first else database
        self._ledger = None if database is None else Ledger(database, self._atoms)
        self._reuse: Reuse | None = None
        if self._ledger is not None:
            self._reuse = Reuse(Nodes(template, self._ledger, self._impossible), clock)
        atoms, constraints = self._atoms, [c.condition for c in template.constraints]
        self._k2 = self._solver(premises(template, schedule_conditions(template), atoms))
        self._k1 = self._solver(premises(template, constraints, atoms))
        self._scope = self._solver(premises(template, [], atoms))
        self._plain = self._solver(premises(template, [], atoms, plain_scope=True))

    @property
    def reuse(self) -> Reuse | None:
        """What looks obligations up, where there is a database."""
        return self._reuse

    def write(self) -> None:
        """Writes what is kept in batches."""
        if self._queries_kept is not None:
            self._queries_kept.write()

    def _solver(self, rules: Premises) -> Solver:
        return Solver(
            self._atoms, rules, self._clock, self._linear, self._ledger, self._queries_kept
        )

    def tasks(self) -> Iterator[Task]:
        """K1, the derived requirements, K2, K3, in this order."""
        template, atoms = self._template, self._atoms
        step = template.refinement
        if step is None:
            read = (*self._stated(), template.requires, template.program, template.globals)
            yield self._fixed("premises", "derived", "vacuity", 5, self._reachable, read)
        constraints = [[c.condition for c in template.constraints]]
        k2 = preferences(template)
        sections: tuple[tuple[str, Solver, Choices], ...] = (
            ("scope", self._plain, None),
            ("constraints", self._scope, [[]]),
            ("requires", self._scope, [[]]),
            ("program", self._k2, k2),
            ("cost", self._k1, constraints),
        )
        for section, solver, choices in sections:
            for goal in divisor_goals(template, atoms, section, solver.positive):
                yield self._task(goal, solver, choices)
        for goal in implied_goals(template, atoms):
            yield self._task(goal, self._k1, constraints)
        if step is not None:
            self._setting = Setting(template, step, atoms, self._k2.positive)
            yield from self._step_tasks(self._setting, k2)
            yield self._fixed("designs in scope", "K3", "menu", 5, self._menus)
            return
        sites = self._sites()
        if sites is not None:
            for goal in (*extent_goals(sites, atoms), *fits_goals(template, sites, atoms)):
                yield self._task(goal, self._k1, constraints)
            meaning, decisions = meaning_of(template), [d.name for d in template.decisions]
            for goal in program_goals(sites, meaning, decisions, atoms, self._impossible):
                yield self._task(goal, self._k2, k2)
        else:
            yield self._fixed("program", "K2", "readiness", 0, self._underivable)
        yield self._fixed("designs in scope", "K3", "menu", 5, self._menus, self._stated())

    def _stated(self) -> tuple[object, ...]:
        """What the menus are judged by; numbers of the chip are real, others whole."""
        template = self._template
        chip = [p.name for p in template.scope.chip]
        return chip, scope_conditions(template), template.constraints, template.decisions

    def _step_tasks(self, setting: Setting, choices: Choices) -> Iterator[Task]:
        """What a refinement step owes in place of a program (S14 to S23)."""

        def acts() -> Outcome:
            try:
                return self._acts(setting)
            except FAILURES as error:
                return failed(error)

        yield self._fixed("premises and actions", "derived", "vacuity", 5, acts)
        for goal in step_goals(setting):
            yield self._task(goal, self._k2, choices)

    def _acts(self, setting: Setting) -> Outcome:
        """Premises hold together, and each action can act in a state that is related.

        That a state is related to one is looked at for finitely many values, as everywhere; that
        some state is follows from the condition ``initial`` and from the premises.
        """
        contradict = "scope, menus and {} contradict one another"
        for word, solver in (("constraints", self._k1), ("requirements", self._k2)):
            point = solver.consistent(setting.tokens().rigid)
            if point.status == "unsat":
                return Outcome("vacuous", contradict.format(word))
            if point.status == "unknown":
                return Outcome("unresolved", f"scope, menus and {word}: {point.reason}")
        for claim, formulas in acting_conditions(setting):
            point = self._k2.consistent(formulas)
            if point.status == "unsat":
                return Outcome("vacuous", f"never: {claim}")
            if point.status == "unknown":
                return Outcome("unresolved", f"{claim}: {point.reason}")
        return Outcome("proved", "the premises hold together and every action can act")

    def _impossible(self, conditions: Sequence[Formula]) -> bool:
        return self._k2.answer(Query((), conj(conditions))).status == "unsat"

    def _sites(self) -> Sites | None:
        try:
            return sites_of(self._template.program, self._template.globals)
        except UnderivableError:
            return None

    def _underivable(self) -> Outcome:
        try:
            sites_of(self._template.program, self._template.globals)
        except UnderivableError as error:
            return failed(error)
        raise AssertionError("the program is derivable")

    def _fixed(
        self,
        name: str,
        group: str,
        condition: str,
        weight: int,
        settle: Callable[[], Outcome],
        read: tuple[object, ...] = (),
    ) -> Task:
        """A task that is no goal; ``read`` is all that it is settled from, if that is known."""

        def looked_up() -> Outcome:
            if self._reuse is None:
                return settle()
            asked = self._clock.asked
            found = self._reuse.whole(condition, read, settle) if read else settle()
            known = self._clock.asked == asked and found.verdict == "proved"
            return replace(found, reused=known)

        def timed(seconds: float) -> Obligation:
            self._clock.start(seconds)
            return _timed(name, group, condition, looked_up)

        return Task(condition, name, weight, timed, group)

    def _task(self, goal: Goal, solver: Solver, choices: Choices) -> Task:
        ordinal = 0 if self._reuse is None else self._reuse.noted(goal, solver)

        def settle(seconds: float) -> Obligation:
            self._clock.start(seconds)
            return _timed(
                goal.name,
                goal.group,
                goal.condition,
                lambda: self._settled(goal, ordinal, solver, choices),
            )

        return Task(goal.condition, goal.name, goal.weight, settle, goal.group)

    def _settled(self, goal: Goal, ordinal: int, solver: Solver, choices: Choices) -> Outcome:
        if self._reuse is None:
            return self._goal(goal, solver, choices)

        def ask(before: Asked) -> Outcome:
            asked = self._clock.asked
            found = self._goal(goal, solver, choices, before)
            known = self._queries_kept is not None and self._clock.asked == asked
            return replace(found, reused=True) if known and found.verdict == "proved" else found

        return self._reuse.settled(goal, ordinal, solver, ask)

    def _goal(
        self, goal: Goal, solver: Solver, choices: Choices, before: Asked = NOTHING_ASKED
    ) -> Outcome:
        """Proved if every query is unsatisfiable; the first that is not decides.

        Those that are known to be, ``before`` says, and the one that is not excluded.
        """
        try:
            queries = goal.build()
            cases = 0
            for query in queries:
                if before.excluded and said(query) in before.excluded:
                    continue
                # Where one was left open, the others are not tried the short way first either.
                answer = solver.answer(query, short=before.left is None)
                cases += answer.cases
                if answer.status == "unknown":
                    return Outcome("unresolved", answer.reason, limited=True)
                if answer.status == "sat":
                    return self._refuted(goal, query, answer, choices)
        except FAILURES as error:
            return failed(error)
        return proved(len(queries), cases)

    def _refuted(self, goal: Goal, query: Query, answer: Answer, choices: Choices) -> Outcome:
        template, claim = self._template, goal.claim
        if self._setting is not None and query.states is None:
            return self._certificate(goal, query, answer, choices)
        whole = self._whole(answer.values, choices)
        if whole is None:
            return Outcome("unresolved", f"{claim}: no values for the rest of the template")
        if query.states is not None:
            return self._evaluated(claim, query, query.states, answer, whole)
        found = refutation(goal, query, answer.values, whole, self._atoms)
        if self._replayer is not None:
            reached = self._replayer(template, found)
            if reached is not None and reached.replayed:
                return Outcome("refuted", claim, reached)
        shown = _counterexample(claim, whole, *(str(i.variables) for i in found.instances))
        if goal.condition == "address" and self._outside(query, whole, found.instances[0]):
            return Outcome("refuted", claim, shown)
        why = "no interpreter was given" if self._replayer is None else "it did not replay"
        return Outcome("unresolved", f"{claim}: counterexample found, but {why}", shown)

    def _certificate(self, goal: Goal, query: Query, answer: Answer, choices: Choices) -> Outcome:
        """A condition of a step that fails somewhere: refuted only by a run that was reached.

        The interpreter looks at one choice of decisions once, whatever condition failed there:
        extents and teams it tries by itself, small ones first.
        """
        assert self._setting is not None
        whole = self._whole(answer.values, choices)
        if whole is None:
            whole = {n: v for n, v in answer.values.items() if "@" not in n}
        if self._step_replayer is not None:
            given = {p.name for p in self._template.scope.given}
            chosen = given | {d.name for d in self._template.decisions}
            key = tuple(sorted((n, v) for n, v in whole.items() if n in chosen))
            if key not in self._runs:
                self._runs[key] = self._step_replayer(self._template, dict(whole))
            reached = self._runs[key]
            if reached is not None and reached.replayed:
                return Outcome("refuted", goal.claim, reached)
        state = shown_state(self._setting, query, answer.values)
        text = f"failed certificate: {goal.claim}"
        why = "" if self._clause_judge is None else self._clause_judge(self._template, dict(whole))
        text += f"; {why}" if why else ""
        shown = _counterexample(text, {**whole, **state})
        return Outcome("unresolved", text, shown)

    def _whole(self, values: Mapping[str, Number], choices: Choices) -> Mapping[str, Number] | None:
        """Values for every name; without ``choices`` those of the solution stand."""
        if choices is None:
            return {n: v for n, v in values.items() if "@" not in n}
        return completed(self._template, self._atoms, values, choices, self._clock)

    def _evaluated(
        self,
        claim: str,
        query: Query,
        states: Expr,
        answer: Answer,
        whole: Mapping[str, Number],
    ) -> Outcome:
        """A condition on values alone is settled by the meaning of expressions."""
        known = answer.values
        local = {
            n: self._atoms.value(p, known) for n, p in query.given if p.symbols() <= set(known)
        }
        try:
            if truth(states, {**whole, **local}):
                return Outcome("unresolved", f"{claim}: no values for the rest of the template")
        except EvaluationError as error:
            return Outcome("unresolved", f"{claim}: {error.message}")
        where = {**whole, **local}
        return Outcome("refuted", claim, _counterexample(claim, where, "evaluated exactly"))

    def _outside(self, query: Query, whole: Mapping[str, Number], run: Run) -> bool:
        site, values = query.actors[0].instance.site, {**whole, **run.variables}
        return any(leaves_shape(site, reach, values) for reach in reaches(site.apply))

    def _reachable(self) -> Outcome:
        return reachable(self._template, self._k1, self._k2, self._atoms)

    def _cover(self) -> Cover:
        if self._ledger is None:
            return cover(self._template, self._atoms, self._clock)
        return known_cover(self._template, self._ledger, self._scope, self._clock)

    def _covered(self, found: Cover) -> None:
        """Who notes what a proof rests on overrides this."""

    def _menus(self) -> Outcome:
        try:
            found = self._cover()
        except FAILURES as error:
            return failed(error)
        self._covered(found)
        if found.status == "proved":
            return Outcome("proved", f"{len(found.designs)} designs cover the scope")
        if found.parameters is None:
            return Outcome("unresolved", found.reason)
        claim = "no assignment of the menus meets the constraints"
        shown = _counterexample(claim, found.parameters, "every point of the menus was evaluated")
        return Outcome("refuted", claim, shown)


def _counterexample(text: str, values: Mapping[str, Number], *trace: str) -> Counterexample:
    shown: dict[str, int | str] = {
        n: str(v) if isinstance(v, Fraction) else v for n, v in sorted(values.items())
    }
    return Counterexample(shown, text, False, tuple(trace))


def _timed(name: str, group: str, condition: str, settle: Callable[[], Outcome]) -> Obligation:
    started = time.perf_counter()
    outcome = settle()
    evidence: Evidence = "proved" if outcome.verdict == "proved" else "none"
    return Obligation(
        name=name,
        group=group,
        condition=condition,
        verdict=outcome.verdict,
        evidence=evidence,
        seconds=time.perf_counter() - started,
        detail=outcome.detail,
        counterexample=outcome.counterexample,
        reused=outcome.reused,
    )
