"""Discharging one query: linear with lemmas, then case by case over the menus, then told.

``unsat`` is an answer for every extent, agent count and iteration. A solution is searched
for with the decisions fixed (:mod:`formwright.smt.cases`). Everything else is ``unknown`` with
the reason.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any as Z3Expr

import z3

from formwright.smt.atoms import Atoms
from formwright.smt.cases import Answer, Cases
from formwright.smt.clock import Clock, OutOfTimeError
from formwright.smt.encoding import Encoding, new_solver, value_of
from formwright.smt.goals import Query
from formwright.smt.ledger import Ledger, tagged
from formwright.smt.lemmas import lemmas, menu_products
from formwright.smt.points import adapted, keep_point, kept_points, point_key, roomier
from formwright.smt.premises import Premises
from formwright.smt.record import Tagged
from formwright.smt.terms import (
    ONE,
    All,
    Formula,
    Poly,
    conj,
    constant,
    direct_names,
    le,
    symbol,
)
from formwright.smt.tracked import Tracked, alone
from formwright.smt.whole import WholeQueries

HURRIED_MS = 1000
"""The first look at a question that is asked in another way as well."""

STAGES = ("products as symbols", "lemmas", "menus")
"""What a query is asked with, one after the other."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """A query that was just found to have solutions, in the first ``answered`` stages."""

    goal: Formula
    answered: int
    tracked: Tracked


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
        self._looked: _Looked | None = None
        self._cases = Cases(atoms, premises, clock, self._linear)
        self._assumed = (*premises.scope, *premises.conditions)
        self._assumed_names = direct_names(self._assumed, ())
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

    def answer(self, query: Query, small: bool = True, short: bool = True) -> Answer:
        """Whether facts and goal can hold together in the scope.

        ``small``: a solution has small values, for people and for a replay. ``short``: with a
        ledger, first asked with literals, as :meth:`excluded` does; else only what is kept answers
        before it is solved.
        """
        if self._whole is not None and self._whole.knows(query, self._premises):
            return Answer("unsat")
        known = self._ledger is not None and (
            self.excluded(query) if short else self._kept(self._ledger, query)
        )
        found = Answer("unsat") if known else self.left(query, small)
        if self._whole is not None and found.status == "unsat":
            self._whole.note(query, self._premises)
        return found

    def excluded(self, query: Query) -> bool:
        """Whether a kept core shows that the query has no solution, or one that is kept now."""
        ledger = self._ledger
        assert ledger is not None
        goal, claim, definitions = self._stated(query)
        if self._recalled(ledger, claim, definitions):
            return True
        tracked = Tracked(self._linear, self._clock)
        tracked.add([*claim, *definitions, *tagged("premise", self._assumed)])
        tracked.add(tagged("bound", self._premises.bounds()))
        if not self._contradictory(tracked, goal, query.hints):
            return False
        with suppress(OutOfTimeError, z3.Z3Exception):
            self._keep_linear(ledger, tracked)
        return True

    def _kept(self, ledger: Ledger, query: Query) -> bool:
        """Whether a kept core answers; not looked for again where it was looked for last."""
        goal, claim, definitions = self._stated(query)
        seen = self._looked is not None and self._looked.goal == goal
        return not seen and self._recalled(ledger, claim, definitions)

    def _stated(self, query: Query) -> tuple[Formula, list[Tagged], list[Tagged]]:
        """A query as one formula, by its parts, and with what defines its names."""
        goal = conj((*query.facts, query.goal))
        return goal, _claim(query), tagged("definition", self._definitions(goal, query.hints))

    def _recalled(
        self, ledger: Ledger, claim: Sequence[Tagged], definitions: Sequence[Tagged]
    ) -> bool:
        """Whether a kept core is part of the query; else it is one more to ask."""
        known = ledger.recall(claim, definitions, self._premises)
        self._clock.asked += not known
        return known

    def _contradictory(self, tracked: Tracked, goal: Formula, hints: Sequence[Poly]) -> bool:
        """Whether that is so with products as symbols; then the lemmas, then the menus are added.

        What takes long here is asked again without literals, with all of its time.
        """
        answered = 0
        self._looked = None
        with self._clock.hurried(HURRIED_MS):
            for number, more in enumerate((self._theorems, self._choices, None)):
                outcome = tracked.check()
                if outcome == z3.unsat:
                    return True
                if outcome == z3.sat and answered == number:
                    answered += 1
                if more is not None:
                    tracked.add(more(goal, hints))
        self._looked = _Looked(goal, answered, tracked)
        return False

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
        looked, self._looked = self._looked, None
        if looked is not None and looked.goal != goal:
            looked = None
        if looked is not None and looked.answered == len(STAGES):
            return self._cases.split(looked.tracked.plain(), goal, self._used(goal, hints), small)
        answered = 0 if looked is None else looked.answered
        solver = self._abstract(goal, hints)
        for number, more in enumerate((self._related, self._members)):
            if number >= answered and self._clock.check(solver) == z3.unsat:
                return Answer("unsat")
            solver.add(self._linear.whole(more(goal, hints)))
        return self._cases.split(solver, goal, self._used(goal, hints), small)

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
            values = adapted(point, stated, rules.menus, self._atoms, self._cases.holds)
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
            point = self._cases.at(goal, fixed, small=False)
            if point.status == "sat":
                return point
        if self._cases.at(goal, {}, small=False).status == "unsat":
            return Answer("unsat")
        return self._cases.split(solver, goal, decisions)

    def _used(self, goal: Formula, hints: Sequence[Poly]) -> list[str]:
        names = self._names([goal], hints)
        return [n for n in self._premises.menus if n in names]

    def _names(self, formulas: Sequence[Formula], hints: Sequence[Poly]) -> tuple[str, ...]:
        return self._atoms.closure(direct_names(formulas, hints))

    def _all_names(self, goal: Formula, hints: Sequence[Poly]) -> tuple[str, ...]:
        """The names of a query and of all premises, menus too."""
        direct = direct_names([goal], hints) | self._assumed_names
        return self._atoms.closure(direct)

    def _definitions(self, goal: Formula, hints: Sequence[Poly]) -> list[Formula]:
        names = self._all_names(goal, hints)
        return [self._atoms.definition(n) for n in names if n in self._atoms.by_name]

    def _abstract(self, goal: Formula, hints: Sequence[Poly]) -> Z3Expr:
        """Products are symbols and menus are ranges: weaker than what is true, and linear."""
        assumed = [*self._assumed, *self._premises.bounds()]
        solver = new_solver()
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


def _claim(query: Query) -> list[Tagged]:
    return [*tagged("fact", _parts(conj(query.facts))), *tagged("goal", _parts(query.goal))]


def _flat(formulas: Sequence[Formula]) -> list[Formula]:
    return [part for f in formulas for part in _parts(f)]


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, All) else (formula,)
