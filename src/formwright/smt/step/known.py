"""What is known of a state for every value of some names, used for finitely many values.

A query is a set of formulas without quantifiers that must have no solution.

*Known for all.* ``forall i in R: c(i)`` is used as ``t in R => c(t)`` for some terms ``t``.
Each is an instance, so it is true whenever the clause is: with any choice of terms a query
only gets weaker than the truth. Nothing is said of a range that is empty.

*To be shown for all.* ``not (forall i in R: c(i))`` holds iff ``s in R and not c(s)`` for
some value; ``s`` is a new symbol of which only ``s in R`` is known. A range without members
leaves nothing to show.

Terms are picked by their range: names declared in it, and indices of cells whose variable
has it. Cells that instances bring in are terms of a second round.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from formwright.ir.expr import Expr
from formwright.ir.system import Index
from formwright.smt.encode import number, truth
from formwright.smt.goals import Query
from formwright.smt.step.state import Before, Cells, Key, Names, inside, is_truth, key_of
from formwright.smt.terms import (
    TRUE,
    Formula,
    Poly,
    conj,
    implies,
    le,
    lt,
    negated,
    polys,
    symbol,
)

INSTANCES = 64
"""The most instances of one clause in one round."""

Pool = dict[Key, dict[Poly, None]]


@dataclass(frozen=True, slots=True)
class Instance:
    """``formula`` with the symbols that it and its definitions name."""

    formula: Formula
    names: frozenset[str]


@dataclass(slots=True, eq=False)
class Universal:
    """``forall indices: condition`` as ``names`` reads it; instances are made once."""

    forall: tuple[Index, ...]
    condition: Expr
    names: Names
    made: dict[tuple[Poly, ...], Instance] = field(default_factory=dict)

    def at(self, values: tuple[Poly, ...]) -> Instance:
        """``values in range => condition``."""
        found = self.made.get(values)
        if found is None:
            atoms = self.names.cells.atoms
            ranges, names = ranged(self.forall, values, self.names)
            formula = implies(conj(ranges), truth(self.condition, names, atoms))
            found = Instance(formula, frozenset(atoms.closure(symbols_of([formula]))))
            self.made[values] = found
        return found

    def instances(self, pool: Pool, seen: set[tuple[Poly, ...]]) -> Iterator[Instance]:
        """Instances at the terms of ``pool`` that are not in ``seen``."""
        every = list(dict.fromkeys(t for terms in pool.values() for t in terms))
        choices = [list(pool.get(key_of(i), ())) or every for i in self.forall]
        new = (v for v in product(*choices) if v not in seen)
        for values in islice(new, INSTANCES):
            seen.add(values)
            yield self.at(values)


def ranged(
    forall: Sequence[Index], values: Sequence[Poly], names: Names
) -> tuple[list[Formula], Names]:
    """That each value is in its range, and ``names`` with the values; ranges may name earlier."""
    ranges: list[Formula] = []
    for index, value in zip(forall, values, strict=True):
        ranges.append(inside(index, value, names))
        names = names.binding({index.name: value})
    return ranges, names


def is_state(name: str) -> bool:
    """A symbol of a variable or of a cell, not of a parameter, token or new name."""
    return "@" in name and "@@" not in name


def symbols_of(formulas: Iterable[Formula]) -> set[str]:
    return {n for f in formulas for p in polys(f) for n in p.symbols()}


@dataclass(slots=True)
class Case:
    """One query in the making: what is known, and the terms to use it for.

    ``rigid`` are facts about ``tokens``, which are terms only of queries that name them.
    """

    cells: Cells
    known: list[Universal]
    rigid: list[Formula] = field(default_factory=list)
    tokens: list[tuple[Key, Poly]] = field(default_factory=list)
    facts: list[Formula] = field(default_factory=list)
    pool: Pool = field(default_factory=dict)
    named: dict[str, Poly] = field(default_factory=dict)
    fresh: int = 0

    def term(self, index: Index, value: Poly, shown: str) -> None:
        self.pool.setdefault(key_of(index), {})[value] = None
        self.named[shown] = value

    def arbitrary(self, indices: Sequence[Index], names: Names) -> Names:
        """``names`` with a new value for each index, of which only its range is known."""
        for index in indices:
            self.fresh += 1
            value = symbol(f"s@@{self.fresh}")
            self.facts.append(inside(index, value, names))
            self.term(index, value, index.name)
            names = names.binding({index.name: value})
        return names

    def copy(self) -> "Case":
        pool = {k: dict(v) for k, v in self.pool.items()}
        return replace(
            self, known=[*self.known], facts=[*self.facts], pool=pool, named=dict(self.named)
        )

    def query(self, goal: Formula, everything: bool = False) -> Query:
        """``facts``, what follows from ``known``, and ``goal``: hoped to be impossible.

        Left out is what shares no part of the state with the rest: clauses without indices, and
        tokens. ``everything`` leaves nothing out, to ask whether all of it can hold.
        """
        names = set(self.cells.atoms.closure(symbols_of([*self.facts, goal])))
        found: dict[Formula, None] = {}
        seen: dict[int, set[tuple[Poly, ...]]] = {}
        for _ in range(2):
            self._single_clauses(names, found, everything)
            self._terms(names, everything)
            for place, clause in enumerate(self.known):
                if not clause.forall:
                    continue
                for instance in clause.instances(self.pool, seen.setdefault(place, set())):
                    found[instance.formula] = None
                    names |= instance.names
        self._single_clauses(names, found, everything)
        return self._query(goal, names, found)

    def _query(self, goal: Formula, names: set[str], found: Iterable[Formula]) -> Query:
        more = list(self._of_variables(names))
        used = sorted(names | set(self.cells.atoms.closure(symbols_of(more))))
        facts = (*self.rigid, *self.facts, *found, *more, *self.cells.congruence(used))
        shown = tuple((n, p) for n, p in self.named.items())
        return Query(tuple(f for f in facts if f != TRUE), goal, given=shown)

    def _single_clauses(
        self, names: set[str], found: dict[Formula, None], everything: bool
    ) -> None:
        """Clauses without indices that share a variable with ``names``, again and again."""
        left = [c.at(()) for c in self.known if not c.forall]
        before = -1
        while before != len(left):
            before = len(left)
            for instance in left:
                state = {n for n in instance.names if is_state(n)}
                if everything or not state or state & names:
                    found[instance.formula] = None
                    names |= instance.names
            left = [i for i in left if i.formula not in found]

    def _terms(self, names: set[str], everything: bool) -> None:
        """Indices of cells, and tokens that occur (those that occur in no index too)."""
        for name in sorted(names):
            read = self.cells.reads.get(name)
            if read is not None:
                index = self.cells.variables[read.name].index
                assert index is not None
                self.pool.setdefault(key_of(index), {})[read.index] = None
                names |= set(self.cells.atoms.closure(read.index.symbols()))
        for key, value in self.tokens:
            if everything or value.symbols() & names:
                self.pool.setdefault(key, {})[value] = None

    def _of_variables(self, names: Iterable[str]) -> Iterator[Formula]:
        """The ranges of the variables and cells that a query names."""
        cells = self.cells
        for name in sorted(names):
            if name in cells.reads or (name.endswith("@") and name[:-1] in cells.variables):
                if name not in cells.ranges:
                    cells.ranges[name] = of_variable(cells, name)
                yield cells.ranges[name]


def of_variable(cells: Cells, name: str) -> Formula:
    """The range of the variable or cell of a symbol, in the state before.

    That of a cell is known inside the range of its index only.
    """
    read, value = cells.reads.get(name), symbol(name)
    full = name[:-1] if read is None else read.name
    variable = cells.variables[full]
    if variable.sort == "bool":
        return is_truth(value)
    names = Names(Before(cells), cells, cells.tokens, full[: len(full) - len(variable.name)])
    where: Formula = TRUE
    if variable.index is not None and read is not None:
        where = inside(variable.index, read.index, names)
        names = names.binding({variable.index.name: read.index})
    parts: list[Formula] = []
    if variable.lo is not None:
        parts.append(le(number(variable.lo, names, cells.atoms), value))
    if variable.hi is not None:
        parts.append(lt(value, number(variable.hi, names, cells.atoms)))
    return implies(where, conj(parts))


def refuted_clause(case: Case, forall: Sequence[Index], condition: Expr, names: Names) -> Formula:
    """``not (forall: condition)`` with new names, whose ranges become facts of ``case``."""
    inner = case.arbitrary(forall, names)
    return negated(truth(condition, inner, case.cells.atoms))
