"""Order through counters (rule P10): what an ``await`` can't pass without.

An agent that has passed ``await c, n`` knows that ``c`` has had ``n`` arrivals. Who arrives,
and how often before a given event, are closed forms; so is the number of agents that arrive.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from formwright.ir.expr import Arith, Expr
from formwright.ir.program import Arrive, Await, For, Par, Stmt
from formwright.ir.rewrite import free_names
from formwright.smt.atoms import Atoms, Greatest, Least
from formwright.smt.counts import Counted, Env, bounds_on, congruent, passed
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.instances import Instance, fresh, guards, team_names
from formwright.smt.sites import Site, Sites, common
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    le,
    lt,
    negated,
    symbol,
)

Sequential = Callable[[Instance, Instance], Formula]
"""``e`` is over before ``f`` begins, by the text of one agent."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which counter of an array: a value, or the class of a value for a modulus."""

    value: Poly = ZERO
    modulus: Poly | None = None


@dataclass(frozen=True, slots=True)
class Arrivers:
    """Who arrives at one place: ``count`` agents if ``exactly`` holds, never more.

    ``agent`` is one of them, arbitrary; ``member`` says that it is.
    """

    count: Poly
    exactly: Formula
    agent: Poly
    member: Formula


class Counters:
    """The counters of one program; ``impossible`` discharges what an order rests on."""

    def __init__(
        self, sites: Sites, atoms: Atoms, impossible: Callable[[Sequence[Formula]], bool]
    ) -> None:
        self._atoms = atoms
        self._impossible = impossible
        self._arrivals: dict[str, list[Site]] = {}
        self._awaits: dict[str, list[Site]] = {}
        self._rounds: dict[str, bool] = {}
        for site in sites.counters:
            found = self._arrivals if isinstance(site.node, Arrive) else self._awaits
            found.setdefault(counter_of(site).counter, []).append(site)

    def before(
        self, first: Instance, second: Instance, sequential: Sequential, single: bool = False
    ) -> Formula:
        """``first`` of one agent is over before ``second`` of another of its team begins.

        With ``single`` only counters at which one agent arrives are used.
        """
        found: list[Formula] = []
        for name, sites in self._awaits.items():
            for site in sites:
                if site.team != second.site.team or common(site, second.site) < site.agent:
                    continue
                for wait in self.awaits_near(site, second, first):
                    reached = self._needs(name, wait, first, single)
                    if reached != FALSE:
                        ahead = sequential(wait, second)
                        found.append(conj((*guards(wait, self._atoms), ahead, reached)))
        return disj(found)

    def _needs(self, name: str, wait: Instance, first: Instance, single: bool) -> Formula:
        """The await can't pass before the agent of ``first`` has arrived after ``first``."""
        place = self.place(wait)
        done = self.arrived(first, name, place)
        agent = agent_of(first)
        arrivers = self.arrivers(name, wait, place)
        threshold = number(await_of(wait.site).count, wait.env, self._atoms)
        own = self._arrives(name, wait, place, agent)
        if arrivers.count != ONE and not single and self.in_rounds(name, wait.site):
            return conj((own, at_least(threshold, done + ONE, arrivers.count)))
        return conj((own, le(arrivers.count, ONE), lt(done, threshold)))

    def awaits_near(
        self, site: Site, run: Instance, other: Instance | None, agent: Poly | None = None
    ) -> Iterator[Instance]:
        """Runs of an ``await`` that may be the one before ``run``: by shared loops, by the
        values of its loops, by the agent of ``other``, the last iteration."""
        start = site.agent
        base = fresh(site, "await", run.env, start)
        if agent is not None:
            (name,) = team_names(site)
            base = Instance(site, {**base.env, name: agent})
        shared = common(site, run.site)
        names = [f.node.var for f in run.site.frames[run.site.agent :] if isinstance(f.node, For)]
        near = [run.env[n] for n in names]
        loops = [(i, f.node) for i, f in enumerate(site.frames) if isinstance(f.node, For)]
        inner = [(i, node) for i, node in loops if i >= start]
        modulus = self.place(base).modulus
        choices: list[list[Poly | None]] = []
        for level, node in inner:
            values: dict[Poly | None, None] = {}
            if shared > level:
                here = run.env[node.var]
                steps = (ZERO, ONE) if modulus is None else (ZERO, ONE, modulus)
                values.update(dict.fromkeys(here - step for step in steps))
            else:
                values[None] = None
                values.update(dict.fromkeys(near))
                if other is not None:
                    values[agent_of(other)] = None
            choices.append(list(values))
        for picked in product(*choices):
            env = dict(base.env)
            for (_, node), value in zip(inner, picked, strict=True):
                last = number(node.hi, env, self._atoms) - ONE
                env[node.var] = last if value is None else value
            yield Instance(site, env)

    def place(self, run: Instance) -> Place:
        """Which counter of its array a run of ``arrive`` or ``await`` means."""
        return self._place(counter_of(run.site).index, run.env)

    def _place(self, index: Expr | None, env: Env) -> Place:
        match index:
            case None:
                return Place()
            case Arith("mod", value, modulus):
                return Place(number(value, env, self._atoms), number(modulus, env, self._atoms))
            case _:
                return Place(number(index, env, self._atoms))

    def counted(self, name: str, place: Place, only: Stmt | None = None) -> Counted:
        """Arrivals at that place (of one statement)."""

        def counts(stmt: Stmt, env: Env) -> Formula:
            if not isinstance(stmt, Arrive) or stmt.counter != name:
                return FALSE
            if only is not None and stmt is not only:
                return FALSE
            return self.same(self._place(stmt.index, env), place)

        return counts

    def same(self, left: Place, right: Place) -> Formula:
        if left.modulus is None and right.modulus is None:
            return eq(left.value, right.value)
        if left.modulus == right.modulus and left.modulus is not None:
            return congruent(left.value, right.value, left.modulus, self._atoms)
        raise UnderivableError("places of one counter with different moduli")

    def arrived(self, run: Instance, name: str, place: Place) -> Poly:
        """How often the agent of a run arrived at that place before it."""
        return passed(run, run.site.agent, self.counted(name, place), self._atoms).poly(self._atoms)

    def _sites_of(self, name: str, wait: Site) -> list[Site]:
        """The arrivals of a counter; all by one role of the team of ``wait``."""
        sites = self._arrivals[name]
        if any(s.team != wait.team or common(s, wait) < wait.agent for s in sites):
            raise UnderivableError(f"the counter {name} of two teams", wait.span)
        if any(s.role != sites[0].role for s in sites):
            raise UnderivableError(f"two roles arrive at {name}", sites[-1].span)
        return sites

    def _arrives(self, name: str, wait: Instance, place: Place, agent: Poly) -> Formula:
        """That agent is in the role that arrives, and the place may be its own."""
        site = self._sites_of(name, wait.site)[0]
        (team,) = team_names(site)
        env = {**wait.env, team: agent}
        mine = [truth(c, env, self._atoms) for c in site.role]
        if self._own_place(site):
            mine.append(self.same(self._place(counter_of(site).index, env), place))
        return conj(mine)

    def _own_place(self, site: Site) -> bool:
        index = counter_of(site).index
        return index is not None and bool(free_names(index) & team_names(site))

    def arrivers(self, name: str, wait: Instance, place: Place) -> Arrivers:
        """The agents that arrive at a place that ``wait`` means."""
        site = self._sites_of(name, wait.site)[0]
        team = site.frames[site.agent - 1].node
        if not isinstance(team, Par) or len(team.vars) != 1:
            raise UnderivableError("counters of a team of several indices", wait.site.span)
        mark = f"{team.vars[0]}@arriver"
        agent = symbol(mark)
        size = number(team.extents[0], wait.env, self._atoms)
        member = self._arrives(name, wait, place, agent)
        rest, bounds = bounds_on(member, mark, site.span, self._atoms)
        if bounds.residue or (rest != TRUE and not self._own_place(site)):
            raise UnderivableError(f"who arrives at {name} is not a range of agents", site.span)
        inside = conj((member, le(ZERO, agent), lt(agent, size)))
        ends = [(low, high) for low in bounds.low for high in bounds.high if high - low == ONE]
        if ends:
            low, high = ends[0]
        else:
            low = self._atoms.make(Greatest(bounds.low)) if bounds.low else ZERO
            high = self._atoms.make(Least(bounds.high)) if bounds.high else size
        exactly = conj(
            (
                rest,
                *(le(end, low) for end in (ZERO, *bounds.low)),
                le(low, high),
                *(le(high, end) for end in (size, *bounds.high)),
            )
        )
        return Arrivers(high - low, exactly, agent, inside)

    def in_rounds(self, name: str, wait: Site) -> bool:
        """No agent arrives again before all have: rounds, as of a barrier.

        Each arrival after an agent's first at a place comes after an ``await`` there of all
        arrivals of the rounds before.
        """
        known = self._rounds.get(name)
        if known is None:
            self._rounds[name] = False  # what rests on itself is not shown
            known = all(self._impossible(f) for f in self._again(name, wait))
            self._rounds[name] = known
        return known

    def _again(self, name: str, wait: Site) -> Iterator[list[Formula]]:
        """An arrival that is not the agent's first, with no such await before."""
        for site in self._sites_of(name, wait):
            run = fresh(site, "again", {}, 0)
            place = self.place(run)
            done = self.arrived(run, name, place)
            facts = [*guards(run, self._atoms), le(ONE, done)]
            held = [
                self._round(name, site, other, run, place, done) for other in self._awaits[name]
            ]
            yield [*facts, negated(disj(held))]

    def _round(
        self, name: str, site: Site, wait: Site, run: Instance, place: Place, done: Poly
    ) -> Formula:
        found: list[Formula] = []
        agents: list[Poly | None] = [None] if wait.role == site.role else [ZERO]
        for agent in agents:
            for other in self.awaits_near(wait, run, None, agent):
                arrivers = self.arrivers(name, other, self.place(other))
                threshold = number(await_of(wait).count, other.env, self._atoms)
                enough = at_least(threshold, done, arrivers.count)
                same = self.same(self.place(other), place)
                if agent is None:
                    ahead = textual(other, run)
                else:
                    ahead = self.before(other, run, textual, single=True)
                found.append(conj((*guards(other, self._atoms), same, enough, ahead)))
        return disj(found)


def textual(first: Instance, second: Instance) -> Formula:
    """Both are of one agent of one run of a team: the earlier in its text and loops."""
    start = first.site.agent
    shared = common(first.site, second.site)
    mine, other = first.site.frames, second.site.frames
    parted = shared < len(mine) and shared < len(other)
    result: Formula = TRUE if parted and mine[shared].position < other[shared].position else FALSE
    for level in range(shared - 1, start - 1, -1):
        node = mine[level].node
        if isinstance(node, For):
            here, there = first.env[node.var], second.env[node.var]
            result = disj((lt(here, there), conj((eq(here, there), result))))
    return result


def agent_of(run: Instance) -> Poly:
    names = team_names(run.site)
    if len(names) != 1:
        raise UnderivableError("counters of a team of several indices", run.site.span)
    (name,) = names
    return run.env[name]


def counter_of(site: Site) -> Arrive | Await:
    node = site.node
    assert isinstance(node, Arrive | Await)
    return node


def await_of(site: Site) -> Await:
    node = site.node
    assert isinstance(node, Await)
    return node


def quotient(poly: Poly, divisor: Poly) -> Poly | None:
    """``q`` with ``poly = q * divisor``, if the divisor has a symbol or number to find it by."""
    if divisor == ONE:
        return poly
    plain = poly.divided(divisor)
    if plain is not None:
        return plain
    for name in sorted(divisor.symbols()):
        slope = divisor.coefficient(name)
        if slope in (1, -1):
            quotient = poly.cofactor(name).scaled(slope or 1)
            if quotient * divisor == poly:
                return quotient
    return None


def at_least(total: Poly, each: Poly, agents: Poly) -> Formula:
    """``total >= each * agents`` for ``agents >= 1``, linear where ``agents`` can be cancelled."""
    share = quotient(total, agents)
    return le(each * agents, total) if share is None else le(each, share)


def at_most(total: Poly, each: Poly, agents: Poly) -> Formula:
    """``total <= each * agents`` for ``agents >= 1``, linear where ``agents`` can be cancelled."""
    share = quotient(total, agents)
    return le(total, each * agents) if share is None else le(share, each)
