"""States of a refinement step as polynomials: before an action, after it, at the start.

Before an action each variable without index is a symbol, and so is each cell for each
*polynomial* that indexes it. Two polynomials may have the same value, so two symbols may be
one cell: :meth:`Cells.congruence` says it for the cells that a query names. Leaving such a
fact out makes a query weaker, never wrong. A condition is the number 0 or 1.

Cells outside the range of an index are numbers like others, only of no use: that no action
reads or changes one is shown by itself (S15).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.system import Index, StateVar, System
from formwright.smt.atoms import Atoms, Choice
from formwright.smt.encode import StateEnv, UnderivableError, number
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Formula,
    Poly,
    conj,
    eq,
    implies,
    le,
    lt,
    symbol,
)

COARSE = "coarse."
"""What stands before the name of a coarse variable."""

Key = tuple[Expr | None, Expr | None]
"""The range of an index as it is written: values of the same range belong together."""


def key_of(index: Index) -> Key:
    return index.lo, index.hi


@dataclass(frozen=True, slots=True)
class Read:
    """One cell of the state before: ``name[index]``."""

    name: str
    index: Poly


@dataclass(slots=True)
class Cells:
    """The variables of both systems by full name, and the symbols of the cells read so far.

    ``rigid`` are the names of the template's scope and its decisions, ``positive`` those that
    are at least 1; ``tokens`` are those of both systems.
    """

    atoms: Atoms
    rigid: frozenset[str]
    variables: Mapping[str, StateVar]
    tokens: Mapping[str, Poly]
    positive: frozenset[str] = frozenset()
    reads: dict[str, Read] = field(default_factory=dict)
    symbols: dict[Read, str] = field(default_factory=dict)
    ranges: dict[str, Formula] = field(default_factory=dict)
    pairs: dict[tuple[Poly, Poly], Formula] = field(default_factory=dict)

    def tokens_of(self, prefix: str) -> Mapping[str, Poly]:
        """The tokens that a system can name: not those that the other one calls like a variable
        of this one."""
        return {n: p for n, p in self.tokens.items() if prefix + n not in self.variables}

    def symbol(self, name: str, index: Poly) -> Poly:
        read = Read(name, index)
        found = self.symbols.get(read)
        if found is None:
            found = f"{name}@{len(self.symbols)}"
            self.symbols[read] = found
            self.reads[found] = read
        return symbol(found)

    def congruence(self, used: Iterable[str]) -> Iterator[Formula]:
        """Equal indices, equal cells: for every two of the cells ``used``."""
        places: dict[Poly, dict[str, str]] = {}
        for name in used:
            read = self.reads.get(name)
            if read is not None:
                places.setdefault(read.index, {})[read.name] = name
        for (i, here), (j, there) in combinations(places.items(), 2):
            if (i, j) not in self.pairs:
                self.pairs[i, j] = eq(i, j)
            same = [n for n in here if n in there]
            if same and self.pairs[i, j] != FALSE:
                cells = (eq(symbol(here[n]), symbol(there[n])) for n in same)
                yield implies(self.pairs[i, j], conj(cells))


def variables_of(coarse: System, fine: System) -> dict[str, StateVar]:
    found = {v.name: v for v in fine.state}
    return found | {COARSE + v.name: v for v in coarse.state}


class View(Protocol):
    """A state: what each variable and each cell is."""

    def scalar(self, name: str) -> Poly: ...

    def cell(self, name: str, index: Poly) -> Poly: ...


@dataclass(frozen=True, slots=True)
class Before:
    """The arbitrary state that an action finds."""

    cells: Cells

    def scalar(self, name: str) -> Poly:
        return symbol(f"{name}@")

    def cell(self, name: str, index: Poly) -> Poly:
        return self.cells.symbol(name, index)


@dataclass(frozen=True, slots=True)
class Change:
    """``name[index] := value``; without ``index`` every cell, or the variable itself."""

    index: Poly | None
    value: Callable[[Poly], Poly]


@dataclass(frozen=True, slots=True)
class After:
    """``base`` with some variables changed, all at once."""

    base: View
    changes: Mapping[str, Change]
    atoms: Atoms

    def scalar(self, name: str) -> Poly:
        change = self.changes.get(name)
        return self.base.scalar(name) if change is None else change.value(ZERO)

    def cell(self, name: str, index: Poly) -> Poly:
        change = self.changes.get(name)
        if change is None:
            return self.base.cell(name, index)
        if change.index is None:
            return change.value(index)
        same = eq(index, change.index)
        if same == TRUE:
            return change.value(index)
        return self.atoms.make(Choice(same, change.value(index), self.base.cell(name, index)))


class Names(StateEnv):
    """A state as one system names it: ``prefix`` is ``coarse.`` for the coarse system."""

    __slots__ = ("atoms", "bound", "cells", "prefix", "view")

    def __init__(self, view: View, cells: Cells, bound: Mapping[str, Poly], prefix: str = ""):
        self.view, self.cells, self.bound, self.prefix = view, cells, bound, prefix

    def __getitem__(self, name: str) -> Poly:
        if name in self.bound:
            return self.bound[name]
        variable = self.cells.variables.get(self.prefix + name)
        if variable is None and name in self.cells.rigid:
            return symbol(name)
        if variable is None:
            raise UnderivableError(f'no value for "{name}"')
        if variable.index is not None:
            raise UnderivableError(f"{name} needs an index")
        return self.view.scalar(self.prefix + name)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter((*self.bound, *self.cells.variables))

    def __len__(self) -> int:
        return len(self.bound) + len(self.cells.variables)

    def cell(self, name: str, index: Sequence[Poly], span: Span | None) -> Poly:
        full = self.prefix + name
        variable = self.cells.variables.get(full)
        if variable is None or variable.index is None or len(index) != 1:
            raise UnderivableError(f"{name} is no variable with one index", span)
        if not self.cells.atoms.is_integer(index[0]):
            raise UnderivableError(f"an index of {name} is not an integer", span)
        return self.view.cell(full, index[0])

    def own_names(self) -> list[str]:
        """What expressions call the variables here."""
        mine = [n for n in self.cells.variables if n.startswith(self.prefix)]
        return [n[len(self.prefix) :] for n in mine]

    def binding(self, more: Mapping[str, Poly]) -> "Names":
        return Names(self.view, self.cells, {**self.bound, **more}, self.prefix)


@dataclass(frozen=True, slots=True)
class Initially:
    """The state at the start of a run: it names parameters and tokens only."""

    cells: Cells

    def scalar(self, name: str) -> Poly:
        return self._value(name, self.cells.tokens)

    def cell(self, name: str, index: Poly) -> Poly:
        own = self.cells.variables[name].index
        assert own is not None
        return self._value(name, {**self.cells.tokens, own.name: index})

    def _value(self, name: str, bound: Mapping[str, Poly]) -> Poly:
        variable = self.cells.variables[name]
        names = Names(self, Cells(self.cells.atoms, self.cells.rigid, {}, {}), bound)
        value = number(variable.initial, names, self.cells.atoms)
        return integral(value, self.cells.atoms, variable.span, f"the initial value of {name}")


def integral(value: Poly, atoms: Atoms, span: Span | None, what: str) -> Poly:
    """``value``, which the symbols of a state take for an integer."""
    if not atoms.is_integer(value):
        raise UnderivableError(f"{what} is not plainly an integer", span)
    return value


def inside(index: Index, value: Poly, names: Names) -> Formula:
    """``value`` is in the range of ``index``."""
    atoms = names.cells.atoms
    parts: list[Formula] = []
    if index.lo is not None:
        parts.append(le(number(index.lo, names, atoms), value))
    if index.hi is not None:
        parts.append(lt(value, number(index.hi, names, atoms)))
    return conj(parts)


def is_truth(value: Poly) -> Formula:
    """0 or 1, as every condition is."""
    return conj((le(ZERO, value), le(value, ONE)))
