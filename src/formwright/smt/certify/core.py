"""Which assertions and theorems a contradiction needs, as z3 says."""

from collections.abc import Sequence
from typing import Any as Z3Expr
from typing import assert_never

import z3

from formwright.proof.assertions import All, Any, Not, Row, Statement, sort_of
from formwright.proof.checker import Sorts


def core(statements: Sequence[Statement], sorts: Sorts, seconds: float) -> list[int] | None:
    """Numbers of statements that contradict one another, few; ``None`` where none were found.

    Products are symbols of their own.
    """
    writer = Writer(sorts)
    kept = _asked([(n, writer.statement(s)) for n, s in enumerate(statements)], writer, seconds)
    while kept is not None:
        fewer = _asked([(n, writer.statement(statements[n])) for n in kept], writer, seconds)
        if fewer is None or len(fewer) >= len(kept):
            break
        kept = fewer
    if kept is not None:
        kept = _least(kept, {n: writer.statement(statements[n]) for n in kept}, writer, seconds)
    return kept


def _asked(
    formulas: Sequence[tuple[int, Z3Expr]], writer: "Writer", seconds: float
) -> list[int] | None:
    solver = z3.SimpleSolver(ctx=writer.context)
    solver.set("timeout", max(1, int(seconds * 1000)))
    flags = {z3.Bool(f"use!{n}", writer.context): f for n, f in formulas}
    for flag, formula in flags.items():
        solver.add(z3.Implies(flag, formula))
    if solver.check(list(flags)) != z3.unsat:
        return None
    return sorted(int(f.decl().name().split("!")[1]) for f in solver.unsat_core())


def _least(
    kept: list[int], formulas: dict[int, Z3Expr], writer: "Writer", seconds: float
) -> list[int]:
    """Leaves out one statement after another where the rest still contradict."""
    found = list(kept)
    for number in kept:
        if number not in found:
            continue
        rest = [(n, formulas[n]) for n in found if n != number]
        fewer = _asked(rest, writer, min(seconds, 1.0))
        if fewer is not None:
            found = fewer
    return found


class Writer:
    """Statements for z3, in a context of their own."""

    def __init__(self, sorts: Sorts) -> None:
        self.context = z3.Context()
        self._sorts = sorts
        self._names: dict[str, Z3Expr] = {}

    def statement(self, statement: Statement) -> Z3Expr:
        match statement:
            case Row(relation, terms, bound):
                left = z3.Sum([c * self._symbol(n) for n, c in terms]) if terms else None
                if left is None:
                    left = z3.IntVal(0, self.context)
                right = z3.IntVal(bound, self.context)
                if relation == "=":
                    return left == right
                return left <= right if relation == "<=" else left < right
            case All(parts):
                return z3.And([z3.BoolVal(True, self.context), *map(self.statement, parts)])
            case Any(parts):
                return z3.Or([z3.BoolVal(False, self.context), *map(self.statement, parts)])
            case Not(part):
                return z3.Not(self.statement(part))
            case _:
                assert_never(statement)

    def _symbol(self, name: str) -> Z3Expr:
        found = self._names.get(name)
        if found is None:
            real = sort_of(name, self._sorts) == "Real"
            found = z3.Real(name, self.context) if real else z3.Int(name, self.context)
            self._names[name] = found
        return found
