"""A query whose assertions are told apart, so that an answer says which of them it used."""

from collections.abc import Sequence
from functools import cache
from typing import Any as Z3Expr

import z3

from formwright.smt.clock import Clock
from formwright.smt.encoding import Encoding, new_solver
from formwright.smt.record import Tagged
from formwright.smt.terms import Formula

ROUNDS = 3
"""How often a core is solved again by itself to make it smaller."""

GROWN = 24
"""Cores of fewer assertions are not made smaller: that costs more than it saves."""


@cache
def _literal(number: int) -> Z3Expr:
    """The literal of an assertion; solvers share them, which is a tenth of the work."""
    return z3.Bool(f"{Encoding.LITERAL}{number}")


@cache
def _literal_id(number: int) -> int:
    return int(_literal(number).get_id())


def _core_ids(solver: Z3Expr) -> frozenset[int]:
    """As ``solver.unsat_core()``, without a wrapper for each literal of it."""
    context = solver.ctx.ref()
    found = z3.Z3_solver_get_unsat_core(context, solver.solver)
    z3.Z3_ast_vector_inc_ref(context, found)
    try:
        count = z3.Z3_ast_vector_size(context, found)
        members = [z3.Z3_ast_vector_get(context, found, n) for n in range(count)]
        return frozenset(z3.Z3_get_ast_id(context, member) for member in members)
    finally:
        z3.Z3_ast_vector_dec_ref(context, found)


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
        self._solver = new_solver()
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

    def plain(self) -> Z3Expr:
        """The solver with everything asserted, for more questions; no core comes of it then."""
        for literal in self._literals:
            z3.Z3_solver_assert(self._solver.ctx.ref(), self._solver.solver, literal.ast)
        return self._solver

    def core(self) -> tuple[Tagged, ...]:
        """What the last ``unsat`` used."""
        used = _core_ids(self._solver)
        return tuple(k for n, k in enumerate(self._kept) if _literal_id(n) in used)


def alone(core: Sequence[Tagged], encoding: Encoding, clock: Clock) -> tuple[Tagged, ...] | None:
    """The core, smaller where that was easy, once it was solved by itself; ``None`` if it fails.

    The last solver that saw it had nothing else to use.
    """
    for _ in range(ROUNDS):
        if len(core) < GROWN:
            break
        solver = Tracked(encoding, clock)
        solver.add(core)
        if solver.check() != z3.unsat:
            return None
        smaller = solver.core()
        if len(smaller) == len(core):
            return tuple(core)
        core = smaller
    return tuple(core) if _contradict([f for _, f in core], encoding, clock) else None


def _contradict(formulas: Sequence[Formula], encoding: Encoding, clock: Clock) -> bool:
    solver = new_solver()
    solver.add(encoding.whole(formulas))
    return bool(clock.check(solver) == z3.unsat)
