"""Expressions of transition systems: their kinds, with conditions never compared."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from formwright.ir.expr import Expr
from formwright.ir.system import Clause, Index, RankTerm
from formwright.ir.truths import is_condition, settled
from formwright.lang import kinds
from formwright.lang.names import Names, Symbol


@dataclass(frozen=True, slots=True)
class Truths:
    """The visible names that stand for conditions, and with ``unknown`` those that nobody knows.

    An unknown name is told as such; what it is compared with is not told again.
    """

    names: Names
    unknown: bool = False

    def __contains__(self, name: object) -> bool:
        symbol = self.names.table.get(name) if isinstance(name, str) else None
        return self.unknown if symbol is None else symbol.kind == "condition"


class Checks:
    """Checks what it gives back; every fault is told.

    Conditions may be compared (``loaded = true``): :func:`formwright.ir.inline.inlined` writes
    that with logic only, and what is checked here is that form.
    """

    def __init__(self, names: Names) -> None:
        self.names = names

    def integer(self, expr: Expr) -> Expr:
        before = len(self.names.faults.items)
        info = kinds.integer(self._settled(expr), self.names)
        if len(self.names.faults.items) == before:
            self._no_chip(info, expr)
        return expr

    def condition(self, expr: Expr) -> Expr:
        self._no_chip(kinds.condition(self._settled(expr), self.names), expr)
        return expr

    def value(self, expr: Expr) -> tuple[Expr, str]:
        """An integer or a condition, and in words which."""
        if is_condition(expr, Truths(self.names)):
            return self.condition(expr), "a condition"
        return self.integer(expr), "an integer"

    def info(self, expr: Expr) -> kinds.Info:
        """Kind and sizes of what :meth:`value` has checked."""
        quiet = len(self.names.faults.items)
        found = kinds.check(self._settled(expr), self.names)
        del self.names.faults.items[quiet:]
        return found

    def _settled(self, expr: Expr) -> Expr:
        return settled(expr, Truths(self.names, unknown=True))

    def _no_chip(self, info: kinds.Info, expr: Expr) -> None:
        if info.chip:
            self.names.faults.add(
                "a transition system depends on the chip here",
                expr.span,
                "make it a decision; constraints tie decisions to the chip",
            )

    def range(self, index: Index) -> Index:
        """``index`` with its ends checked."""
        lo = None if index.lo is None else self.integer(index.lo)
        hi = None if index.hi is None else self.integer(index.hi)
        return Index(index.name, lo, hi, index.span)

    @contextmanager
    def bound(self, indices: Iterable[Index], what: str) -> Iterator[tuple[Index, ...]]:
        """The names hold inside the block; a later range may name earlier ones."""
        with ExitStack() as stack:
            found: list[Index] = []
            for index in indices:
                found.append(self.range(index))
                symbol = Symbol(what, "integer", index.span)
                stack.enter_context(self.names.bound([(index.name, symbol)]))
            yield tuple(found)

    def clause(self, clause: Clause) -> Clause:
        with self.bound(clause.forall, 'a name of "forall"') as over:
            return Clause(over, self.condition(clause.condition), clause.span)

    def rank_term(self, term: RankTerm) -> RankTerm:
        with self.bound(term.over, "the name of a sum") as over:
            return RankTerm(over, self.integer(term.value), term.span)
