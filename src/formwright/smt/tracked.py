"""A query whose assertions are told apart, so that an answer says which of them it used."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any as Z3Expr

import z3

from formwright.smt.clock import Clock
from formwright.smt.encoding import Encoding
from formwright.smt.record import Tagged

ROUNDS = 3
"""How often a core is solved again by itself to make it smaller."""

GROWN = 24
"""Cores of fewer assertions are not made smaller: that costs more than it saves."""


@lru_cache(maxsize=8192)
def _literal(number: int) -> Z3Expr:
    """The literal of an assertion; solvers share them, which is a tenth of the work."""
    return z3.Bool(f"{Encoding.LITERAL}{number}")


class _Assuming:
    """A solver under literals that it takes as they are: z3py looks at each one again."""

    def __init__(self, solver: Z3Expr, literals: Sequence[Z3Expr]) -> None:
        self._solver = solver
        self._literals = literals
        self.set = solver.set
        self.reason_unknown = solver.reason_unknown

    def check(self) -> Z3Expr:
        count = len(self._literals)
        asts = (z3.Ast * count)(*(literal.ast for literal in self._literals))
        solver = self._solver
        found = z3.Z3_solver_check_assumptions(solver.ctx.ref(), solver.solver, count, asts)
        return z3.CheckSatResult(found)


class Tracked:
    """Assertions each behind a literal of its own; more may be added."""

    def __init__(self, encoding: Encoding, clock: Clock) -> None:
        self._encoding = encoding
        self._clock = clock
        self._solver = z3.SimpleSolver()
        self._solver.set("random_seed", 1)
        self._kept: list[Tagged] = []
        self._literals: list[Z3Expr] = []

    @property
    def assertions(self) -> Sequence[Tagged]:
        return self._kept

    def add(self, formulas: Sequence[Tagged]) -> None:
        """More assertions, all of them tracked."""
        start = len(self._kept)
        self._solver.add(self._encoding.guarded([f for _, f in formulas], start))
        self._kept.extend(formulas)
        self._literals += [_literal(start + n) for n in range(len(formulas))]

    def check(self) -> Z3Expr:
        """``sat``, ``unsat`` or ``unknown`` of everything added so far."""
        return self._clock.check(_Assuming(self._solver, self._literals))

    def core(self) -> tuple[Tagged, ...]:
        """What the last ``unsat`` used."""
        used = {literal.get_id() for literal in self._solver.unsat_core()}
        pairs = zip(self._kept, self._literals, strict=True)
        return tuple(kept for kept, literal in pairs if literal.get_id() in used)


def alone(core: Sequence[Tagged], encoding: Encoding, clock: Clock) -> tuple[Tagged, ...] | None:
    """The core, smaller where that was easy, once it was solved by itself; ``None`` if it fails.

    The last solver that saw it had nothing else to use.
    """
    for _ in range(ROUNDS):
        solver = Tracked(encoding, clock)
        solver.add(core)
        if solver.check() != z3.unsat:
            return None
        smaller = solver.core()
        if len(smaller) == len(core) or len(core) < GROWN:
            return tuple(core)
        core = smaller
    solver = Tracked(encoding, clock)
    solver.add(core)
    return tuple(core) if solver.check() == z3.unsat else None
