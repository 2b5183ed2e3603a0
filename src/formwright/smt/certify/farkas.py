"""The whole numbers that add rows up to a contradiction over the rationals.

Rows of which none can be left out have one such combination, up to a factor, and elimination
finds it. For others z3 is asked. Either is only a proposal: the checker adds the rows up.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any as Z3Expr

import z3

from formwright.proof.assertions import Row


def summed(numbered: Mapping[int, Row]) -> tuple[tuple[int, int], ...] | None:
    """The parts of a leaf: facts that are needed, each with its multiplier; ``None``: none."""
    rows = list(numbered.values())
    found = _eliminated(rows) or _asked(rows)
    if found is None:
        return None
    whole = lcm(*(f.denominator for f in found))
    numbers = [int(f * whole) for f in found]
    common = gcd(*numbers)
    return tuple((n, m // common) for n, m in zip(numbered, numbers, strict=True) if m)


def _eliminated(rows: Sequence[Row]) -> list[Fraction] | None:
    """The combination that cancels every name, if there is but one and it contradicts."""
    names = sorted({n for r in rows for n, _ in r.terms})
    table = [[Fraction(dict(r.terms).get(n, 0)) for r in rows] for n in names]
    pivots: list[int] = []
    for column in range(len(rows)):
        top = len(pivots)
        row = next((i for i in range(top, len(table)) if table[i][column]), None)
        if row is None:
            continue
        table[top], table[row] = table[row], table[top]
        lead = table[top][column]
        table[top] = [v / lead for v in table[top]]
        for i, other in enumerate(table):
            if i != top and other[column]:
                factor = other[column]
                table[i] = [v - factor * w for v, w in zip(other, table[top], strict=True)]
        pivots.append(column)
    free = [c for c in range(len(rows)) if c not in pivots]
    if len(free) != 1:
        return None
    found = [Fraction(0)] * len(rows)
    found[free[0]] = Fraction(1)
    for row, column in enumerate(pivots):
        found[column] = -table[row][free[0]]
    return next((f for f in (found, [-v for v in found]) if _contradicts(f, rows)), None)


def _contradicts(found: Sequence[Fraction], rows: Sequence[Row]) -> bool:
    pairs = list(zip(found, rows, strict=True))
    if any(m < 0 and r.relation != "=" for m, r in pairs):
        return False
    total = sum(m * r.bound for m, r in pairs)
    return total < 0 or (total == 0 and any(m > 0 and r.relation == "<" for m, r in pairs))


def _asked(rows: Sequence[Row]) -> list[Fraction] | None:
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("ctrl_c", False)  # else z3 takes it, and says that it does not know
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
    values = [model.eval(s, model_completion=True) for s in scales]
    return [Fraction(v.numerator_as_long(), v.denominator_as_long()) for v in values]
