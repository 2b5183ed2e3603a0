"""Agreement with the workload, line by line: phantom and exact_once (and who states the rest).

A line of a sum has each of its terms once; a line of a maximum compares all of its values, no
others, and how often does not matter.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from formwright.base.source import Span
from formwright.ir.rewrite import accesses
from formwright.smt.atoms import Atoms
from formwright.smt.chains import (
    Chain,
    accumulating,
    chain_conditions,
    happens,
    insides,
    leaf_places,
    scales,
    still_happens,
    target,
    vanishes,
)
from formwright.smt.coverage import Coverage
from formwright.smt.goals import Actor, Goal, Query, Reads
from formwright.smt.instances import Instance, differ
from formwright.smt.lost import Lost, partial_stages
from formwright.smt.products import with_functions
from formwright.smt.schedule import place
from formwright.smt.sites import Site
from formwright.smt.stability import stable_goals
from formwright.smt.targets import Meaning, Stages, Target, targets
from formwright.smt.terms import FALSE, TRUE, All, Formula, Poly, conj, disj, eq, negated
from formwright.smt.tokens import Token, Tokens
from formwright.smt.walks import Chains
from formwright.smt.writers import writers


@dataclass(frozen=True, slots=True)
class Class:
    """Chains with the same accumulations and the same place: ``facts`` hold for all."""

    runs: tuple[Instance, ...]
    token: Token
    facts: tuple[Formula, ...]
    hints: tuple[Poly, ...]
    chain: Chain


class Agreement:
    """Derives the goals on terms of one program against its workload and stages."""

    def __init__(
        self,
        applies: Sequence[Site],
        meaning: Meaning,
        atoms: Atoms,
        impossible: Callable[[Sequence[Formula]], bool],
    ) -> None:
        self._applies = applies
        self._meaning = meaning
        self._atoms = atoms
        stages = Stages(meaning.realised)
        inputs = frozenset(t.name for t in meaning.workload.inputs)
        partial = partial_stages(meaning.stages)
        chains = Chains(applies, inputs, stages, atoms, impossible, partial)
        extents = {t.name: t.extents for t in meaning.workload.inputs}
        extents.update({s.output.name: s.output.extents for s in meaning.stages})
        rough = with_functions(meaning.stages)
        self._lines = [
            _Line(t, chains, stages, Tokens(t, stages, extents, rough, atoms), atoms)
            for t in targets(meaning, applies, atoms)
        ]
        self._kept = {r.buffer for r in meaning.realised}

    def goals(self) -> Iterator[Goal]:
        for line in self._lines:
            yield from self._line_goals(line)
        yield from stable_goals(self._meaning, self._atoms)

    def _line_goals(self, line: "_Line") -> Iterator[Goal]:
        name = line.target.name
        for site in line.target.writers:

            def phantom(site: Site = site) -> Sequence[Query]:
                return line.phantoms(site)

            claim = f"a term of {name} that the workload does not have"
            yield self._goal(
                f"phantom {name} {place(site)}", "phantom", phantom, claim, 3, line, site
            )
        if line.target.line.combine == "sum":
            claim = f"a term reaches {name} twice"
            yield self._goal(f"exact_once {name}", "exact_once", line.exact_once, claim, 6, line)
        claim = f"a term of {name} that nothing computes"
        yield self._goal(f"coverage {name}", "coverage", line.coverage.coverage, claim, 2, line)
        if line.target.kept is not None:
            return  # that a cell is assigned before it is read is readiness
        claim = f"a cell of {name} that nothing assigns"
        yield self._goal(f"defined {name}", "defined", line.coverage.defined, claim, 2, line)

    def _goal(
        self,
        name: str,
        condition: str,
        build: Callable[[], Sequence[Query]],
        claim: str,
        weight: int,
        line: "_Line",
        site: Site | None = None,
    ) -> Goal:
        span: Span | None = line.target.line.span if site is None else site.span
        read = self._sources(line.target.writers if site is None else [site])
        named = () if site is None else (site.path,)
        readers = [s for s, _ in line.target.reads] if condition == "coverage" else []
        kept = frozenset(s.path for s in (*read, *readers))
        reads = Reads(line.target.name, named, kept, terms=True)
        return Goal(name, "K2", condition, build, claim, weight, span, reads)

    def _sources(self, start: Sequence[Site]) -> list[Site]:
        """The statements that a chain from ``start`` may go through."""
        found: dict[int, Site] = {}
        queue = list(start)
        while queue:
            site = queue.pop()
            if site.number in found:
                continue
            found[site.number] = site
            for access in accesses(site.apply.value):
                if access.buffer in site.homes and access.buffer not in self._kept:
                    queue += writers(self._applies, site, access, ("=", "+=", "max="))
        return list(found.values())


class _Line:
    """The goals of one line."""

    def __init__(
        self, target: Target, chains: Chains, stages: Stages, tokens: Tokens, atoms: Atoms
    ) -> None:
        self.target = target
        self._chains = chains
        self._stages = stages
        self._tokens = tokens
        self._atoms = atoms
        self.coverage = Coverage(target, chains, stages, tokens, atoms)

    def phantoms(self, site: Site) -> list[Query]:
        """For a chain of the statement: that the line has no such term is impossible."""
        if self.target.line.combine == "max":
            return [self._phantom(c) for c in self._chains.of_maximum(site, "e")]
        found: list[Query] = []
        among = self._chains.of_sum(site, "e")
        for chain in among:
            found.append(self._phantom(chain, among))
            found += [self._lost(chain, lost) for lost in chain.lost if lost.owes(chain.form)]
            known = scales(chain, self._atoms) + self._tokens.named_cells(chain)
            if vanishes(chain) and known:
                facts = happens(chain, self._atoms)
                found.append(Query(tuple(facts), negated(conj(known)), (), _actors(chain)))
        return found

    def _facts(self, chain: Chain) -> list[Formula]:
        known = self.target.place(chain.steps[0].instance)
        return chain_conditions(chain, self._atoms) + self.target.premises(known)

    def _phantom(self, chain: Chain, among: Sequence[Chain] = ()) -> Query:
        facts, hints = tuple(self._facts(chain)), self._hints(chain)
        if self.target.line.combine == "max":
            right = self._tokens.within(chain)
        else:
            token = self._tokens.of(chain, among)
            if token is None:
                return Query(facts, TRUE, (), _actors(chain))
            right = conj((token.agrees, *self._tokens.in_range(token)))
        if not vanishes(chain):
            right = conj((right, *insides(chain, self._atoms)))
        return Query(facts, negated(right), hints, _actors(chain))

    def _lost(self, chain: Chain, lost: Lost) -> Query:
        """That what is computed beside an empty sum is nowhere in the line is impossible."""
        known = self.target.place(chain.steps[0].instance)
        facts = still_happens(chain, lost, self._atoms) + self.target.premises(known)
        wrong = negated(self._tokens.somewhere(chain, lost))
        return Query(tuple(facts), wrong, self._hints(chain), _actors(chain))

    def exact_once(self) -> Sequence[Query]:
        mine, other = self._classes("e"), self._classes("f")
        return [
            self._twice(mine[i], other[j])
            for i in range(len(mine))
            for j in range(i, len(other))
            if mine[i].token.product == other[j].token.product
        ]

    def _classes(self, tag: str) -> list[Class]:
        """Chains that differ only in who assigned a cell are one: ``single`` says so."""
        found: dict[object, Class] = {}
        for site in self.target.writers:
            among = self._chains.of_sum(site, f"{tag}{site.number}")
            for chain in among:
                token = self._tokens.of(chain, among)
                if token is None:
                    continue
                runs = tuple(chain.steps[n].instance for n in accumulating(chain))
                numbers = tuple(r.site.number for r in runs)
                key = (numbers, token.product, token.cell, token.reduction, chain.branches)
                flat = _parts(self._facts(chain))
                if FALSE in flat:
                    # It never happens, and would leave nothing that both chains have.
                    continue
                if key in found:
                    flat = tuple(f for f in found[key].facts if f in set(flat))
                found[key] = Class(runs, token, flat, self._hints(chain), chain)
        return list(found.values())

    def _twice(self, one: Class, two: Class) -> Query:
        pairs = zip(
            (*one.token.cell, *one.token.reduction),
            (*two.token.cell, *two.token.reduction),
            strict=True,
        )
        facts = (*one.facts, *two.facts, *(eq(a, b) for a, b in pairs))
        alike = [r.site for r in one.runs] == [r.site for r in two.runs]
        alike = alike and one.chain.branches == two.chain.branches
        runs = zip(one.runs, two.runs, strict=False)
        wrong = disj(differ(a, b) for a, b in runs) if alike else TRUE
        actors = (*_actors(one.chain), *_actors(two.chain))
        given = self._tokens.named(one.token)
        return Query(facts, wrong, (*one.hints, *two.hints), actors, given)

    def _hints(self, chain: Chain) -> tuple[Poly, ...]:
        inputs = [p for found in leaf_places(chain, self._stages, self._atoms) for p in found]
        return (*target(chain, self._atoms).index, *inputs)


def _parts(formulas: Sequence[Formula]) -> tuple[Formula, ...]:
    whole = conj(formulas)
    return whole.parts if isinstance(whole, All) else (whole,)


def _actors(chain: Chain) -> tuple[Actor, ...]:
    roles = {"=": "write", "+=": "accumulate", "max=": "accumulate"}
    return tuple(
        Actor(s.instance, roles[s.instance.site.apply.op], s.instance.site.apply.destination.buffer)
        for s in chain.steps
    )
