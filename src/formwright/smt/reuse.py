"""One obligation with a store at hand: by node, then by query and core, then by the solver."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formwright.base.digest import digest
from formwright.ir.template import Template
from formwright.proof.verdict import Obligation
from formwright.smt.clock import Clock
from formwright.smt.goals import Goal, Query
from formwright.smt.ledger import Ledger
from formwright.smt.menus import Cover, cover, uncovered
from formwright.smt.nodes import Nodes
from formwright.smt.outcome import FAILURES, Outcome, Task, failed, proved
from formwright.smt.premises import Premises
from formwright.smt.solve import Solver
from formwright.smt.terms import conj


@dataclass(frozen=True, slots=True)
class Asked:
    """What the slice of a goal told: queries that are excluded, and the one that is not.

    The queries of the whole goal may stand in another order (a slice that reads no order is
    sorted by its texts), so they are known by what they say and never by their number.
    """

    excluded: frozenset[Query] = frozenset()
    left: Query | None = None


NOTHING_ASKED = Asked()

Ask = Callable[[Asked], Outcome]
"""The obligation settled as without a store, but for queries that were asked already."""


QUOTED = re.compile(r"'([^']*)'")
"""Names in the texts of nodes stand in quotes."""

Alpha = tuple[str, tuple[str, ...]]
"""What ``alpha_digest`` gives: the digest, and the names in the order of their numbers."""


class _Plain(dict[str, str]):
    """Lines of the texts of nodes with their names numbered: most nodes share most lines."""

    def __init__(self, numbers: Mapping[str, str]) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, line: str) -> str:
        found = QUOTED.sub(lambda m: self._numbers.get(m[1], m[0]), line)
        self[line] = found
        return found


@dataclass(slots=True)
class Reuse:
    """The obligations of one template, each looked up before it is derived."""

    nodes: Nodes
    clock: Clock
    goals: list[tuple[Goal, int, Solver]] = field(default_factory=list)
    """The goals of the template in their order, each with its number among equal ones."""

    def noted(self, goal: Goal, solver: Solver) -> int:
        """The number of the goal among those that say the same of themselves."""
        ordinal = self.nodes.ordinal(goal)
        self.goals.append((goal, ordinal, solver))
        return ordinal

    def node_keys(self, alpha: Alpha) -> list[list[str] | None]:
        """For each goal the name of its node, and a digest of its inputs up to names."""
        plain = _Plain({name: f"#{n}" for n, name in enumerate(alpha[1])})
        return [self._keys(goal, ordinal, plain) for goal, ordinal, _ in self.goals]

    def _keys(self, goal: Goal, ordinal: int, plain: "_Plain") -> list[str] | None:
        try:
            text = self.nodes.text(goal, ordinal)
        except FAILURES:
            return None
        if text is None:
            return None
        return [digest(text), digest("\n".join(plain[line] for line in text.split("\n")))]

    def premises(self) -> list[list[Any]]:
        """The premises of each solver, as they stand in the template."""
        found = {id(s.premises): s.premises for _, _, s in self.goals}
        return [self.nodes.ledger.stated(rules) for rules in found.values()]

    def carry_over(self, row: Any, alpha: Alpha) -> None:
        """The nodes of a template under the names of one that is equal but for names."""
        keys, mine = self.node_keys(alpha), self.premises()
        if len(keys) != len(row["nodes"]) or [len(p) for p in mine] != [
            len(p) for p in row["premises"]
        ]:
            return
        places = {
            json.dumps(old): new
            for olds, news in zip(row["premises"], mine, strict=True)
            for old, new in zip(olds, news, strict=True)
        }
        names = dict(zip(row["names"], alpha[1], strict=True))
        with self.nodes.ledger.database.together():
            for old, new in zip(row["nodes"], keys, strict=True):
                if old is not None and new is not None and old[1] == new[1] and old[0] != new[0]:
                    self.nodes.rename(old[0], new[0], places, names)

    def settled(self, goal: Goal, ordinal: int, solver: Solver, ask: Ask) -> Outcome:
        """What is known of ``goal``; else what deriving and asking gives, which is then kept.

        A goal of the program is derived from its slice. Only a proof counts there: a solution
        is looked for again in the whole program, where it can be replayed.
        """
        ledger = self.nodes.ledger
        ledger.begin()
        try:
            key = self.nodes.key(goal, ordinal)
            known = None if key is None else self.nodes.known(key, solver)
        except FAILURES as error:
            return failed(error)
        if key is None:
            return ask(NOTHING_ASKED)
        if known is not None:
            return proved(known.queries, known.cases, reused=True)
        opened = self._left_open(key, solver)
        if opened is not None:
            return opened
        ledger.begin()
        asked = self._from_slice(goal, ordinal, solver)
        outcome = asked if isinstance(asked, Outcome) else ask(asked)
        if outcome.verdict == "proved":
            self.nodes.keep(key, outcome.queries, outcome.cases)
        elif outcome.limited:
            self._leave_open(key, solver, outcome)
        return outcome

    def whole(
        self, condition: str, read: tuple[object, ...], settle: Callable[[], Outcome]
    ) -> Outcome:
        """As ``settle`` says, but where it proved the same of equal ``read`` before."""
        try:
            text = repr(read)
        except RecursionError:  # deeper than the texts of its statements one by one
            return settle()
        database, key = self.nodes.ledger.database, digest(["whole", condition, text])
        row: Any = database.get("node", key)
        match row:
            case {"shown": str(detail)}:
                return Outcome("proved", detail, reused=True)
        found = settle()
        if found.verdict == "proved":
            database.put("node", key, {"shown": found.detail})
        return found

    def _from_slice(self, goal: Goal, ordinal: int, solver: Solver) -> Outcome | Asked:
        """The queries of the slice's goal, excluded one after another as far as that goes."""
        done: list[Query] = []
        try:
            queries = self.nodes.derived(goal, ordinal).build()
            for query in queries:
                if not solver.excluded(query):
                    return Asked(frozenset(map(said, done)), said(query))
                done.append(query)
        except FAILURES:
            return NOTHING_ASKED
        return proved(len(queries), 0)

    def _left_open(self, key: str, solver: Solver) -> Outcome | None:
        """An unresolved obligation is tried again only with a larger limit."""
        row: Any = self.nodes.ledger.database.get("open", _open_key(key, solver.premises))
        match row:
            case {"reason": str(reason), "limits": [call, seconds, memory]}:
                mine = self._limits()
                if mine[0] <= call and mine[1] <= seconds and mine[2] <= memory:
                    return Outcome("unresolved", reason, limited=True, reused=True)
        return None

    def _limits(self) -> list[float]:
        """Milliseconds of a call, seconds of the obligation, MiB."""
        return [self.clock.call_ms, self.clock.seconds, self.clock.memory_mb]

    def _leave_open(self, key: str, solver: Solver, outcome: Outcome) -> None:
        row = {"reason": outcome.detail, "limits": self._limits()}
        self.nodes.ledger.database.put("open", _open_key(key, solver.premises), row)


def said(query: Query) -> Query:
    """What a query asks, without what is told of it: equal ones have the same answer."""
    return Query(query.facts, query.goal)


def known_renamed(
    alpha: Alpha | None, tasks: Sequence[Task], reuse: Reuse
) -> tuple[Obligation, ...] | None:
    """The obligations of a template that was proved under other names (``alpha_digest``).

    Its nodes are kept under the new names too, so that the next edit finds them.
    """
    database = reuse.nodes.ledger.database
    row: Any = None if alpha is None else database.get("node", digest(["alpha", alpha[0]]))
    if alpha is None or row is None:
        return None
    shown = row["obligations"]
    if [r[:2] for r in shown] != [[t.group, t.condition] for t in tasks]:
        return None
    if tuple(row["names"]) != alpha[1]:
        reuse.carry_over(row, alpha)
    return tuple(
        Obligation(t.name, t.group, t.condition, "proved", "proved", 0.0, True, str(r[2]))
        for t, r in zip(tasks, shown, strict=True)
    )


def keep_renamed(alpha: Alpha | None, obligations: Sequence[Obligation], reuse: Reuse) -> None:
    """Keeps that a template is proved, whatever names it has."""
    if alpha is None or not obligations or any(o.verdict != "proved" for o in obligations):
        return
    row = {
        "obligations": [[o.group, o.condition, o.detail] for o in obligations],
        "names": list(alpha[1]),
        "nodes": reuse.node_keys(alpha),
        "premises": reuse.premises(),
    }
    reuse.nodes.ledger.database.put("node", digest(["alpha", alpha[0]]), row)


def known_cover(template: Template, ledger: Ledger, solver: Solver, clock: Clock) -> Cover:
    """K3 from the designs that covered a scope before; they are shown to cover this one."""
    names = sorted(d.name for d in template.decisions)
    key = digest(["designs", names])
    atoms = ledger.atoms
    kept = ledger.database.get("witness", key)
    first = _cover_of(template, kept or [], solver, ledger)
    if first is not None:
        return first
    found = cover(template, atoms, clock, kept or [])
    if found.status == "proved":
        designs = [dict(d) for d in found.designs]
        if designs != kept:
            ledger.database.put("witness", key, designs)
        _cover_of(template, designs, solver, ledger)
    return found


def _cover_of(
    template: Template, designs: list[dict[str, int]], solver: Solver, ledger: Ledger
) -> Cover | None:
    """Whether these designs cover the scope: one query, which a kept core may answer."""
    menus = {d.name: d.menu for d in template.decisions}
    inside = all(set(d) == set(menus) and all(v in menus[n] for n, v in d.items()) for d in designs)
    if not designs or not inside:
        return None
    goal = conj(uncovered(template, designs, ledger.atoms))
    answer = solver.answer(Query((), goal), small=False)
    return Cover("proved", tuple(designs)) if answer.status == "unsat" else None


def _open_key(key: str, rules: Premises) -> str:
    """What stays open may depend on every premise."""
    stated = [repr(rules.scope), repr(rules.conditions), sorted(rules.menus.items())]
    return digest([key, stated])
