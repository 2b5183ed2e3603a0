"""The search for a tree: z3 says what a branch needs, the choice that leaves least goes first.

A branch has the facts of a core of what stands above it, so irrelevant choices are never split.
What a branch does not use does not stand: a subtree that closes without the facts of its branch
takes the place of the whole split. So trees stay small, and what is irrelevant costs no depth.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from formwright.proof.assertions import Row, row, sort_of
from formwright.proof.certificate import Cut, Split, Sum, Terms, Tree
from formwright.proof.checker import Choice, Fact, Sorts, tightened
from formwright.smt.certify.core import Cores
from formwright.smt.certify.farkas import summed


class NotFoundError(Exception):
    """No tree within the limits; the message says which limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``nodes`` of the search, ``cuts`` below one another, choices ``tried`` at a node.

    ``seconds`` of this process for one query, so that other work on the machine does not
    decide; ``call_milliseconds`` for one call of z3.
    """

    nodes: int = 2000
    cuts: int = 12
    tried: int = 8
    seconds: float = 60.0
    call_milliseconds: int = 5000


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


Rows = Mapping[int, Row]
Values = Mapping[str, Fraction]

Node = Sum | Fork
"""A tree whose facts have names that stay when branches fall away."""


class Search:
    """One search, within limits."""

    def __init__(self, sorts: Sorts, limits: Limits, cores: Cores) -> None:
        self._facts: dict[int, Fact] = {}
        self._sorts = sorts
        self._limits = limits
        self._cores = cores
        self._rational = Cores({}, limits.call_milliseconds, relaxed=True)
        self._nodes = 0
        self._last = 0
        self._end = time.process_time() + limits.seconds

    def tree(self, groups: Sequence[Sequence[Fact]]) -> tuple[list[int], Tree]:
        """A tree over some of ``groups``, and which; raises :class:`NotFoundError`."""
        names = [self._named(group) for group in groups]
        # The search asks a solver that has met nothing but a core: it has less to look through.
        core = self._core([n for group in names for n in group])
        self._cores = Cores(self._sorts, self._limits.call_milliseconds)
        root = self._close(self._core(core, least=True), 0)
        kept = [n for n, group in enumerate(names) if root.used & set(group)]
        places = {name: at for at, name in enumerate(m for n in kept for m in names[n])}
        return kept, _numbered(root.node, places)

    def _named(self, facts: Sequence[Fact]) -> tuple[int, ...]:
        names = tuple(range(self._last, self._last + len(facts)))
        self._last += len(facts)
        self._facts.update(zip(names, facts, strict=True))
        return names

    def _core(self, live: Sequence[int], least: bool = False) -> list[int]:
        facts = {n: self._facts[n] for n in live}
        found = self._cores.least(facts) if least else self._cores.core(facts)
        if found is None:
            raise NotFoundError("z3 does not close a branch of linear facts")
        return found

    def _close(self, live: Sequence[int], cuts: int) -> Branch:
        """Closes facts that contradict one another."""
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise NotFoundError(f"more than {self._limits.nodes} nodes")
        if time.process_time() > self._end:
            raise NotFoundError(f"more than {self._limits.seconds:g} s")
        rows = {n: r for n in live if isinstance(r := self._facts[n], Row)}
        conflict = self._rational.core(rows, 0)
        if conflict is not None:
            return self._leaf({n: rows[n] for n in conflict})
        choices = [n for n in live if n not in rows]
        if choices:
            point = self._rational.values(sorted({n for r in rows.values() for n, _ in r.terms}))
            return self._split(self._best(choices, live, rows, point), live, cuts)
        if cuts >= self._limits.cuts:
            raise NotFoundError(f"more than {self._limits.cuts} cuts below one another")
        return self._cut(self._fractional(rows), live, cuts + 1)

    def _leaf(self, core: dict[int, Row]) -> Branch:
        parts = summed(core)
        if parts is None:
            raise NotFoundError("no multipliers for a core")
        return Branch((), Sum(parts), frozenset(n for n, _ in parts))

    def _best(self, choices: Sequence[int], live: Sequence[int], rows: Rows, point: Values) -> int:
        """The choice that leaves the least to do below it."""
        ways: dict[int, list[tuple[Fact, ...]]] = {}
        for number in choices:
            ways[number] = self._open(number, rows, point)
            if len(ways[number]) <= 1:
                return number
        fewest = sorted(choices, key=lambda n: len(ways[n]))
        scores: dict[int, float] = {}
        for number in fewest[: self._limits.tried]:
            scores[number] = sum(self._left(live, way) for way in ways[number])
        return min(scores, key=lambda n: scores[n])

    def _open(self, number: int, rows: Rows, point: Values) -> list[tuple[Fact, ...]]:
        """The ways of a choice that the rows, met at ``point``, do not close by themselves."""
        fact = self._facts[number]
        assert isinstance(fact, Choice)
        found: list[tuple[Fact, ...]] = []
        for way in fact.ways:
            more = [f for f in way if isinstance(f, Row)]
            if all(_met(r, point) for r in more) or not self._closed(rows, more):
                found.append(way)
        return found

    def _closed(self, rows: Rows, more: Sequence[Row]) -> bool:
        numbered = {-1 - n: r for n, r in enumerate(more)}
        return self._rational.core({**rows, **numbered}, 0) is not None

    def _left(self, live: Sequence[int], way: Sequence[Fact]) -> float:
        """How much a branch still needs: two to the power of the choices of its core."""
        facts = {n: self._facts[n] for n in live}
        facts |= {-1 - n: fact for n, fact in enumerate(way)}
        core = self._cores.core(facts, 1)
        if core is None:
            return float("inf")
        return 1.5 ** sum(isinstance(facts[n], Choice) for n in core) + len(core) / 100

    def _split(self, number: int, live: Sequence[int], cuts: int) -> Branch:
        fact = self._facts[number]
        assert isinstance(fact, Choice)
        return self._fork(number, None, fact.ways, live, cuts)

    def _cut(self, cut: tuple[Terms, int], live: Sequence[int], cuts: int) -> Branch:
        terms, bound = cut
        low = tightened(row("<=", terms, bound), self._sorts)
        high = tightened(row("<=", [(n, -c) for n, c in terms], -bound - 1), self._sorts)
        return self._fork(-1, cut, ((low,), (high,)), live, cuts)

    def _fork(
        self,
        number: int,
        cut: tuple[Terms, int] | None,
        ways: Sequence[Sequence[Fact]],
        live: Sequence[int],
        cuts: int,
    ) -> Branch:
        branches: list[Branch] = []
        used = frozenset({number} if cut is None else ())
        for way in ways:
            names = self._named(way)
            rest = [*(n for n in live if n != number), *names]
            # Rows that z3 closes by cuts of its own need no cut of ours to be a core.
            below = self._close(self._core(rest) if cut is None else rest, cuts)
            for name in names:
                del self._facts[name]
            if not below.used & set(names):
                return below
            branches.append(Branch(names, below.node, below.used))
            used |= below.used - set(names)
        return Branch((), Fork(number, cut, tuple(branches)), used)

    def _fractional(self, rows: Rows) -> tuple[Terms, int]:
        """A form of integers whose value lies between two whole numbers at the point found."""
        names = sorted({n for r in rows.values() for n, _ in r.terms})
        self._rational.core(rows, 0)
        values = self._rational.values(names)
        for name in names:
            value: Fraction = values[name]
            if sort_of(name, self._sorts) == "Int" and value.denominator != 1:
                return ((name, 1),), floor(value)
        raise NotFoundError("a point that meets every row and choice")


def _met(row_: Row, point: Values) -> bool:
    if any(n not in point for n, _ in row_.terms):
        return False
    left = sum(c * point[n] for n, c in row_.terms)
    return {"<=": left <= row_.bound, "<": left < row_.bound, "=": left == row_.bound}[
        row_.relation
    ]


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
