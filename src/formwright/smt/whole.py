"""Queries known by their whole text: what was unsatisfiable word for word stays so.

The first proof of a refinement step keeps no cores: tracking them costs as much as a third of
the proof, and a step that is added to a chain has nothing to take up yet. A later version of the
step finds the queries that did not change here, and cores are kept of those that did.
"""

import hashlib
from collections.abc import Sequence

from formwright.proof.database import Database
from formwright.smt.atoms import Atoms
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.premises import Premises
from formwright.smt.terms import Formula

TOGETHER = 64
"""Queries that are written at once: what a kill may cost, in work and in no verdict."""


class WholeQueries:
    """Reads and notes queries; ``looks`` is false in the first proof of a step.

    A query's name is a digest of its claim, of all premises and menus, and of the sorts of the
    names in them, and of every definition that they reach: the name of a symbol alone is a
    short digest, which a text could be made to share.
    """

    def __init__(self, database: Database, linear: Encoding, atoms: Atoms, looks: bool) -> None:
        self._atoms = atoms
        self._database = database
        self._linear = linear
        self._looks = looks
        self._premises: dict[int, tuple[Premises, str]] = {}
        self._noted: list[str] = []
        self._contents: dict[str, str] = {}

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
        defined = [
            n
            for n in self._atoms.closure(f for n in names for f in n.split("*"))
            if n in self._atoms.by_name
        ]
        return "\n".join([*(t for t, _ in read), sorts, *(self._content(n) for n in defined)])

    def _content(self, name: str) -> str:
        found = self._contents.get(name)
        if found is None:
            found = hashlib.sha256(repr(self._atoms.by_name[name]).encode()).hexdigest()
            self._contents[name] = found
        return found


def is_first(database: Database, name: str) -> bool:
    """Whether no version of the step ``name`` was proved before; notes this one."""
    row = f"step {name}"
    if database.get("query", row) is not None:
        return False
    database.put("query", row, 1)
    return True
