"""Discharging one query: linear with lemmas, then case by case over the menus, then told.

``unsat`` is an answer for every extent, agent count and iteration. A solution is searched
for with the decisions fixed one assignment at a time, small values first, and is rechecked
exactly before it is given back. Everything else is ``unknown`` with the reason.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any as Z3Expr
from typing import Literal

import z3

from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock, OutOfTimeError
from formwright.smt.encoding import Encoding, rational_model, value_of
from formwright.smt.goals import Query
from formwright.smt.ledger import Ledger, tagged
from formwright.smt.lemmas import lemmas, menu_products
from formwright.smt.points import adapted, keep_point, kept_points, point_key, roomier
from formwright.smt.premises import Premises
from formwright.smt.record import Tagged
from formwright.smt.small import small_model
from formwright.smt.terms import (
    ONE,
    All,
    Formula,
    Number,
    Poly,
    conj,
    constant,
    le,
    polys,
    symbol,
)
from formwright.smt.tracked import Tracked, alone
from formwright.smt.whole import WholeQueries

CASES = 48
"""The most assignments of decisions that one query is split into."""

HURRIED_MS = 1000
"""The first look at a question that is asked in another way as well."""

Status = Literal["unsat", "sat", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``values`` of all symbols that are not atoms, when ``status`` is ``sat``."""

    status: Status
    reason: str = ""
    values: Mapping[str, Number] = field(default_factory=dict)
    cases: int = 0


class Solver:
    """Answers queries under fixed premises.

    ``linear`` is an encoding of the same atoms to share, so that texts are made once. With a
    ``ledger`` a query that is known to be unsatisfiable is not asked, and one that is found
    to be leaves its core there.
    """

    def __init__(
        self,
        atoms: Atoms,
        premises: Premises,
        clock: Clock,
        linear: Encoding | None = None,
        ledger: Ledger | None = None,
        whole: WholeQueries | None = None,
    ) -> None:
        self._ledger = ledger
        self._whole = whole
        self._atoms = atoms
        self._premises = premises
        self._clock = clock
        self._linear = linear or Encoding(atoms, exact=False)
        self._answered = 0
        """How many questions :meth:`excluded` found solutions of, of the query that is left."""
        self._assumed = (*premises.scope, *premises.conditions)
        self._assumed_names = _direct(self._assumed, ())
        self._lower: dict[Formula, Formula] = {
            le(constant(min(menu)), symbol(n)): le(ONE, symbol(n))
            for n, menu in premises.menus.items()
            if min(menu) > 1
        }

    @property
    def premises(self) -> Premises:
        """What every query may assume."""
        return self._premises

    @property
    def positive(self) -> frozenset[str]:
        """Names that are at least 1 in the premises."""
        return self._premises.positive

    def answer(self, query: Query, small: bool = True) -> Answer:
        """Whether facts and goal can hold together in the scope.

        ``small``: a solution has small values, for people and for a replay.
        """
        if self._whole is not None and self._whole.knows(query, self._premises):
            return Answer("unsat")
        known = self._ledger is not None and self.excluded(query)
        found = Answer("unsat") if known else self.left(query, small)
        if self._whole is not None and found.status == "unsat":
            self._whole.note(query, self._premises)
        return found

    def excluded(self, query: Query) -> bool:
        """Whether a kept core shows that the query has no solution, or one that is kept now."""
        ledger = self._ledger
        assert ledger is not None
        goal = conj((*query.facts, query.goal))
        claim = _claim(query)
        definitions = tagged("definition", self._definitions(goal, query.hints))
        if ledger.recall(claim, definitions, self._premises):
            return True
        self._clock.asked += 1
        tracked = Tracked(self._linear, self._clock)
        tracked.add([*claim, *definitions, *tagged("premise", self._assumed)])
        tracked.add(tagged("bound", self._premises.bounds()))
        if not self._contradictory(tracked, goal, query.hints):
            return False
        self._answered = 0
        with suppress(OutOfTimeError, z3.Z3Exception):
            self._keep_linear(ledger, tracked)
        return True

    def _contradictory(self, tracked: Tracked, goal: Formula, hints: Sequence[Poly]) -> bool:
        """Whether that is so with products as symbols; then the lemmas, then the menus are added.

        What takes long here is asked again without literals, with all of its time.
        """
        self._answered = 0
        with self._clock.hurried(HURRIED_MS):
            for number, more in enumerate((self._theorems, self._choices)):
                outcome = tracked.check()
                if outcome == z3.unsat:
                    return True
                if outcome == z3.sat and self._answered == number:
                    self._answered += 1
                tracked.add(more(goal, hints))
            return bool(tracked.check() == z3.unsat)

    def _keep_linear(self, ledger: Ledger, tracked: Tracked) -> None:
        core = self._alone(tracked.core())
        if core is not None:
            ledger.keep(core, "linear")

    def _alone(self, core: Sequence[Tagged]) -> Sequence[Tagged] | None:
        """The core solved by itself, with "at least 1" for menus that begin higher, if that is
        enough: such a core outlives an edit of the menu."""
        weaker = [(role, self._lower.get(f, f)) for role, f in core]
        found = alone(weaker, self._linear, self._clock) if weaker != list(core) else None
        return found or alone(core, self._linear, self._clock)

    def left(self, query: Query, small: bool = True) -> Answer:
        """As without a ledger; a query without a solution leaves a core."""
        if self._ledger is None:
            self._clock.asked += 1
        goal = conj((*query.facts, query.goal))
        found = self._solved(goal, query.hints, small)
        if found.status == "unsat" and self._ledger is not None:
            with suppress(OutOfTimeError, z3.Z3Exception):  # an answer stands without its core
                self._keep(self._ledger, query, goal)
        return found

    def _solved(self, goal: Formula, hints: Sequence[Poly], small: bool) -> Answer:
        """In turn, but for what :meth:`excluded` just found solutions of."""
        solver = self._abstract(goal, hints)
        answered, self._answered = self._answered, 0
        for number, more in enumerate((self._related, self._members)):
            if number >= answered and self._clock.check(solver) == z3.unsat:
                return Answer("unsat")
            solver.add(self._linear.whole(more(goal, hints)))
        return self._by_cases(solver, goal, self._used(goal, hints), small)

    def _keep(self, ledger: Ledger, query: Query, goal: Formula) -> None:
        """What needed menus: a core with products as symbols, as they are, or all of it."""
        whole = [*_claim(query), *tagged("premise", self._assumed)]
        whole += tagged("definition", self._definitions(goal, query.hints))
        whole += tagged("bound", self._premises.bounds())
        lemmas_ = self._theorems(goal, query.hints)
        tracked = Tracked(self._linear, self._clock)
        tracked.add([*whole, *lemmas_, *self._choices(goal, query.hints)])
        if tracked.check() == z3.unsat:
            self._keep_linear(ledger, tracked)
            return
        whole += tagged("menu", self._premises.members())
        exact = Encoding(self._atoms, exact=True)
        tracked = Tracked(exact, self._clock)
        tracked.add(whole)
        core = alone(tracked.core(), exact, self._clock) if tracked.check() == z3.unsat else None
        ledger.keep(core or whole, "cases" if core is None else "exact")

    def consistent(self, formulas: Sequence[Formula]) -> Answer:
        """A point of the scope where ``formulas`` and every premise hold, or ``unsat``."""
        if self._ledger is None:
            return self._point(formulas)
        rules, database = self._premises, self._ledger.database
        stated = _flat([*rules.scope, *rules.conditions, *rules.members(), *formulas])
        names = self._names([*self._assumed, *rules.members()], ())
        key = point_key(n for n in names if n not in self._atoms.by_name)
        kept = kept_points(database, key)
        for point in (*kept, *(roomier(p) for p in kept)):
            values = adapted(point, stated, rules.menus, self._atoms, self._holds)
            if values is not None:
                return Answer("sat", values=values)
        found = self._point(formulas)
        if found.status == "sat":
            keep_point(database, key, found.values)
        return found

    def _point(self, formulas: Sequence[Formula]) -> Answer:
        self._clock.asked += 1
        goal, decisions = conj(formulas), list(self._premises.menus)
        solver = self._abstract(goal, ())
        solver.add(self._linear.whole(self._members(goal, ())))
        if self._clock.check(solver) == z3.sat:
            model = solver.model()
            fixed = {n: int(value_of(model, self._linear.symbol(n))) for n in decisions}
            point = self._at(goal, fixed, small=False)
            if point.status == "sat":
                return point
        if self._at(goal, {}, small=False).status == "unsat":
            return Answer("unsat")
        return self._by_cases(solver, goal, decisions)

    def _used(self, goal: Formula, hints: Sequence[Poly]) -> list[str]:
        names = self._names([goal], hints)
        return [n for n in self._premises.menus if n in names]

    def _new(self) -> Z3Expr:
        solver = z3.SimpleSolver()
        solver.set("random_seed", 1)
        return solver

    def _names(self, formulas: Sequence[Formula], hints: Sequence[Poly]) -> tuple[str, ...]:
        return self._atoms.closure(_direct(formulas, hints))

    def _all_names(self, goal: Formula, hints: Sequence[Poly]) -> tuple[str, ...]:
        """The names of a query and of all premises, menus too."""
        direct = _direct([goal], hints) | self._assumed_names
        return self._atoms.closure(direct)

    def _definitions(self, goal: Formula, hints: Sequence[Poly]) -> list[Formula]:
        names = self._all_names(goal, hints)
        return [self._atoms.definition(n) for n in names if n in self._atoms.by_name]

    def _abstract(self, goal: Formula, hints: Sequence[Poly]) -> Z3Expr:
        """Products are symbols and menus are ranges: weaker than what is true, and linear."""
        assumed = [*self._assumed, *self._premises.bounds()]
        solver = self._new()
        solver.add(self._linear.whole((*assumed, *self._definitions(goal, hints), goal)))
        return solver

    def _related(self, goal: Formula, hints: Sequence[Poly]) -> list[Formula]:
        """Lemmas that relate the products of a query and of the premises' definitions."""
        rules = self._premises
        names = self._all_names(goal, hints)
        return lemmas([goal], hints, names, rules.positive, self._atoms)

    def _theorems(self, goal: Formula, hints: Sequence[Poly]) -> list[Tagged]:
        """The lemmas with their conditions: true whatever the premises say."""
        names = self._all_names(goal, hints)
        positive = self._premises.positive
        found = lemmas([goal], hints, names, positive, self._atoms, guarded=True)
        return tagged("lemma", found)

    def _choices(self, goal: Formula, hints: Sequence[Poly]) -> list[Tagged]:
        menus = self._premises.members()
        products = self._members(goal, hints)[len(menus) :]
        return [*tagged("menu", menus), *tagged("lemma", products)]

    def _members(self, goal: Formula, hints: Sequence[Poly]) -> list[Formula]:
        """The menus as they stand, and products with each of their values."""
        rules = self._premises
        names = self._all_names(goal, hints)
        definitions = self._definitions(goal, hints)
        used = {n: menu for n, menu in rules.menus.items() if n in names}
        products = menu_products((goal, *self._assumed, *definitions), used)
        return [*rules.members(), *products]

    def _by_cases(
        self, proposals: Z3Expr, goal: Formula, used: Sequence[str], small: bool = True
    ) -> Answer:
        """Splits over the menus of the decisions ``used``, the solver's proposals first."""
        for case in range(CASES):
            outcome = self._clock.check(proposals)
            if outcome == z3.unsat:
                return Answer("unsat", cases=case)
            if outcome != z3.sat:
                return Answer("unknown", f"z3: {proposals.reason_unknown()}", cases=case)
            fixed = self._propose(proposals, used)
            found = self._at(goal, fixed, small)
            if found.status != "unsat":
                return found
            block = [self._linear.symbol(n) != v for n, v in fixed.items()]
            if not block:
                return Answer("unsat", cases=case + 1)
            proposals.add(z3.Or(block))
        return Answer("unknown", f"more than {CASES} cases of the menus", cases=CASES)

    def _propose(self, proposals: Z3Expr, used: Sequence[str]) -> dict[str, int]:
        """An assignment of the decisions, each as small as the ones before allow."""
        fixed: dict[str, int] = {}
        proposals.push()
        for name in used:
            for value in self._premises.menus[name]:
                wanted = self._linear.symbol(name) == value
                if self._clock.check(proposals, [wanted]) == z3.sat:
                    proposals.add(self._linear.symbol(name) == value)
                    fixed[name] = value
                    break
        if len(fixed) < len(used):
            model = proposals.model() if self._clock.check(proposals) == z3.sat else None
            for name in used:
                if name not in fixed and model is not None:
                    fixed[name] = int(value_of(model, self._linear.symbol(name)))
        proposals.pop()
        return fixed

    def _at(self, goal: Formula, fixed: Mapping[str, int], small: bool = True) -> Answer:
        """With these decisions fixed: a solution, with ``small`` values, or none at all."""
        rules, encoding = self._premises, Encoding(self._atoms, exact=True, fixed=fixed)
        assumed = [*rules.scope, *(c for c in rules.conditions if self._only(c, fixed))]
        names = self._names([goal, *assumed], ())
        solver = self._new()
        definitions = [self._atoms.definition(n) for n in names if n in self._atoms.by_name]
        solver.add(encoding.whole((*definitions, *assumed, goal)))
        outcome = self._clock.check(solver)
        if outcome == z3.unsat:
            return Answer("unsat")
        if outcome != z3.sat and not encoding.nonlinear:
            return Answer("unknown", f"z3: {solver.reason_unknown()}")
        free = [n for n in names if n not in self._atoms.by_name and n not in fixed]
        if outcome == z3.sat and not small:
            model = solver.model()
        else:
            model = small_model(solver, encoding, free, self._atoms.real, self._clock)
        if model is None:
            return Answer("unknown", f"no solution found and none excluded at {dict(fixed)}")
        constants = {n: encoding.symbol(n) for n in free}
        rational = rational_model(solver, model, constants.values(), self._clock.check)
        if rational is None:
            return Answer("unknown", "the solver's solution is not rational")
        values: dict[str, Number] = {n: value_of(rational, c) for n, c in constants.items()}
        values.update(fixed)
        if not all(self._holds(f, values) for f in (*assumed, goal)):
            return Answer("unknown", "the solver's solution fails the exact recheck")
        return Answer("sat", values=values)

    def _only(self, formula: Formula, fixed: Mapping[str, int]) -> bool:
        """Whether ``formula`` is about the fixed decisions alone (and the scope)."""
        names = self._names([formula], ())
        return all(n in fixed for n in names if n in self._premises.menus)

    def _holds(self, formula: Formula, values: Mapping[str, Number]) -> bool:
        try:
            return self._atoms.holds(formula, values)
        except ZeroDivisionError:
            return False


def _claim(query: Query) -> list[Tagged]:
    return [*tagged("fact", _parts(conj(query.facts))), *tagged("goal", _parts(query.goal))]


def _flat(formulas: Sequence[Formula]) -> list[Formula]:
    return [part for f in formulas for part in _parts(f)]


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, All) else (formula,)


def _direct(formulas: Sequence[Formula], hints: Sequence[Poly]) -> frozenset[str]:
    """The symbols that formulas and hints name themselves."""
    found = {n for f in formulas for p in polys(f) for n in p.symbols()}
    return frozenset(found | {n for p in hints for n in p.symbols()})
