"""The whole numbers that add rows up to a contradiction over the rationals.

z3 is asked, and what it answers is only a proposal: the checker adds the rows up.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any as Z3Expr

import z3

from formwright.proof.assertions import Row


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
