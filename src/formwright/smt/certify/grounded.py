"""A template proved from kept grounds alone: its conditions are derived again, z3 is not asked.

A query has no solution if the checker accepts the certificate that is kept for its digest. So
what an audit believes is the derivation and the checker.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from formwright.ir.template import Template
from formwright.proof.assertions import query_digest
from formwright.proof.certificate import Contradiction, Point
from formwright.proof.checker import RejectedError, check
from formwright.proof.grounds import Agreement, Alone, Ground, Grounds
from formwright.proof.verdict import Obligation
from formwright.smt.atoms import Atoms
from formwright.smt.cases import Answer
from formwright.smt.certify.collect import Asked, noted, noted_cover, point_query
from formwright.smt.clock import Clock
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.menus import Cover
from formwright.smt.premises import Premises
from formwright.smt.prover import Prover
from formwright.smt.solve import Solver
from formwright.smt.terms import Formula, Number


@dataclass(frozen=True, slots=True)
class Looked:
    """A query that was looked up. ``fault`` says why its ground does not hold."""

    digest: str
    asked: Asked
    ground: Ground | None
    seconds: float = 0.0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """An obligation as its grounds show it, with the queries that were looked up for it."""

    obligation: Obligation
    looked: tuple[Looked, ...]


class Keeper:
    """Looks grounds up by query and checks each once."""

    def __init__(self, grounds: Mapping[str, Ground]) -> None:
        self._grounds = grounds
        self._checked: dict[str, Looked] = {}
        self.looked: list[Looked] = []

    def look(self, asked: Asked) -> Looked:
        """The ground of a query, checked if it is a certificate."""
        key = query_digest(asked.query)
        found = self._checked.get(key)
        if found is None:
            found = self._checked[key] = _looked(key, asked, self._grounds.get(key))
        self.looked.append(found)
        return found


def _looked(key: str, asked: Asked, ground: Ground | None) -> Looked:
    if ground is None:
        return Looked(key, asked, None, fault="nothing is kept for a query")
    if isinstance(ground, Agreement | Alone):
        return Looked(key, asked, ground)
    start = time.perf_counter()
    try:
        check(asked.query, ground)
    except RejectedError as error:
        return Looked(key, asked, ground, fault=f"its certificate is rejected: {error}")
    return Looked(key, asked, ground, time.perf_counter() - start)


class GroundedSolver(Solver):
    """Answers only from ``keeper``."""

    def __init__(
        self, atoms: Atoms, rules: Premises, clock: Clock, linear: Encoding, keeper: Keeper
    ) -> None:
        super().__init__(atoms, rules, clock, linear)
        self._symbols, self._keeper = atoms, keeper

    def answer(self, query: Query, small: bool = True, short: bool = True) -> Answer:
        found = self._keeper.look(noted(query, self.premises, self._symbols))
        if found.fault or isinstance(found.ground, Point):
            return Answer("unknown", found.fault or "a point is kept for a query without one")
        return Answer("unsat")

    def consistent(self, formulas: Sequence[Formula]) -> Answer:
        found = self._keeper.look(Asked(point_query(formulas, self.premises, self._symbols)))
        if found.fault or not isinstance(found.ground, Point):
            return Answer("unknown", found.fault or "no point is kept for a query with one")
        values: dict[str, Number] = dict(found.ground.values)
        return Answer("sat", values=values)


class GroundedProver(Prover):
    """Settles the obligations of one inlined template from ``grounds``."""

    def __init__(self, template: Template, grounds: Grounds) -> None:
        self._keeper = Keeper(grounds.grounds)
        self._kept = {o.name: o for o in grounds.obligations}
        super().__init__(template, None, Clock(1, 1e9))

    def _solver(self, rules: Premises) -> Solver:
        return GroundedSolver(self._atoms, rules, self._clock, self._linear, self._keeper)

    def _cover(self) -> Cover:
        """The kept designs, if the scope without one that fits is shown to be empty."""
        kept = self._kept.get("designs in scope")
        designs = () if kept is None else tuple(dict(d) for d in kept.designs)
        found = self._keeper.look(noted_cover(self._template, designs, self._atoms))
        if found.fault or not isinstance(found.ground, Contradiction | Agreement | Alone):
            return Cover("unknown", reason=found.fault or "no contradiction is kept")
        return Cover("proved", designs)

    def checked(self, condition: str, progress: Callable[[str], None]) -> Iterator[Checked]:
        """The obligations (of one ``condition``, if it is not empty), as a proof lists them."""
        tasks = [t for t in self.tasks() if condition in ("", t.condition)]
        derived = tuple(self._keeper.looked)
        for number, task in enumerate(tasks):
            progress(f"{number + 1}/{len(tasks)} {task.name}")
            self._keeper.looked.clear()
            obligation = task.settle(1e9)
            yield Checked(obligation, (*derived, *self._keeper.looked))
            derived = ()
