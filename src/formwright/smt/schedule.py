"""The conditions on schedules, from the text: address to order (``docs/program-rules.md``)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement

from formwright.ir.program import ApplyOp
from formwright.smt.atoms import Atoms
from formwright.smt.counters import Counters
from formwright.smt.encode import UnderivableError, truth
from formwright.smt.goals import Actor, Goal, Query, Reads
from formwright.smt.instances import (
    Cell,
    Instance,
    cell,
    differ,
    fresh,
    guards,
    present,
    same_generation,
    same_index,
    team_names,
)
from formwright.smt.lazy import Reach, reaches, reads_of
from formwright.smt.order import Order, owner_facts
from formwright.smt.sites import Site, Sites, names_in
from formwright.smt.terms import (
    ZERO,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    lt,
    negated,
    symbol,
)
from formwright.smt.writers import arbitrary, candidates, writers

SET: tuple[ApplyOp, ...] = ("=",)
ACCUMULATE: tuple[ApplyOp, ...] = ("+=", "max=")


class Schedule:
    """Derives the goals of one program; ``inputs`` are the tensors that nothing may write."""

    def __init__(
        self,
        sites: Sites,
        inputs: frozenset[str],
        atoms: Atoms,
        counters: Counters | None = None,
    ) -> None:
        self._sites = sites
        self._applies = sites.applies
        self._inputs = inputs
        self._atoms = atoms
        self._order = Order(sites, atoms, counters)

    def goals(self) -> Iterator[Goal]:
        """Every condition of the table up to ``order``, one goal for a place or a pair."""
        for site in self._applies:
            for reach in reaches(site.apply):
                yield from self._address(site, reach)
        for site in self._sites.synchronising:
            yield self._uniform(site)
        for name in dict.fromkeys(s.apply.destination.buffer for s in self._applies):
            yield from self._writes(name)
        for site in self._applies:
            yield from self._reads(site)

    def _goal(
        self,
        condition: str,
        what: str,
        sites: Sequence[Site],
        build: Callable[[], Sequence[Query]],
        claim: str,
        weight: int,
        reads: Sequence[Site] = (),
        ordered: bool = False,
    ) -> Goal:
        places = " and ".join(dict.fromkeys(place(s) for s in sites))
        name = f"{condition} {what} {places}"
        named = tuple(s.path for s in sites)
        part = Reads(what, named, frozenset((*named, *(s.path for s in reads))), ordered)
        return Goal(name, "K2", condition, build, claim, weight, sites[0].span, part)

    # address and uniform

    def _address(self, site: Site, reach: Reach) -> Iterator[Goal]:
        access = reach.access

        def build() -> Sequence[Query]:
            run = fresh(site, "e", {}, 0)
            what = cell(run, access, self._atoms)
            wrong = [] if access.clip else [negated(what.inside)]
            if what.generation is not None:
                wrong.append(lt(what.generation, ZERO))
            actors = (Actor(run, "access", access.buffer),)
            made = [truth(c, run.env, self._atoms) for c in reach.when]
            return [Query((*guards(run, self._atoms), *made), disj(wrong), what.index, actors)]

        if not access.clip or access.generation is not None:
            claim = f"an access to {access.buffer} leaves its shape"
            yield self._goal("address", access.buffer, [site], build, claim, 1)

    def _uniform(self, site: Site) -> Goal:
        def build() -> Sequence[Query]:
            team = site.team
            if team is None:
                if type(site.node).__name__ == "Barrier":
                    raise UnderivableError("a barrier outside a team", site.span)
                return []
            owners = team_names(site)
            below = site.frames[team + 1 :]
            if not any(owners & names_in(f.node) for f in below):
                return []
            one = fresh(site, "e", {}, 0)
            env = {n: symbol(f"{n}@f") if n in owners else p for n, p in one.env.items()}
            other = Instance(site, env)
            facts = guards(one, self._atoms) + guards(other, self._atoms, 0, team + 1)
            wrong = negated(conj(guards(other, self._atoms, team + 1)))
            actors = (Actor(one, "passes", ""), Actor(other, "does not pass", ""))
            return [Query(tuple(facts), wrong, (), actors)]

        word = type(site.node).__name__.lower()
        claim = f"one agent of the team meets a {word} that another does not"
        return self._goal("uniform", word, [site], build, claim, 0)

    # pairs of writes

    def _writes(self, name: str) -> Iterator[Goal]:
        mine = [s for s in self._applies if s.apply.destination.buffer == name]
        for home in dict.fromkeys(s.home(s.apply.destination) for s in mine):
            here = [s for s in mine if s.home(s.apply.destination) == home]
            depth = home.depth
            sets = [s for s in here if s.apply.op == "="]
            adds = [s for s in here if s.apply.op != "="]
            for a, b in combinations_with_replacement(sets, 2):
                yield self._single(name, a, b, depth)
            for a, b in combinations_with_replacement(adds, 2):
                yield self._race(name, a, b, depth)

    def _pair(self, a: Site, b: Site, depth: int) -> tuple[Instance, Instance, list[Formula]]:
        """Two arbitrary runs that write one cell of one generation of one allocation."""
        e = fresh(a, "e", {}, 0)
        f = fresh(b, "f", e.env, depth)
        mine = cell(e, a.apply.destination, self._atoms)
        other = cell(f, b.apply.destination, self._atoms)
        facts = [
            *present(e, Reach(a.apply.destination), mine, self._atoms),
            *present(f, Reach(b.apply.destination), other, self._atoms),
            same_generation(mine, other),
            same_index(mine, other),
            *owner_facts(e, f, self._atoms),
        ]
        return e, f, facts

    def _single(self, name: str, a: Site, b: Site, depth: int) -> Goal:
        def build() -> Sequence[Query]:
            if name in self._inputs:
                raise UnderivableError(f"{name} is an input of the workload and is written", a.span)
            e, f, facts = self._pair(a, b, depth)
            actors = (Actor(e, "write", name), Actor(f, "write", name))
            return [Query(tuple(facts), differ(e, f, depth), _hints(e, f, self._atoms), actors)]

        claim = f"two assignments to one cell of {name}"
        return self._goal("single", name, [a, b], build, claim, 3)

    def _race(self, name: str, a: Site, b: Site, depth: int) -> Goal:
        def build() -> Sequence[Query]:
            e, f, facts = self._pair(a, b, depth)
            apart = self._order.apart(e, f)
            if a.apply.asynchronous or b.apply.asynchronous:
                apart = disj((apart, differ(e, f, depth)))
            wrong = conj(
                (
                    apart,
                    negated(self._order.before(e, f)),
                    negated(self._order.before(f, e)),
                )
            )
            actors = (Actor(e, "accumulate", name), Actor(f, "accumulate", name))
            return [Query(tuple(facts), wrong, _hints(e, f, self._atoms), actors)]

        claim = f"two agents accumulate into one cell of {name} with no order between them"
        if a.apply.asynchronous or b.apply.asynchronous:
            claim = f"two accumulations into one cell of {name} are in flight together"
        return self._goal("race", name, [a, b], build, claim, 3, ordered=True)

    # a read and its writers

    def _reads(self, site: Site) -> Iterator[Goal]:
        target = site.apply.destination
        if site.apply.op != "=":
            yield self._after_set("order", site, Reach(target), "accumulate")
        for reach in dict.fromkeys(reads_of(site.apply.value)):
            access = reach.access
            if access.buffer in self._inputs:
                continue
            yield self._after_set("readiness", site, reach, "read")
            for writer in writers(self._applies, site, access, ACCUMULATE):
                yield self._before_read(site, reach, writer)
            if site.home(access).buffer.ring is not None:
                for writer in writers(self._applies, site, access, (*SET, *ACCUMULATE)):
                    yield self._lifetime(site, reach, writer)

    def _after_set(self, condition: str, site: Site, reach: Reach, role: str) -> Goal:
        access = reach.access

        def build() -> Sequence[Query]:
            run = fresh(site, "e", {}, 0)
            what = cell(run, access, self._atoms)
            facts = present(run, reach, what, self._atoms)
            wrong: list[Formula] = []
            sources = writers(self._applies, site, access, SET)
            for n, source in enumerate(sources):
                for made in candidates(source, run, access, f"w{n}", self._atoms):
                    facts += made.owner
                    facts += owner_facts(made.instance, run, self._atoms)
                    ordered = self._order.before(made.instance, run)
                    wrong.append(negated(conj((made.valid, ordered))))
            actors = (Actor(run, role, access.buffer),)
            return [Query(tuple(facts), conj(wrong), what.index, actors)]

        verb = "is read" if role == "read" else "is accumulated into"
        claim = f"a cell of {access.buffer} {verb} and no assignment to it is before"
        sources = writers(self._applies, site, access, SET)
        return self._goal(condition, access.buffer, [site], build, claim, 2, sources, ordered=True)

    def _before_read(self, site: Site, reach: Reach, writer: Site) -> Goal:
        access = reach.access

        def build() -> Sequence[Query]:
            run = fresh(site, "e", {}, 0)
            what = cell(run, access, self._atoms)
            made = arbitrary(writer, run, access, "f", self._atoms)
            facts = [
                *present(run, reach, what, self._atoms),
                made.valid,
                *made.owner,
                *owner_facts(made.instance, run, self._atoms),
            ]
            wrong = negated(self._order.before(made.instance, run))
            actors = (
                Actor(run, "read", access.buffer),
                Actor(made.instance, "accumulate", access.buffer),
            )
            return [Query(tuple(facts), wrong, what.index, actors)]

        claim = f"a cell of {access.buffer} is read and an accumulation into it is not before"
        return self._goal("order", access.buffer, [site, writer], build, claim, 2, ordered=True)

    def _lifetime(self, site: Site, reach: Reach, writer: Site) -> Goal:
        access = reach.access

        def build() -> Sequence[Query]:
            sources = writers(self._applies, site, access, SET)
            return [self._overwritten(site, reach, writer, source) for source in sources]

        claim = f"a slot of {access.buffer} is overwritten before its last read"
        sources = writers(self._applies, site, access, SET)
        return self._goal(
            "lifetime", access.buffer, [site, writer], build, claim, 4, sources, ordered=True
        )

    def _overwritten(self, site: Site, reach: Reach, writer: Site, source: Site) -> Query:
        """A write of another generation, neither after the read nor before what it reads."""
        access = reach.access
        depth = site.home(access).depth
        run = fresh(site, "e", {}, 0)
        other = fresh(writer, "f", run.env, depth)
        what = cell(run, access, self._atoms)
        there = cell(other, writer.apply.destination, self._atoms)
        made = arbitrary(source, run, access, "w", self._atoms)
        laps = symbol("!laps@f")
        facts = [
            *present(run, reach, what, self._atoms),
            *present(other, Reach(writer.apply.destination), there, self._atoms),
            same_index(what, there),
            _same_slot(what, there, laps),
            made.valid,
            *made.owner,
            *owner_facts(run, other, self._atoms),
            *owner_facts(made.instance, run, self._atoms),
            *owner_facts(made.instance, other, self._atoms),
        ]
        wrong = conj(
            (
                negated(eq(laps, ZERO)),
                negated(self._order.before(run, other, reads_first=True)),
                negated(self._order.before(other, made.instance)),
            )
        )
        actors = (Actor(run, "read", access.buffer), Actor(other, "write", access.buffer))
        return Query(tuple(facts), wrong, (laps * (what.ring or ZERO),), actors)


def _same_slot(left: Cell, right: Cell, laps: Poly) -> Formula:
    if left.generation is None or right.generation is None or left.ring is None:
        raise UnderivableError("a ring without generations")
    return eq(right.generation - left.generation, laps * left.ring)


def _hints(e: Instance, f: Instance, atoms: Atoms) -> tuple[Poly, ...]:
    return (
        *cell(e, e.site.apply.destination, atoms).index,
        *cell(f, f.site.apply.destination, atoms).index,
    )


def place(site: Site) -> str:
    """Where a statement stands, for names and messages."""
    if site.span is not None:
        return f"at line {site.span.line}"
    return "at " + ".".join(str(p) for p in site.path)
