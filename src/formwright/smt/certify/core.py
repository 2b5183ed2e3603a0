"""Which facts a contradiction needs, as z3 says; products are symbols of their own."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any as Z3Expr
from typing import assert_never

import z3

from formwright.proof.assertions import Row, sort_of
from formwright.proof.checker import Choice, Fact, Sorts

ROUNDS = 4
"""How often a core is solved again to make it smaller."""


class Cores:
    """Cores of facts with these sorts; one call of z3 takes at most ``milliseconds``.

    One solver has every fact that was met, each behind a literal, and is asked about some.
    ``relaxed``: every symbol is a rational, whatever its sort.
    """

    def __init__(self, sorts: Sorts, milliseconds: int, relaxed: bool = False) -> None:
        self._context = z3.Context()
        self._solver = z3.SimpleSolver(ctx=self._context)
        self._solver.set("timeout", milliseconds)
        self._sorts = sorts
        self._relaxed = relaxed
        self._names: dict[str, Z3Expr] = {}
        self._formulas: dict[Fact, Z3Expr] = {}
        self._flags: dict[Fact, tuple[str, Z3Expr]] = {}
        self.calls = 0

    def core(self, facts: Mapping[int, Fact], rounds: int = ROUNDS) -> list[int] | None:
        """Names of facts that contradict one another, few; ``None`` where z3 finds none."""
        kept = self._asked(facts)
        for _ in range(rounds):
            fewer = None if kept is None else self._asked({n: facts[n] for n in kept})
            if kept is None or fewer is None or len(fewer) >= len(kept):
                break
            kept = fewer
        return kept

    def least(self, facts: Mapping[int, Fact]) -> list[int] | None:
        """A core from which no fact can be left out, choices tried first."""
        kept = self.core(facts)
        if kept is None:
            return None
        for number in sorted(kept, key=lambda n: isinstance(facts[n], Row)):
            if number in kept:
                fewer = self._asked({n: facts[n] for n in kept if n != number})
                kept = kept if fewer is None else fewer
        return kept

    def _asked(self, facts: Mapping[int, Fact]) -> list[int] | None:
        self.calls += 1
        flags = {n: self._flag(fact) for n, fact in facts.items()}
        if self._solver.check([flag for _, flag in flags.values()]) != z3.unsat:
            return None
        core = {f.decl().name() for f in self._solver.unsat_core()}
        found: dict[str, int] = {}
        for number, (name, _) in flags.items():
            if name in core:
                found.setdefault(name, number)
        return sorted(found.values())

    def values(self, names: Sequence[str]) -> dict[str, Fraction]:
        """A point that meets the facts, after :meth:`core` found them not to contradict."""
        model = self._solver.model()
        found = {n: model.eval(self._symbol(n), model_completion=True) for n in names}
        return {
            n: Fraction(v.numerator_as_long(), v.denominator_as_long()) for n, v in found.items()
        }

    def _flag(self, fact: Fact) -> tuple[str, Z3Expr]:
        found = self._flags.get(fact)
        if found is None:
            name = f"fact!{len(self._flags)}"
            found = self._flags[fact] = (name, z3.Bool(name, self._context))
            self._solver.add(z3.Implies(found[1], self._formula(fact)))
        return found

    def _formula(self, fact: Fact) -> Z3Expr:
        found = self._formulas.get(fact)
        if found is None:
            found = self._formulas[fact] = self._made(fact)
        return found

    def _made(self, fact: Fact) -> Z3Expr:
        match fact:
            case Row(relation, terms, bound):
                left = z3.Sum([c * self._symbol(n) for n, c in terms]) if terms else None
                left = z3.IntVal(0, self._context) if left is None else left
                right = z3.IntVal(bound, self._context)
                if relation == "=":
                    return left == right
                return left <= right if relation == "<=" else left < right
            case Choice(ways):
                true, false = (z3.BoolVal(v, self._context) for v in (True, False))
                return z3.Or([false, *(z3.And([true, *map(self._formula, w)]) for w in ways)])
            case _:
                assert_never(fact)

    def _symbol(self, name: str) -> Z3Expr:
        found = self._names.get(name)
        if found is None:
            real = self._relaxed or sort_of(name, self._sorts) == "Real"
            found = z3.Real(name, self._context) if real else z3.Int(name, self._context)
            self._names[name] = found
        return found
