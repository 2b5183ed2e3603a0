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
from dataclasses import dataclass, field
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


def symbols_of(formulas: Iterable[Formula]) -> set[str]:
    return {n for f in formulas for p in polys(f) for n in p.symbols()}


@dataclass(slots=True)
class Case:
    """One query in the making: what is known, and the terms to use it for."""

    cells: Cells
    known: list[Universal]
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
        named = dict(self.named)
        return Case(self.cells, [*self.known], [*self.facts], pool, named, self.fresh)

    def query(self, goal: Formula) -> Query:
        """``facts``, what follows from ``known``, and ``goal``: hoped to be impossible."""
        atoms = self.cells.atoms
        names = set(atoms.closure(symbols_of([*self.facts, goal])))
        found: dict[Formula, None] = {}
        seen: dict[int, set[tuple[Poly, ...]]] = {}
        for _ in range(2):
            self._index_terms(names)
            for place, clause in enumerate(self.known):
                for instance in clause.instances(self.pool, seen.setdefault(place, set())):
                    found[instance.formula] = None
                    names |= instance.names
        more = [*self._of_variables(names)]
        used = sorted(names | set(atoms.closure(symbols_of(more))))
        facts = (*self.facts, *found, *more, *self.cells.congruence(used))
        shown = tuple((n, p) for n, p in self.named.items())
        return Query(tuple(f for f in facts if f != TRUE), goal, given=shown)

    def _index_terms(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            read = self.cells.reads.get(name)
            if read is not None:
                index = self.cells.variables[read.name].index
                assert index is not None
                self.pool.setdefault(key_of(index), {})[read.index] = None

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
