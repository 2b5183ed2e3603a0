"""Rows over the rationals: which contradict one another, and with which multipliers.

z3's simplex is asked, and what it answers is only a proposal: the checker adds the rows up.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any as Z3Expr

import z3

from formwright.proof.assertions import Row


class Rows:
    """A stack of rows; every name is a rational here, whatever its sort."""

    def __init__(self) -> None:
        self._context = z3.Context()
        self._solver = z3.SimpleSolver(ctx=self._context)
        self._names: dict[str, Z3Expr] = {}
        self._rows: list[tuple[int, Row, Z3Expr]] = []
        self._marks: list[int] = []
        self.calls = 0

    def push(self) -> None:
        self._solver.push()
        self._marks.append(len(self._rows))

    def pop(self) -> None:
        self._solver.pop()
        del self._rows[self._marks.pop() :]

    def add(self, number: int, row: Row) -> None:
        """The fact ``number`` is ``row``."""
        flag = z3.Bool(f"fact!{len(self._rows)}", self._context)
        self._solver.add(z3.Implies(flag, self._formula(row)))
        self._rows.append((number, row, flag))

    def conflict(self) -> list[tuple[int, Row]] | None:
        """Rows that contradict one another over the rationals, if some do."""
        self.calls += 1
        outcome = self._solver.check([flag for _, _, flag in self._rows])
        if outcome != z3.unsat:
            return None
        core = {flag.decl().name() for flag in self._solver.unsat_core()}
        return [(n, r) for n, r, flag in self._rows if flag.decl().name() in core]

    def values(self, names: Sequence[str]) -> dict[str, Fraction]:
        """A rational point that meets all rows; after :meth:`conflict` found none."""
        model = self._solver.model()
        return {n: _fraction(model.eval(self._symbol(n), model_completion=True)) for n in names}

    def _symbol(self, name: str) -> Z3Expr:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = z3.Real(name, self._context)
        return found

    def _formula(self, row: Row) -> Z3Expr:
        left = z3.Sum([c * self._symbol(n) for n, c in row.terms]) if row.terms else None
        if left is None:
            left = z3.RealVal(0, self._context)
        right = z3.RealVal(row.bound, self._context)
        match row.relation:
            case "<=":
                return left <= right
            case "<":
                return left < right
            case "=":
                return left == right


def _fraction(value: Z3Expr) -> Fraction:
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def multipliers(rows: Sequence[Row]) -> list[int] | None:
    """Whole numbers that add the rows up to ``0 <= b`` with ``b < 0``, or to ``0 < 0``.

    Those of inequalities are from 0 on. ``None``: z3 found none.
    """
    solver = z3.Solver(ctx=(context := z3.Context()))
    scales = [z3.Real(f"m!{n}", context) for n in range(len(rows))]
    columns: dict[str, list[Z3Expr]] = {}
    for scale, row in zip(scales, rows, strict=True):
        if row.relation != "=":
            solver.add(scale >= 0)
        for name, coefficient in row.terms:
            columns.setdefault(name, []).append(coefficient * scale)
    for column in columns.values():
        solver.add(z3.Sum(column) == 0)
    total = z3.Sum([row.bound * scale for scale, row in zip(scales, rows, strict=True)])
    strict = [s for s, row in zip(scales, rows, strict=True) if row.relation == "<"]
    ends = [total == -1]
    if strict:
        ends.append(z3.And(total == 0, z3.Sum(strict) == 1))
    solver.add(z3.Or(ends))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    found = [_fraction(model.eval(s, model_completion=True)) for s in scales]
    scale_up = lcm(*(f.denominator for f in found))
    whole = [int(f * scale_up) for f in found]
    common = gcd(*whole)
    return [w // common for w in whole]


def summed(numbered: Mapping[int, Row]) -> tuple[tuple[int, int], ...] | None:
    """The parts of a leaf: facts that are needed, each with its multiplier."""
    found = multipliers(list(numbered.values()))
    if found is None:
        return None
    return tuple((n, m) for n, m in zip(numbered, found, strict=True) if m)
