"""A query case by case over the menus: a solution at some decisions, or none at any.

A solution is searched for with the decisions fixed one assignment at a time, small values first,
and is rechecked exactly before it is given back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any as Z3Expr
from typing import Literal

import z3

from formwright.smt.atoms import Atoms
from formwright.smt.clock import Clock
from formwright.smt.encoding import Encoding, new_solver, rational_model, value_of
from formwright.smt.premises import Premises
from formwright.smt.small import small_model
from formwright.smt.terms import Formula, Number, direct_names

CASES = 48
"""The most assignments of decisions that one query is split into."""

Status = Literal["unsat", "sat", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``values`` of all symbols that are not atoms, when ``status`` is ``sat``."""

    status: Status
    reason: str = ""
    values: Mapping[str, Number] = field(default_factory=dict)
    cases: int = 0


class Cases:
    """Cases of queries under fixed premises; ``linear`` names the symbols of the proposals."""

    def __init__(self, atoms: Atoms, premises: Premises, clock: Clock, linear: Encoding) -> None:
        self._atoms = atoms
        self._premises = premises
        self._clock = clock
        self._linear = linear

    def split(
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
            found = self.at(goal, fixed, small)
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

    def at(self, goal: Formula, fixed: Mapping[str, int], small: bool = True) -> Answer:
        """With these decisions fixed: a solution, with ``small`` values, or none at all."""
        rules, encoding = self._premises, Encoding(self._atoms, exact=True, fixed=fixed)
        assumed = [*rules.scope, *(c for c in rules.conditions if self._only(c, fixed))]
        names = self._names([goal, *assumed])
        solver = new_solver()
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
        if not all(self.holds(f, values) for f in (*assumed, goal)):
            return Answer("unknown", "the solver's solution fails the exact recheck")
        return Answer("sat", values=values)

    def _only(self, formula: Formula, fixed: Mapping[str, int]) -> bool:
        """Whether ``formula`` is about the fixed decisions alone (and the scope)."""
        names = self._names([formula])
        return all(n in fixed for n in names if n in self._premises.menus)

    def _names(self, formulas: Sequence[Formula]) -> tuple[str, ...]:
        return self._atoms.closure(direct_names(formulas))

    def holds(self, formula: Formula, values: Mapping[str, Number]) -> bool:
        """The exact truth; what divides by zero does not hold."""
        try:
            return self._atoms.holds(formula, values)
        except ZeroDivisionError:
            return False
