"""Obligations by their inputs: what did not change is not even derived (``docs/reuse.md``).

The name of a node is a digest of everything that its queries are derived from: the slice of
the program, or the conditions that a goal on values states. Premises are no part of it. Which
of them a proof used its cores say; they must be there again, or follow from what is there
(Theorem 2 and Corollary 1).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formwright.base.digest import digest
from formwright.ir.template import Template
from formwright.proof import assertions as data
from formwright.proof.embedding import Target
from formwright.proof.graph import Assumption, Definition, Proof, Statement
from formwright.smt.goals import Goal, Query
from formwright.smt.ledger import Ledger, Use, formula, sealed_statement
from formwright.smt.record import statement as as_statement
from formwright.smt.slices import Impossible, Slicer
from formwright.smt.solve import Solver
from formwright.smt.terms import conj, negated

ALTERNATIVES = 4
"""How many proofs of one node are kept: they may rest on different premises."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What one proof of a node rests on: its cores, and the premises that they use."""

    queries: int
    cases: int
    cores: tuple[str, ...]
    premises: tuple[data.Statement, ...]
    sorts: tuple[tuple[str, data.Sort], ...]


@dataclass(slots=True)
class Nodes:
    """The nodes of one template; ``limits`` are those under which an open one was tried."""

    template: Template
    ledger: Ledger
    impossible: Impossible
    _slicer: Slicer | None = None
    _ordinals: Counter[object] = field(default_factory=Counter)
    _texts: dict[int, tuple[Goal, str]] = field(default_factory=dict)
    _assumptions: dict[data.Statement, str] = field(default_factory=dict)
    _follows: dict[tuple[int, tuple[data.Statement, ...]], bool] = field(default_factory=dict)

    def key(self, goal: Goal, ordinal: int) -> str | None:
        """The name of the node of a goal.

        ``None`` for a goal that does not say what it reads. Raises ``UnderivableError`` where
        the goal has no queries.
        """
        text = self.text(goal, ordinal)
        return None if text is None else digest(text)

    def text(self, goal: Goal, ordinal: int) -> str | None:
        """All inputs of a goal, as one text."""
        if goal.inputs is None and goal.reads is None:
            return None
        known = self._texts.get(id(goal))
        if known is None:
            known = (goal, self._text(goal, ordinal))  # held, so that its identity stays its own
            self._texts[id(goal)] = known
        return known[1]

    def _text(self, goal: Goal, ordinal: int) -> str:
        if goal.inputs is not None:
            return f"values {goal.inputs()!r}"
        assert goal.reads is not None
        return f"slice {self._cut().text(goal.condition, goal.reads, ordinal)}"

    def ordinal(self, goal: Goal) -> int:
        """How many goals before it say the same of themselves; ask once, in their order."""
        if goal.reads is None:
            return 0
        same = (goal.condition, goal.reads.what, goal.reads.named)
        count = self._ordinals[same]
        self._ordinals[same] += 1
        return count

    def derived(self, goal: Goal, ordinal: int) -> Goal:
        """The goal as it is derived from its slice alone."""
        if goal.reads is None:
            return goal
        part = self._cut().slice(goal.reads)
        atoms = self.ledger.atoms
        found = part.goal(goal.condition, goal.reads, ordinal, atoms, self.impossible)
        return found or goal

    def known(self, key: str, solver: Solver) -> Rest | None:
        """A kept proof of the node whose premises hold here."""
        for rest in self._alternatives(key):
            if self.ledger.has_cores(rest.cores) and self._stands(key, rest, solver):
                return rest
        return None

    def keep(self, key: str, queries: int, cases: int) -> None:
        """Keeps that the node is proved by the cores that were used since it began."""
        rest = _rest(queries, cases, self.ledger.used)
        if rest is None:
            return
        others = [r for r in self._alternatives(key) if r.premises != rest.premises]
        rows = [_row(r) for r in (rest, *others)[:ALTERNATIVES]]
        self.ledger.database.put("node", key, rows)

    def rename(
        self, old: str, new: str, places: Mapping[str, Any], names: Mapping[str, str]
    ) -> None:
        """Keeps the proofs of the node ``old`` for ``new``, which is equal but for ``names``.

        A premise is the one in its place (``places``, by its JSON); a weaker one is renamed.
        """
        if self.ledger.database.get("node", new) is not None:
            return
        rows: Any = self.ledger.database.get("node", old)
        carried = []
        for row in rows or ():
            premises = [
                places.get(json.dumps(p))
                or data.statement_json(data.renamed(data.read_statement(p), names))
                for p in row["premises"]
            ]
            sorts = {
                s: "Real" if s in self.ledger.atoms.real else "Int"
                for p in premises
                for s in data.symbols(data.read_statement(p))
            }
            carried.append({**row, "premises": premises, "sorts": sorts})
        if carried:
            self.ledger.database.put("node", new, carried)

    def _cut(self) -> Slicer:
        if self._slicer is None:
            self._slicer = Slicer(self.template)
        return self._slicer

    def _alternatives(self, key: str) -> list[Rest]:
        rows = self.ledger.database.get("node", key)
        try:
            return [] if rows is None else [_read(row) for row in rows]
        except (KeyError, TypeError, ValueError):
            return []

    def _stands(self, key: str, rest: Rest, solver: Solver) -> bool:
        """Theorem 2 and Corollary 1, on the graph: what it refuses is not taken."""
        base = self.ledger.base(solver.premises)
        if any(base.sort(s) not in (sort, None) for s, sort in rest.sorts):
            return False
        missing = _missing(rest, base)
        if missing and not self._implied(missing, solver):
            return False
        graph, context = self.ledger.graph, self.ledger.database.context
        old = tuple(self._assumption(s) for s in rest.premises)
        name = graph.add(Statement(key, (graph.add(Definition(key)),), old))
        graph.add(Proof(name, old, rest.cores, context))
        if missing:
            new = self._all_assumed(solver)
            implied: dict[str, str] = {}
            for gone in missing:
                follows = graph.add(Statement(_text(gone), (), new))
                graph.add(Proof(follows, new, (), context))
                implied[self._assumption(gone)] = follows
            kept = tuple(n for n in old if n not in implied)
            graph.strengthened(name, tuple(dict.fromkeys((*kept, *new))), implied)
        return True

    def _assumption(self, statement: data.Statement) -> str:
        found = self._assumptions.get(statement)
        if found is None:
            found = self.ledger.graph.add(Assumption(_text(statement)))
            self._assumptions[statement] = found
        return found

    def _all_assumed(self, solver: Solver) -> tuple[str, ...]:
        """The premises of a solver, as assumptions of the graph."""
        rules = solver.premises
        formulas = (*rules.scope, *rules.conditions, *rules.bounds(), *rules.members())
        return tuple(dict.fromkeys(self._assumption(as_statement(f)) for f in formulas))

    def _implied(self, missing: tuple[data.Statement, ...], solver: Solver) -> bool:
        """Corollary 1: one query, new premises imply the old ones that are gone."""
        key = (id(solver), missing)
        found = self._follows.get(key)
        if found is None:
            goal = negated(conj(formula(s) for s in missing))
            found = solver.answer(Query((), goal), small=False).status == "unsat"
            self._follows[key] = found
        return found


def _text(statement: data.Statement) -> str:
    return json.dumps(data.statement_json(statement), separators=(",", ":"))


def _missing(rest: Rest, base: Target) -> tuple[data.Statement, ...]:
    return tuple(s for s in rest.premises if not base.has(s))


def _rest(queries: int, cases: int, used: Sequence[Use]) -> Rest | None:
    """``None`` if an answer left no core: then nothing says what it rests on."""
    if len(used) < queries:
        return None
    return Rest(
        queries,
        cases,
        tuple(dict.fromkeys(u.key for u in used)),
        tuple(dict.fromkeys(p for u in used for p in u.premises)),
        tuple(sorted({n: s for u in used for n, s in u.sorts}.items())),
    )


def _row(rest: Rest) -> dict[str, object]:
    return {
        "queries": rest.queries,
        "cases": rest.cases,
        "cores": list(rest.cores),
        "premises": [data.statement_json(s) for s in rest.premises],
        "sorts": dict(rest.sorts),
    }


def _read(row: dict[str, Any]) -> Rest:
    return Rest(
        int(row["queries"]),
        int(row["cases"]),
        tuple(str(c) for c in row["cores"]),
        tuple(sealed_statement(s) for s in row["premises"]),
        tuple(row["sorts"].items()),
    )
