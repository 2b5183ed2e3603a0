"""Which facts a contradiction needs, as z3 says; products are symbols of their own."""

from collections.abc import Iterable, Mapping, Sequence
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
        self._solver.set("ctrl_c", False)  # else z3 takes it, and says that it does not know
        self._sorts = sorts
        self._relaxed = relaxed
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
        self._add(facts.values())
        flags = {n: self._flags[fact] for n, fact in facts.items()}
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

    def _add(self, facts: Iterable[Fact]) -> None:
        """Facts that the solver has not met, as text: a tenth of the cost of its builders."""
        rows: list[str] = []
        names: set[str] = set()
        for fact in facts:
            if fact in self._flags:
                continue
            name = f"fact!{len(self._flags)}"
            self._flags[fact] = (name, z3.Bool(name, self._context))
            rows.append(
                f"(declare-const {name} Bool)(assert (=> {name} {self._text(fact, names)}))"
            )
        if rows:
            declared = [f"(declare-const |{n}| {self._sort(n)})" for n in sorted(names)]
            text = "\n".join([*declared, *rows])
            self._solver.add(z3.parse_smt2_string(text, ctx=self._context))

    def _text(self, fact: Fact, names: set[str]) -> str:
        match fact:
            case Row(relation, terms, bound):
                names.update(n for n, _ in terms)
                real = any(self._sort(n) == "Real" for n, _ in terms)
                parts = [self._term(n, c, real) for n, c in terms]
                return f"({relation} (+ 0 {' '.join(parts)}) {_number(bound)})"
            case Choice(ways):
                shown = (" ".join(self._text(f, names) for f in way) for way in ways)
                return f"(or false {' '.join(f'(and true {way})' for way in shown)})"
            case _:
                assert_never(fact)

    def _term(self, name: str, coefficient: int, real: bool) -> str:
        mixed = real and self._sort(name) == "Int"
        shown = f"(to_real |{name}|)" if mixed else f"|{name}|"
        return f"(* {_number(coefficient)} {shown})"

    def _sort(self, name: str) -> str:
        return "Real" if self._relaxed else sort_of(name, self._sorts)

    def _symbol(self, name: str) -> Z3Expr:
        make = z3.Real if self._sort(name) == "Real" else z3.Int
        return make(name, self._context)


def _number(value: int) -> str:
    return f"(- {-value})" if value < 0 else str(value)
