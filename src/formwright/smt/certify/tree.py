"""The search for a tree: choices with the fewest open ways first, then cuts.

What a branch does not use does not stand: a subtree that closes without the facts of its branch
takes the place of the whole split. So trees stay small, and what is irrelevant costs no depth.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from formwright.proof.assertions import Row, row, sort_of
from formwright.proof.certificate import Cut, Split, Sum, Terms, Tree
from formwright.proof.checker import Choice, Fact, Sorts, tightened
from formwright.smt.certify.farkas import Rows, summed


class NotFoundError(Exception):
    """No tree within the limits; the message says which limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``nodes`` of the search (not of the tree), ``cuts`` below one another, ``seconds``."""

    nodes: int = 4000
    cuts: int = 12
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Branch:
    """Facts by name, what follows from them, and the names that it uses from above."""

    facts: tuple[int, ...]
    node: "Node"
    used: frozenset[int]


@dataclass(frozen=True, slots=True)
class Fork:
    """A choice (by name), or a cut where ``cut`` is a form and its bound."""

    choice: int
    cut: tuple[Terms, int] | None
    branches: tuple[Branch, ...]


Node = Sum | Fork
"""A tree whose facts have names that stay when branches fall away."""


class Search:
    """One search, within limits."""

    def __init__(self, sorts: Sorts, limits: Limits) -> None:
        self._facts: dict[int, Fact] = {}
        self._sorts = sorts
        self._limits = limits
        self._rows = Rows()
        self._nodes = 0
        self._last = 0
        self._end = time.monotonic() + limits.seconds

    def tree(self, groups: Sequence[Sequence[Fact]]) -> tuple[list[int], Tree]:
        """A tree over some of ``groups``, and which; raises :class:`NotFoundError`."""
        names = [self._push(group) for group in groups]
        root = self._close(frozenset(), 0)
        kept = [n for n, group in enumerate(names) if root.used & set(group)]
        places = {name: at for at, name in enumerate(m for n in kept for m in names[n])}
        return kept, _numbered(root.node, places)

    def _push(self, facts: Sequence[Fact]) -> tuple[int, ...]:
        """Names of the facts, now on the stack."""
        names = tuple(range(self._last, self._last + len(facts)))
        self._last += len(facts)
        for name, fact in zip(names, facts, strict=True):
            self._facts[name] = fact
            if isinstance(fact, Row):
                self._rows.add(name, fact)
        return names

    def _close(self, done: frozenset[int], cuts: int) -> Branch:
        """Closes what stands on the stack; choices in ``done`` were split above."""
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise NotFoundError(f"more than {self._limits.nodes} nodes")
        if time.monotonic() > self._end:
            raise NotFoundError(f"more than {self._limits.seconds:g} s")
        conflict = self._rows.conflict()
        if conflict is not None:
            return self._leaf(dict(conflict))
        number = self._choice(done)
        if number is not None:
            fact = self._facts[number]
            assert isinstance(fact, Choice)
            return self._fork(number, None, fact.ways, done | {number}, cuts)
        if cuts >= self._limits.cuts:
            raise NotFoundError(f"more than {self._limits.cuts} cuts below one another")
        terms, bound = self._fractional()
        low = tightened(row("<=", terms, bound), self._sorts)
        high = tightened(row("<=", [(n, -c) for n, c in terms], -bound - 1), self._sorts)
        return self._fork(-1, (terms, bound), ((low,), (high,)), done, cuts + 1)

    def _leaf(self, core: dict[int, Row]) -> Branch:
        parts = summed(core)
        if parts is None:
            raise NotFoundError("no multipliers for a core")
        return Branch((), Sum(parts), frozenset(n for n, _ in parts))

    def _choice(self, done: frozenset[int]) -> int | None:
        """The choice with the fewest ways that the rows leave open; none where all are taken."""
        best: tuple[int, int] | None = None
        rows = {f for f in self._facts.values() if isinstance(f, Row)}
        for number, fact in self._facts.items():
            if number in done or isinstance(fact, Row):
                continue
            if any(all(isinstance(f, Row) and f in rows for f in way) for way in fact.ways):
                continue
            count = sum(self._open(way) for way in fact.ways)
            if best is None or count < best[0]:
                best = (count, number)
            if count <= 1:
                break
        return None if best is None else best[1]

    def _open(self, way: Sequence[Fact]) -> bool:
        self._rows.push()
        for fact in way:
            if isinstance(fact, Row):
                self._rows.add(-1, fact)
        found = self._rows.conflict() is None
        self._rows.pop()
        return found

    def _fork(
        self,
        number: int,
        cut: tuple[Terms, int] | None,
        ways: Sequence[Sequence[Fact]],
        done: frozenset[int],
        cuts: int,
    ) -> Branch:
        branches: list[Branch] = []
        used = frozenset({number} if cut is None else ())
        for way in ways:
            self._rows.push()
            names = self._push(way)
            below = self._close(done, cuts)
            for name in names:
                del self._facts[name]
            self._rows.pop()
            if not below.used & set(names):
                return below
            branches.append(Branch(names, below.node, below.used))
            used |= below.used - set(names)
        return Branch((), Fork(number, cut, tuple(branches)), used)

    def _fractional(self) -> tuple[Terms, int]:
        """A form of integers whose value lies between two whole numbers at the point found."""
        rows = [f for f in self._facts.values() if isinstance(f, Row)]
        names = sorted({n for r in rows for n, _ in r.terms})
        self._rows.conflict()
        values = self._rows.values(names)
        for name in names:
            value: Fraction = values[name]
            if sort_of(name, self._sorts) == "Int" and value.denominator != 1:
                return ((name, 1),), floor(value)
        raise NotFoundError("a point that meets every row and choice")


def _numbered(node: Node, places: dict[int, int]) -> Tree:
    """Names of facts become the numbers that the checker counts."""
    if isinstance(node, Sum):
        return Sum(tuple(sorted((places[n], m) for n, m in node.parts)))
    below: list[Tree] = []
    for branch in node.branches:
        more = {name: len(places) + at for at, name in enumerate(branch.facts)}
        below.append(_numbered(branch.node, {**places, **more}))
    if node.cut is None:
        return Split(places[node.choice], tuple(below))
    return Cut(*node.cut, *below)
