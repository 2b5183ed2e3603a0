"""How a sum over an index changes when an action changes few cells.

``sum(i in R) e(i)`` changes by ``e'(u) - e(u)`` at each changed index ``u`` in ``R``, equal ones
counted once, and by ``e'(i) - e(i)`` elsewhere. Elsewhere is a query of its own: nothing may
change there (for a total), or nothing may grow (for a rank). What bounds the sum is rigid.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from formwright.ir.expr import Cell, Expr, Var
from formwright.ir.expr import Sum as BoundedSum
from formwright.ir.rewrite import children, free_names
from formwright.ir.system import Index
from formwright.smt.atoms import Choice
from formwright.smt.encode import UnderivableError, number
from formwright.smt.step.known import Case
from formwright.smt.step.state import Names, inside
from formwright.smt.terms import ZERO, Formula, Poly, conj, eq, lt, negated

Touched = Mapping[str, Sequence[Poly | None]]


@dataclass(frozen=True, slots=True)
class Sum:
    """``sum(over) value`` before and after, for a step that changes ``touched``."""

    over: tuple[Index, ...]
    value: Expr
    before: Names
    after: Names
    touched: Touched

    @property
    def change(self) -> Poly:
        """By how much the changed indices change the sum."""
        if not self.over:
            return self._difference(self.before, self.after)
        if self._still:
            return ZERO
        index = self._index
        total, earlier = ZERO, list[Poly]()
        for place in self._places:
            bound = {index.name: place}
            here = self._difference(self.before.binding(bound), self.after.binding(bound))
            new = [negated(eq(place, p)) for p in earlier]
            counts = conj([inside(index, place, self.before), *new])
            total = total + self.before.cells.atoms.make(Choice(counts, here, ZERO))
            earlier.append(place)
        return total

    def elsewhere(self, case: Case, may_shrink: bool) -> Formula | None:
        """``case`` at an arbitrary other index, and what must not be there; ``None``: plainly."""
        if not self.over or self._still or self._plain:
            return None
        inner = case.arbitrary((self._index,), self.before)
        place = inner[self._index.name]
        case.facts += [negated(eq(place, p)) for p in self._places]
        change = self._difference(inner, self.after.binding({self._index.name: place}))
        return lt(ZERO, change) if may_shrink else negated(eq(change, ZERO))

    @property
    def changes_all(self) -> bool:
        """An array that the value reads is changed everywhere."""
        variables = self.before.cells.variables
        arrays = [n for n in self._read if variables[n].index is not None]
        return any(p is None for n in arrays for p in self.touched[n])

    def _difference(self, before: Names, after: Names) -> Poly:
        atoms = self.before.cells.atoms
        return number(self.value, after, atoms) - number(self.value, before, atoms)

    @property
    def _read(self) -> frozenset[str]:
        return frozenset(read_of(self.value, self.before, self.touched))

    @property
    def _still(self) -> bool:
        bounds = [e for i in self.over for e in (i.lo, i.hi) if e is not None]
        moving = frozenset(self.before.own_names())
        if any(free_names(e) & moving for e in bounds):
            raise UnderivableError("a sum over a range that the state decides", self.value.span)
        return not self._read

    @property
    def _index(self) -> Index:
        if len(self.over) != 1:
            raise UnderivableError("a sum over two indices that changes", self.value.span)
        return self.over[0]

    @property
    def _places(self) -> list[Poly]:
        found = {p: None for n in sorted(self._read) for p in self.touched[n] if p is not None}
        return list(found)

    @property
    def _plain(self) -> bool:
        return at_own_index(self.value, self._index.name, self.before, self.touched)


def read_of(expr: Expr, names: Names, touched: Touched) -> dict[str, str]:
    """The changed variables that ``expr`` reads, with what ``names`` calls them."""
    free, prefix = free_names(expr), names.prefix
    own = {n: n[len(prefix) :] for n in touched if n.startswith(prefix)}
    return {n: short for n, short in own.items() if short in free}


def at_own_index(expr: Expr, index: str, names: Names, touched: Touched) -> bool:
    """Each changed variable is read at ``index`` itself and changed at single places.

    Then ``expr`` changes for no value of ``index`` but those places.
    """
    if _binds(expr, index):
        return False
    read = read_of(expr, names, touched)
    own = (Var(index),)
    cells = [r for r in _reads(expr) if r.name in read.values()]
    single = all(p is not None for n in read for p in touched[n])
    return single and all(isinstance(r, Cell) and r.index == own for r in cells)


def _binds(expr: Expr, name: str) -> bool:
    own = isinstance(expr, BoundedSum) and expr.var == name
    return own or any(_binds(c, name) for c in children(expr))


def _reads(expr: Expr) -> Iterator[Var | Cell]:
    if isinstance(expr, Var | Cell):
        yield expr
    for child in children(expr):
        yield from _reads(child)
