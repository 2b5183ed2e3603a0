"""What earlier proofs showed, looked up before a solver is asked, and what this one shows.

The rules (``docs/reuse.md``): a core is kept once it was solved by itself (R1); it is found
again by one renaming of the whole core into the query (R2); it must speak of the claim, not of
the premises alone (R3). Nothing is kept that was not unsatisfiable.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

from formwright.proof import assertions as data
from formwright.proof.database import Database
from formwright.proof.embedding import NARROW, Target, embedding, shape, unchanged
from formwright.proof.graph import Graph
from formwright.smt.atoms import Atoms
from formwright.smt.premises import Premises
from formwright.smt.record import Tagged, statement
from formwright.smt.terms import Eq, Formula, Le, Lt, Poly, conj, disj, negated

CANDIDATES = 8
"""How many kept cores one query is compared with as they stand."""

SEARCHED = 2
"""For how many of them a renaming is looked for: a search that fails costs half a query."""

Reading = Literal["linear", "exact", "cases"]
"""How a core was solved: each product a symbol, products as products, or case by case."""

CLAIM: tuple[data.Role, ...] = ("goal", "fact")


@dataclass(frozen=True, slots=True)
class Kept:
    """A core of the store with its name."""

    key: str
    query: data.Recorded
    reading: Reading
    narrow: frozenset[str]
    """Shapes that a query must have for the core to be part of it."""


@dataclass(frozen=True, slots=True)
class Use:
    """An answer that rests on a core: its name, and its premises in the names of the query."""

    key: str
    premises: tuple[data.Statement, ...]
    sorts: tuple[tuple[str, data.Sort], ...]


PREMISES: tuple[data.Role, ...] = ("premise", "bound", "menu")


def use(core: Kept, renaming: Mapping[str, str]) -> Use:
    """What a query rests on that ``renaming`` carries the core into."""
    sorts = dict(core.query.sorts)
    old = [a.statement for a in core.query.assertions if a.role in PREMISES]
    named = {renaming.get(s, s): sorts[s] for p in old for s in data.symbols(p)}
    premises = dict.fromkeys(data.renamed(p, renaming) for p in old)
    return Use(core.key, tuple(premises), tuple(sorted(named.items())))


@dataclass(slots=True)
class Ledger:
    """One proof's view of the store; ``used`` names the cores that answers rest on."""

    database: Database
    atoms: Atoms
    used: list[Use] = field(default_factory=list)
    recalled: int = 0
    """Queries that a kept core answered."""
    graph: Graph = field(default_factory=Graph)
    """What was taken from the store for this template, under the rules of the graph."""
    _known: set[str] | None = None
    _statements: dict[Formula, tuple[data.Statement, str]] = field(default_factory=dict)
    _cores: dict[str, Kept] = field(default_factory=dict)
    _bases: dict[int, tuple[Premises, Target]] = field(default_factory=dict)

    def begin(self) -> None:
        """A new obligation: what is used from here on is its own."""
        self.used = []

    def recall(self, claim: Sequence[Tagged], rest: Sequence[Tagged], rules: Premises) -> bool:
        """Whether a kept core is part of the query; then it is noted as used."""
        shaped = [self._shaped(f) for _, f in claim]
        found = self.database.anchored("core", sorted({form for _, form in shaped}))
        if not found:
            return False
        defined = [self._shaped(f) for _, f in rest]
        target = self.base(rules).extended(
            self._sorts(f for _, f in (*claim, *rest)), [*shaped, *defined]
        )
        cores = [c for c in self._loaded(found) if all(target.has_shape(f) for f in c.narrow)]
        cores.sort(key=lambda c: _foreign(c.query, target))
        for core in cores[:CANDIDATES]:
            if unchanged(core.query, target):
                return self._recalled(core, {})
        for core in cores[:SEARCHED]:
            renaming = embedding(core.query, target)
            if renaming is not None:
                return self._recalled(core, renaming)
        return False

    def _recalled(self, core: Kept, renaming: Mapping[str, str]) -> bool:
        self.used.append(use(core, renaming))
        self.recalled += 1
        return True

    def _loaded(self, keys: Sequence[str]) -> list[Kept]:
        """The cores of these names, each read once."""
        missing = [k for k in keys if k not in self._cores]
        for key, body in self.database.many("core", missing).items():
            self._read(key, body)
        return [self._cores[k] for k in keys if k in self._cores]

    def keep(self, core: Sequence[Tagged], reading: Reading) -> bool:
        """Keeps a core that was solved by itself; one without a claim is none."""
        claim = [f for role, f in core if role in CLAIM]
        if not claim:
            return False
        kept = [data.Assertion(role, self._shaped(f)[0]) for role, f in core]
        query = data.recorded(self._sorts(f for _, f in core), kept)
        body = {"reading": reading, "query": data.query_json(query)}
        key = core_key(body)
        anchor = max((self._shaped(f)[1] for f in claim), key=lambda s: (len(s), s))
        self.database.put("core", key, body, anchor)
        if self._known is not None:
            self._known.add(key)
        kept_core = Kept(key, query, reading, _narrow(query))
        self._cores[key] = kept_core
        self.used.append(use(kept_core, {}))
        return True

    def has_cores(self, keys: Iterable[str]) -> bool:
        """Whether all of these cores are kept (an audit takes away those that do not hold)."""
        if self._known is None:
            self._known = self.database.keys("core")
        return self._known.issuperset(keys)

    def core(self, key: str) -> Kept | None:
        """The core of that name, if it is kept."""
        found = self._cores.get(key)
        if found is None:
            body = self.database.get("core", key)
            found = None if body is None else self._read(key, body)
        return found

    def base(self, rules: Premises) -> Target:
        """Premises and menus, to look for cores in."""
        found = self._bases.get(id(rules))
        if found is None:
            formulas = [*rules.scope, *rules.conditions, *rules.bounds(), *rules.members()]
            target = Target(self._sorts(formulas), [self._shaped(f) for f in formulas])
            found = (rules, target)
            self._bases[id(rules)] = found
        return found[1]

    def stated(self, rules: Premises) -> list[Any]:
        """Premises and menus as JSON, in their order."""
        formulas = [*rules.scope, *rules.conditions, *rules.bounds(), *rules.members()]
        return [data.statement_json(self._shaped(f)[0]) for f in formulas]

    def _read(self, key: str, body: object) -> Kept | None:
        known = self._cores.get(key)
        if known is not None:
            return known
        try:
            kept = read_core(key, body)
        except ValueError:
            return None
        self._cores[key] = kept
        return kept

    def _shaped(self, formula: Formula) -> tuple[data.Statement, str]:
        found = self._statements.get(formula)
        if found is None:
            made = statement(formula)
            found = (made, shape(made))
            self._statements[formula] = found
        return found

    def _sorts(self, formulas: Iterable[Formula]) -> dict[str, data.Sort]:
        used = {s for f in formulas for s in data.symbols(self._shaped(f)[0])}
        return {s: "Real" if s in self.atoms.real else "Int" for s in used}


def tagged(role: data.Role, formulas: Iterable[Formula]) -> list[Tagged]:
    """Formulas with where they come from."""
    return [(role, f) for f in formulas]


def formula(statement: data.Statement) -> Formula:
    """The formula that :func:`formwright.smt.record.statement` made the statement of."""
    match statement:
        case data.Row(relation, terms, bound):
            rows = tuple((data.factors(n), c) for n, c in terms)
            poly = Poly(tuple(sorted((m, c) for m, c in (*rows, ((), -bound)) if c)))
            return Le(poly) if relation == "<=" else Lt(poly) if relation == "<" else Eq(poly)
        case data.All(parts):
            return conj(formula(p) for p in parts)
        case data.Any(parts):
            return disj(formula(p) for p in parts)
        case data.Not(part):
            return negated(formula(part))
        case _:
            assert_never(statement)


def read_core(key: str, body: object) -> Kept:
    """A core from its row; raises ``ValueError`` unless it is what its name says."""
    match body:
        case {"reading": ("linear" | "exact" | "cases") as reading, "query": query}:
            if core_key(body) != key:
                raise ValueError(f"the core {key[:8]} is not what its name says")
            found = _read_query(query)
            return Kept(key, found, reading, _narrow(found))
    raise ValueError("not a core")


def _narrow(query: data.Recorded) -> frozenset[str]:
    return frozenset(shape(a.statement) for a in query.assertions if a.role in NARROW)


def core_key(body: object) -> str:
    """The name of a core: SHA-256 of its JSON."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read_query(value: Any) -> data.Recorded:
    """As :func:`data.read_query`, of JSON whose digest was just compared with its name."""
    try:
        kept = tuple(data.Assertion(role, sealed_statement(s)) for role, s in value["assertions"])
        return data.Recorded(tuple(sorted(value["sorts"].items())), kept)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a query: {error}") from error


def sealed_statement(value: Any) -> data.Statement:
    """As :func:`data.read_statement`, of JSON that came out of a sealed row."""
    match value:
        case ["and", *parts]:
            return data.All(tuple(sealed_statement(p) for p in parts))
        case ["or", *parts]:
            return data.Any(tuple(sealed_statement(p) for p in parts))
        case ["not", part]:
            return data.Not(sealed_statement(part))
        case [relation, terms, bound]:
            return data.Row(relation, tuple((name, c) for name, c in terms), bound)
    raise ValueError(f"not a statement: {value!r:.80}")


def _foreign(query: data.Recorded, target: Target) -> int:
    """How many symbols would have to be renamed."""
    return sum(target.sort(s) is None for s, _ in query.sorts)
