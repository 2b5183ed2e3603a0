"""A model with small values, for people and for a replay."""

from collections.abc import Collection, Sequence
from typing import Any as Z3Expr

import z3

from formwright.smt.clock import Clock
from formwright.smt.encoding import Encoding, value_of
from formwright.smt.terms import constant, le, symbol

SMALL = (1, 2, 4, 8, 16, 32, 64, 256, 1024, 65536)
"""Bounds on extents, agents and iterations that a counterexample is tried with."""


def small_model(
    solver: Z3Expr, encoding: Encoding, free: Sequence[str], real: Collection[str], clock: Clock
) -> Z3Expr:
    """One bound on all integers, then each parameter in turn; ``None`` if there is no model."""
    numbers = [symbol(n) for n in free if n not in real]
    for bound in (*SMALL, None):
        solver.push()
        if bound is not None and numbers:
            high, low = constant(bound), constant(-bound)
            solver.add(encoding.whole(f for x in numbers for f in (le(x, high), le(low, x))))
        if clock.check(solver) == z3.sat:
            model = solver.model()
            for name in free:
                if "@" not in name and name not in real:
                    model = _least(solver, encoding.symbol(name), model, clock)
            return model
        solver.pop()
    return None


def _least(solver: Z3Expr, parameter: Z3Expr, model: Z3Expr, clock: Clock) -> Z3Expr:
    """Lowers one parameter by halving while the rest can follow, and keeps it there."""
    low, high = 0, int(value_of(model, parameter))
    while low < high:
        middle = (low + high) // 2
        if clock.check(solver, [parameter <= middle]) == z3.sat:
            model = solver.model()
            high = int(value_of(model, parameter))
        else:
            low = middle + 1
    solver.add(parameter <= high)
    return model
