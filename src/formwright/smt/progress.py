"""Counters and the end of runs: ``progress`` (nobody waits for ever) and ``phase`` (parities).

A counter never falls, so what an agent may do, it may do for ever: one schedule that ends shows
that all do. It is given by ranks: each ``await`` has its arrivals among statements of lower
rank, and ranks rise along the text of each agent (rule P10).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from formwright.ir.expr import Expr
from formwright.ir.program import Arrive, Await, For
from formwright.smt.atoms import Atoms, Floor
from formwright.smt.counters import (
    Counters,
    Place,
    agent_of,
    at_least,
    at_most,
    await_of,
    counter_of,
    quotient,
    textual,
)
from formwright.smt.counts import Count, runs_of
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.goals import Actor, Goal, Query, Reads
from formwright.smt.instances import Instance, fresh, guards, team_names
from formwright.smt.schedule import place
from formwright.smt.sites import Site, Sites, common, names_in
from formwright.smt.terms import (
    ONE,
    ZERO,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    implies,
    le,
    negated,
    symbol,
)

Pace = tuple[Poly, Poly]
"""Iterations of a role in one round of the schedule that ends, and how many rounds it is late."""

Paces = dict[tuple[Expr, ...], Pace]


class Progress:
    """Derives the two conditions of one program.

    Those of ``decisions`` that counters or their loops name are tried as paces.
    """

    def __init__(
        self,
        sites: Sites,
        atoms: Atoms,
        counters: Counters,
        decisions: Sequence[str],
        impossible: Callable[[Sequence[Formula]], bool],
    ) -> None:
        self._waits = [s for s in sites.counters if isinstance(s.node, Await)]
        self._arrivals = [s for s in sites.counters if isinstance(s.node, Arrive)]
        self._synchronising = (*sites.counters, *sites.barriers)
        self._atoms = atoms
        self._counters = counters
        frames = [f for s in self._synchronising for f in s.frames[s.agent :]]
        used = frozenset().union(*(names_in(f.node) for f in frames))
        self._decisions = [d for d in decisions if d in used]
        self._impossible = impossible

    def goals(self) -> Iterator[Goal]:
        """One goal for all awaits together, and one for each that sees phases."""
        if self._waits:
            claim = "an agent waits for arrivals that never come"
            span = self._waits[0].span
            paths = tuple(s.path for s in self._waits)
            reads = Reads("", paths, frozenset(paths), ordered=True, shifts=True)
            yield Goal("progress", "K2", "progress", self._ranked, claim, 5, span, reads)
        for site in self._waits:
            if await_of(site).phase is not None:

                def build(site: Site = site) -> Sequence[Query]:
                    return self._seen(site)

                claim = f"the phases of {await_of(site).counter} lap an agent that waits"
                reads = Reads("", (site.path,), frozenset((site.path,)), ordered=True, shifts=True)
                name = f"phase {place(site)}"
                yield Goal(name, "K2", "phase", build, claim, 5, site.span, reads)

    # ranks

    def _ranked(self) -> Sequence[Query]:
        """No query is left if some paces of the roles rank everything."""
        roles = list(dict.fromkeys(s.role for s in self._synchronising))
        self._refuse_overlap(roles)
        first: list[Query] = []
        for paces in self._paces(roles):
            queries = [self._late(site, paces) for site in self._waits]
            if all(self._impossible([*q.facts, q.goal]) for q in queries):
                return []
            first = first or queries
        return first

    def _paces(self, roles: Sequence[tuple[Expr, ...]]) -> Iterator[Paces]:
        """All roles abreast; then some late by a decision; then some by rounds of a decision."""
        names = [symbol(d) for d in self._decisions]
        late: list[Pace] = [(ONE, ZERO), *((ONE, d) for d in names)]
        late += [(ONE, d.scaled(-1)) for d in names]
        for picked in product(late, repeat=len(roles) - 1):
            yield dict(zip(roles, ((ONE, ZERO), *picked), strict=True))
        several: list[Pace] = [(ONE, ZERO), *((d, ZERO) for d in names)]
        for picked in product(several, repeat=len(roles)):
            if any(pace != (ONE, ZERO) for pace in picked):
                yield dict(zip(roles, picked, strict=True))

    def _refuse_overlap(self, roles: Sequence[tuple[Expr, ...]]) -> None:
        """Each agent keeps to one role of one team, so that ranks rise along its text."""
        one, *others = self._synchronising
        if any(common(one, s) < one.agent or s.agent != one.agent for s in others):
            raise UnderivableError("counters beside another team's", one.span)
        names = team_names(one)
        if len(names) != 1:
            raise UnderivableError("counters of a team of several indices", one.span)
        (name,) = names
        outer = {n: symbol(f"{n}@e") for f in one.frames[: one.agent] for n in f.binds()}
        env = {**outer, name: symbol(f"{name}@e")}
        for a, b in combinations(roles, 2):
            both = [truth(c, env, self._atoms) for c in (*a, *b)]
            if not self._impossible(both):
                raise UnderivableError("an agent of two roles", one.span)

    def _late(self, site: Site, paces: Paces) -> Query:
        """An await whose arrivals do not all have a lower rank."""
        run = fresh(site, "e", {}, 0)
        where = self._counters.place(run)
        name = await_of(site).counter
        who = self._counters.arrivers(name, run, where)
        threshold = number(await_of(site).count, run.env, self._atoms)
        total = Count()
        for other in self._arrivals:
            if counter_of(other).counter == name:
                total = total + self._lower(other, run, where, who.agent, paces)
        done = total.poly(self._atoms)
        each = quotient(
            threshold, who.count
        )  # linear where it can be: of nobody nothing is expected
        reached = le(threshold, done * who.count)
        if each is not None:
            reached = disj((le(who.count, ZERO), le(each, done)))
        enough = conj((who.exactly, reached))
        there = conj((who.exactly, le(ONE, who.count)))
        facts = [*guards(run, self._atoms), implies(there, who.member)]
        wrong = negated(disj((le(threshold, ZERO), enough)))
        return Query(tuple(facts), wrong, (done * who.count,), (Actor(run, "waits", ""),))

    def _lower(self, site: Site, wait: Instance, where: Place, agent: Poly, paces: Paces) -> Count:
        """Arrivals of one agent at one statement with a lower rank than the await's."""
        mine, other = self._stage(site), self._stage(wait.site)
        level = self._main(site)
        cap: tuple[int, Poly] | None = None
        if mine > other:
            return Count()
        if mine == other and level is None and site.number > wait.site.number:
            return Count()
        if mine == other and level is not None:
            at = self._main(wait.site)
            assert at is not None
            node = wait.site.frames[at].node
            assert isinstance(node, For)
            (mine_each, mine_late), (each, late) = paces[site.role], paces[wait.site.role]
            here = self._atoms.make(Floor(wait.env[node.var], each))
            ahead = self._number(site, paces) < self._number(wait.site, paces)
            after = ONE if ahead else ZERO
            cap = (level, mine_each * (here + late - mine_late + after))
        start = site.agent
        names = [n for f in site.frames[start - 1 : start] for n in f.binds()]
        env = {**wait.env, names[0]: agent}
        counted = self._counters.counted(counter_of(site).counter, where)
        return runs_of(site, start, env, cap, counted, self._atoms)

    def _number(self, site: Site, paces: Paces) -> int:
        """The place in a round: of a role that goes round several times, one for all it does."""
        if paces[site.role][0] == ONE:
            return site.number
        return min(s.number for s in self._synchronising if s.role == site.role)

    def _main(self, site: Site) -> int | None:
        """The frame of the loop that counters of its role go round in: the last such loop."""
        loops = [
            s.frames[n].node
            for s in self._synchronising
            if s.role == site.role
            for n in self._outer(s)
        ]
        mine = self._outer(site)
        return mine[0] if mine and site.frames[mine[0]].node is loops[-1] else None

    def _outer(self, site: Site) -> list[int]:
        inner = range(site.agent, len(site.frames))
        return [n for n in inner if isinstance(site.frames[n].node, For)][:1]

    def _stage(self, site: Site) -> int:
        """Before, in or behind the main loop of its role."""
        if self._main(site) is not None:
            return 1
        numbers = [
            s.number
            for s in self._synchronising
            if s.role == site.role and self._main(s) is not None
        ]
        return 0 if not numbers or site.number < min(numbers) else 2

    # phases

    def _seen(self, site: Site) -> Sequence[Query]:
        """What makes a parity as good as the count: no phase behind, none ahead."""
        run = fresh(site, "e", {}, 0)
        stmt, env, atoms = await_of(site), run.env, self._atoms
        assert stmt.phase is not None
        where = self._counters.place(run)
        count, phase = number(stmt.count, env, atoms), number(stmt.phase, env, atoms)
        who = self._counters.arrivers(stmt.counter, run, where)
        ends = quotient(count, phase)
        if ends is None:
            raise UnderivableError("an await that does not end a phase", site.span)
        facts = guards(run, atoms)
        actors = (Actor(run, "waits", ""),)
        behind = [
            conj(
                (
                    *guards(other, atoms),
                    self._counters.same(self._counters.place(other), where),
                    at_least(number(await_of(before).count, other.env, atoms), ends - ONE, phase),
                    textual(other, run),
                )
            )
            for before in self._waits
            if await_of(before).counter == stmt.counter and before.role == site.role
            for other in self._counters.awaits_near(before, run, None)
        ]
        queries = [
            Query(tuple(facts), negated(le(who.count, phase)), (), actors),
            Query(tuple(facts), negated(disj((le(ends, ONE), *behind))), (), actors),
        ]
        for other in self._arrivals:
            if counter_of(other).counter == stmt.counter:
                queries.append(self._ahead(run, other, where, who.count, count))
        return queries

    def _ahead(self, run: Instance, site: Site, where: Place, arrivers: Poly, count: Poly) -> Query:
        """An arrival of a later phase that does not wait for the agent."""
        arrival = fresh(site, "f", run.env, site.agent - 1)
        there = self._counters.place(arrival)
        done = self._counters.arrived(arrival, counter_of(site).counter, there)
        one_agent = eq(agent_of(run), agent_of(arrival))
        ordered = disj(
            (
                conj((one_agent, textual(run, arrival))),
                self._counters.before(run, arrival, textual),
            )
        )
        facts = (
            *guards(run, self._atoms),
            *guards(arrival, self._atoms),
            self._counters.same(there, where),
            at_most(count, done, arrivers),
        )
        return Query(facts, negated(ordered), (), (Actor(run, "waits", ""),))
