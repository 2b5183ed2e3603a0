"""Queries known by their whole text: what was unsatisfiable word for word stays so.

The first proof of a refinement step keeps no cores: tracking them costs as much as a third of
the proof, and a step that is added to a chain has nothing to take up yet. A later version of the
step finds the queries that did not change here, and cores are kept of those that did.
"""

import hashlib
from collections.abc import Sequence

from formwright.proof.database import Database
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.premises import Premises
from formwright.smt.terms import Formula

TOGETHER = 64
"""Queries that are written at once: what a kill may cost, in work and in no verdict."""


class WholeQueries:
    """Reads and notes queries; ``looks`` is false in the first proof of a step.

    A query's name is a digest of its claim, of all premises and menus, and of the sorts of the
    names in them. Definitions are not in it: a symbol that has one is named by its content.
    """

    def __init__(self, database: Database, linear: Encoding, looks: bool) -> None:
        self._database = database
        self._linear = linear
        self._looks = looks
        self._premises: dict[int, tuple[Premises, str]] = {}
        self._noted: list[str] = []

    def knows(self, query: Query, rules: Premises) -> bool:
        """Whether this very query was unsatisfiable before."""
        if not self._looks:
            return False
        return self._database.get("query", self._key(query, rules)) is not None

    def note(self, query: Query, rules: Premises) -> None:
        """Keeps that the query is unsatisfiable, with the next ``TOGETHER`` at once."""
        self._noted.append(self._key(query, rules))
        if len(self._noted) >= TOGETHER:
            self.write()

    def write(self) -> None:
        """Writes what was noted since the last time."""
        with self._database.together():
            for key in self._noted:
                self._database.put("query", key, 1)
        self._noted.clear()

    def _key(self, query: Query, rules: Premises) -> str:
        found = self._premises.get(id(rules))
        if found is None:
            menus = repr(sorted(rules.menus.items()))
            text = self._text((*rules.scope, *rules.conditions)) + menus
            found = (rules, hashlib.sha256(text.encode()).hexdigest())
            self._premises[id(rules)] = found
        claim = self._text((*query.facts, query.goal))
        return hashlib.sha256(f"{found[1]}\n{claim}".encode()).hexdigest()

    def _text(self, formulas: Sequence[Formula]) -> str:
        read = [self._linear.formula(f) for f in formulas]
        names = frozenset[str]().union(*(n for _, n in read))
        sorts = " ".join(f"{n}:{self._linear.sort(n)}" for n in sorted(names))
        return "\n".join([*(t for t, _ in read), sorts])


def is_first(database: Database, name: str) -> bool:
    """Whether no version of the step ``name`` was proved before; notes this one."""
    row = f"step {name}"
    if database.get("query", row) is not None:
        return False
    database.put("query", row, 1)
    return True
