"""How a sum over an index changes when an action changes few cells.

``sum(i in R) e(i)`` changes by ``e'(u) - e(u)`` at each changed index ``u`` in ``R``, equal ones
counted once, and by ``e'(i) - e(i)`` elsewhere. Elsewhere is a query of its own: nothing may
change there (for a total), or nothing may grow (for a rank). What bounds the sum is rigid.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from formwright.ir.expr import Cell, Expr, Var
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
        """The changed variables that the value reads."""
        return frozenset(n for n in self.touched if self._own_name(n) in free_names(self.value))

    def _own_name(self, full: str) -> str:
        """What the value calls a variable; of a coarse system's own rank the prefix is left out."""
        prefix = self.before.prefix
        return full[len(prefix) :] if full.startswith(prefix) else "-"

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
        """Each changed variable is read at the sum's own index and changed at single ones."""
        own = (Var(self._index.name),)
        moved = {self._own_name(n) for n in self._read}
        reads = [r for r in _reads(self.value) if r.name in moved]
        single = all(p is not None for n in self._read for p in self.touched[n])
        return single and all(isinstance(r, Cell) and r.index == own for r in reads)


def _reads(expr: Expr) -> Iterator[Var | Cell]:
    if isinstance(expr, Var | Cell):
        yield expr
    for child in children(expr):
        yield from _reads(child)
