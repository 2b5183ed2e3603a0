"""Whether one well-sorted renaming carries a whole core into a query (``docs/reuse.md``, R2).

The core is searched for as a whole: one renaming for all of its assertions, the goal included.
Symbols are renamed, and products with them; the sort of a symbol stays. A renamed assertion is
there if the query has it, or has a stronger one that is plainly so (a row with a tighter bound,
a menu with fewer values). Not finding one says nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from formwright.proof.assertions import (
    All,
    Any,
    Assertion,
    Not,
    Recorded,
    Role,
    Row,
    Sort,
    Statement,
    factors,
    product,
    renamed,
    symbols,
)
from formwright.proof.theorems import is_theorem

Renaming = Mapping[str, str]

STEPS = 150
"""How many comparisons one search may take."""


Shaped = tuple[Statement, str]
"""A statement with its :func:`shape`."""


class Target:
    """A query to look for cores in: what it asserts, by shape. Layers share what is below."""

    def __init__(
        self,
        sorts: Mapping[str, Sort],
        statements: Iterable[Shaped],
        below: "Target | None" = None,
    ) -> None:
        self._sorts = sorts
        self._below = below
        self._statements: set[Statement] = set()
        self._by_shape: dict[str, list[Statement]] = {}
        self._rows: dict[tuple[tuple[str, int], ...], list[Row]] = {}
        self._choices: list[Any] = []
        for statement, form in statements:
            if statement in self._statements:
                continue
            self._statements.add(statement)
            self._by_shape.setdefault(form, []).append(statement)
            if isinstance(statement, Row):
                self._rows.setdefault(statement.terms, []).append(statement)
            elif isinstance(statement, Any):
                self._choices.append(statement)

    def extended(self, sorts: Mapping[str, Sort], statements: Iterable[Shaped]) -> "Target":
        """A query that asserts more."""
        return Target(sorts, statements, self)

    def sort(self, symbol: str) -> Sort | None:
        """The sort of a symbol; ``None`` if the query does not name it."""
        found = self._sorts.get(symbol)
        return found if found or self._below is None else self._below.sort(symbol)

    def alike(self, form: str) -> Iterator[Statement]:
        """Assertions of a shape: what a statement could become by renaming."""
        yield from self._by_shape.get(form, ())
        if self._below is not None:
            yield from self._below.alike(form)

    def has_shape(self, form: str) -> bool:
        """Whether some assertion has that shape."""
        return form in self._by_shape or (self._below is not None and self._below.has_shape(form))

    def has(self, statement: Statement) -> bool:
        """Whether the query asserts ``statement``, or plainly more."""
        return self._has(statement) or (self._below is not None and self._below.has(statement))

    def _has(self, statement: Statement) -> bool:
        if statement in self._statements:
            return True
        match statement:
            case Row(relation, terms, bound):
                return any(_stronger(r, relation, bound) for r in self._rows.get(terms, ()))
            case Any(parts):
                wanted = frozenset(parts)
                return not wanted.isdisjoint(self._statements) or any(
                    wanted.issuperset(c.parts) for c in self._choices
                )
            case All() | Not():
                return False
            case _:
                assert_never(statement)


def _stronger(have: Row, relation: str, bound: int) -> bool:
    match relation:
        case "<=":
            return have.relation in ("<=", "<") and have.bound <= bound
        case "<":
            return (have.relation == "<" and have.bound <= bound) or (
                have.relation == "<=" and have.bound < bound
            )
        case _:
            return False


def shape(statement: Statement) -> str:
    """What a renaming leaves as it is."""
    match statement:
        case Row(relation, terms, bound):
            found = sorted((name.count("*"), c) for name, c in terms)
            if relation == "=":
                other = sorted((d, -c) for d, c in found)
                found, bound = min((found, bound), (other, -bound))
            return f"{relation}{found}{bound}"
        case All(parts):
            return f"&({','.join(shape(p) for p in parts)})"
        case Any(parts):
            return f"|({','.join(shape(p) for p in parts)})"
        case Not(part):
            return f"!{shape(part)}"
        case _:
            assert_never(statement)


@dataclass(slots=True)
class _Budget:
    left: int

    def spend(self) -> bool:
        self.left -= 1
        return self.left > 0


def embedding(core: Recorded, target: Target, steps: int = STEPS) -> Renaming | None:
    """A renaming that carries every assertion of ``core`` into ``target``.

    Instances of theorems need not be there; any other ``lemma`` must be.
    """
    if unchanged(core, target):
        return {s: s for s, _ in core.sorts}
    sorts, wanted = dict(core.sorts), _wanted(core)
    forms = [shape(a.statement) for a in wanted]
    if any(
        a.role in NARROW and next(target.alike(form), None) is None
        for a, form in zip(wanted, forms, strict=True)
    ):
        return None
    ordered = _ordered(wanted, [sum(1 for _ in target.alike(form)) for form in forms])
    for found in _search(ordered, 0, {}, sorts, target, _Budget(steps)):
        if _carries(found, wanted, sorts, target):
            return found
    return None


def unchanged(core: Recorded, target: Target) -> bool:
    """Whether ``target`` has every assertion of ``core`` as it stands."""
    sorts = dict(core.sorts)
    return _carries({s: s for s in sorts}, _wanted(core), sorts, target)


def _wanted(core: Recorded) -> list[Assertion]:
    return [a for a in core.assertions if not (a.role == "lemma" and is_theorem(a.statement))]


def _carries(
    renaming: Renaming, wanted: Sequence[Assertion], sorts: Mapping[str, Sort], target: Target
) -> bool:
    """The rule itself (R2), without a search."""
    return all(
        target.sort(renaming[s]) == sorts[s] for a in wanted for s in symbols(a.statement)
    ) and all(target.has(renamed(a.statement, renaming)) for a in wanted)


def _ordered(
    wanted: Sequence[Assertion], counts: Sequence[int]
) -> list[tuple[Statement, frozenset[str]]]:
    """The claim with the fewest partners first; then what shares most names with those before."""
    left = [
        (WEIGHT[a.role], count, a.statement, symbols(a.statement))
        for a, count in zip(wanted, counts, strict=True)
    ]
    left.sort(key=lambda item: item[:2])
    bound: set[str] = set()
    found: list[tuple[Statement, frozenset[str]]] = []
    while left:
        best = min(left, key=lambda i: (len(i[3] - bound), i[1], i[0])) if found else left[0]
        left.remove(best)
        found.append(best[2:])
        bound |= best[3]
    return found


NARROW: tuple[Role, ...] = ("goal", "fact", "definition")
"""What nothing else in a query can plainly stand for."""

WEIGHT: dict[Role, int] = {
    "goal": 0,
    "fact": 0,
    "definition": 2,
    "lemma": 3,
    "premise": 4,
    "menu": 5,
    "bound": 5,
}


def _search(
    wanted: list[tuple[Statement, frozenset[str]]],
    at: int,
    known: dict[str, str],
    sorts: Mapping[str, Sort],
    target: Target,
    budget: _Budget,
) -> Iterator[dict[str, str]]:
    if at == len(wanted):
        yield known
        return
    statement, names = wanted[at]
    open_ = [s for s in names if s not in known]
    if not open_:
        if budget.spend() and target.has(renamed(statement, known)):
            yield from _search(wanted, at + 1, known, sorts, target, budget)
        return
    same = [s for s in open_ if target.sort(s) == sorts[s]]
    if len(same) == len(open_):
        kept = {**known, **{s: s for s in open_}}
        if target.has(renamed(statement, kept)):
            yield from _search(wanted, at + 1, kept, sorts, target, budget)
    for candidate in target.alike(shape(statement)):
        for more in _unify(statement, candidate, known, sorts, target, budget):
            yield from _search(wanted, at + 1, more, sorts, target, budget)
        if budget.left <= 0:
            return


def _unify(
    one: Statement,
    other: Statement,
    known: dict[str, str],
    mine: Mapping[str, Sort],
    theirs: Target,
    budget: _Budget,
) -> Iterator[dict[str, str]]:
    """Renamings, ``known`` among them, that make ``one`` into ``other``."""
    if not budget.spend():
        return
    match one, other:
        case Row(), Row():
            if (one.relation, one.bound, len(one.terms)) == (
                other.relation,
                other.bound,
                len(other.terms),
            ):
                yield from _terms(one.terms, other.terms, known, mine, theirs, budget)
            if one.relation == "=" == other.relation and one.bound == -other.bound:
                turned = tuple((n, -c) for n, c in other.terms)
                yield from _terms(one.terms, turned, known, mine, theirs, budget)
        case (All(parts), All(others)) | (Any(parts), Any(others)):
            if len(parts) == len(others):
                yield from _parts(parts, others, known, mine, theirs, budget)
        case Not(part), Not(whole):
            yield from _unify(part, whole, known, mine, theirs, budget)


def _parts(
    parts: Sequence[Statement],
    others: Sequence[Statement],
    known: dict[str, str],
    mine: Mapping[str, Sort],
    theirs: Target,
    budget: _Budget,
) -> Iterator[dict[str, str]]:
    if not parts:
        yield known
        return
    for more in _unify(parts[0], others[0], known, mine, theirs, budget):
        yield from _parts(parts[1:], others[1:], more, mine, theirs, budget)


Terms = Sequence[tuple[str, int]]


def _terms(
    terms: Terms,
    others: Terms,
    known: dict[str, str],
    mine: Mapping[str, Sort],
    theirs: Target,
    budget: _Budget,
) -> Iterator[dict[str, str]]:
    if not terms:
        yield known
        return
    # A term whose symbols have their places already has at most one partner: it goes first.
    place = next((i for i, (n, _) in enumerate(terms) if all(f in known for f in factors(n))), 0)
    name, coefficient = terms[place]
    rest = [*terms[:place], *terms[place + 1 :]]
    for n, (candidate, c) in enumerate(others):
        if c != coefficient or not budget.spend():
            continue
        left = [*others[:n], *others[n + 1 :]]
        for more in _factors(factors(name), factors(candidate), known, mine, theirs):
            yield from _terms(rest, left, more, mine, theirs, budget)


def _factors(
    one: Sequence[str],
    other: Sequence[str],
    known: dict[str, str],
    mine: Mapping[str, Sort],
    theirs: Target,
) -> Iterator[dict[str, str]]:
    if len(one) != len(other):
        return
    if all(f in known for f in one):
        if product(known[f] for f in one) == product(other):
            yield known
        return
    first = one[0]
    for n, candidate in enumerate(other):
        if known.get(first, candidate) != candidate or mine[first] != theirs.sort(candidate):
            continue
        rest = [*other[:n], *other[n + 1 :]]
        yield from _factors(one[1:], rest, {**known, first: candidate}, mine, theirs)
