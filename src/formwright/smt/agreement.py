"""Agreement with the workload, by terms: phantom and exact_once (and who states the rest)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from formwright.ir.rewrite import accesses
from formwright.ir.template import Workload
from formwright.smt.atoms import Atoms
from formwright.smt.chains import (
    Chain,
    Chains,
    chain_conditions,
    factor_cells,
    target,
)
from formwright.smt.coverage import Coverage
from formwright.smt.goals import Actor, Goal, Query, Reads
from formwright.smt.instances import Instance, differ
from formwright.smt.schedule import place
from formwright.smt.sites import Site
from formwright.smt.terms import TRUE, All, Formula, Poly, conj, disj, eq, negated
from formwright.smt.tokens import Token, Tokens
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
    """Derives the goals on terms of one program against one workload."""

    def __init__(
        self,
        applies: Sequence[Site],
        workload: Workload,
        atoms: Atoms,
        impossible: Callable[[Sequence[Formula]], bool],
    ) -> None:
        inputs = frozenset(t.name for t in workload.inputs)
        self._applies = applies
        self._atoms = atoms
        self._workload = workload
        self._tokens = Tokens(workload, atoms)
        self._chains = Chains(applies, inputs, atoms, impossible)
        self._outputs = [s for s in applies if s.apply.destination.buffer == workload.output.name]
        self._coverage = Coverage(self._outputs, self._chains, self._tokens, atoms)

    def goals(self) -> Iterator[Goal]:
        name = self._workload.output.name
        for site in self._outputs:

            def phantom(site: Site = site) -> Sequence[Query]:
                return [self._phantom(c) for c in self._chains.of_output(site, "e")]

            claim = f"a term of {name} that the workload does not have"
            yield self._goal(f"phantom {name} {place(site)}", "phantom", phantom, claim, 3, site)
        claim = f"a term reaches {name} twice"
        yield self._goal(f"exact_once {name}", "exact_once", self._exact_once, claim, 6)
        claim = f"a term of {name} that nothing computes"
        yield self._goal(f"coverage {name}", "coverage", self._coverage.coverage, claim, 2)
        claim = f"a cell of {name} that nothing assigns"
        yield self._goal(f"defined {name}", "defined", self._coverage.defined, claim, 2)

    def _goal(
        self,
        name: str,
        condition: str,
        build: Callable[[], Sequence[Query]],
        claim: str,
        weight: int,
        site: Site | None = None,
    ) -> Goal:
        span = self._workload.span if site is None else site.span
        read = _sources(self._applies, self._outputs if site is None else [site])
        named = () if site is None else (site.path,)
        kept = frozenset(s.path for s in read)
        reads = Reads(self._workload.output.name, named, kept, terms=True)
        return Goal(name, "K2", condition, build, claim, weight, span, reads)

    def _phantom(self, chain: Chain) -> Query:
        facts = chain_conditions(chain, self._atoms)
        token = self._tokens.of(chain)
        if token is None:
            return Query(tuple(facts), TRUE, (), _actors(chain))
        wrong = negated(conj((token.agrees, *self._tokens.in_range(token))))
        return Query(tuple(facts), wrong, _hints(chain, self._atoms), _actors(chain))

    def _exact_once(self) -> Sequence[Query]:
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
        for site in self._outputs:
            for chain in self._chains.of_output(site, f"{tag}{site.number}"):
                token = self._tokens.of(chain)
                if token is None:
                    continue
                runs = tuple(chain.steps[n].instance for n in _accumulating(chain))
                facts = chain_conditions(chain, self._atoms)
                numbers = tuple(r.site.number for r in runs)
                key = (numbers, token.product, token.output, token.reduction, chain.branches)
                flat = _parts(facts)
                if key in found:
                    flat = tuple(f for f in found[key].facts if f in set(flat))
                hints = _hints(chain, self._atoms)
                found[key] = Class(runs, token, flat, hints, chain)
        return list(found.values())

    def _twice(self, one: Class, two: Class) -> Query:
        pairs = zip(
            (*one.token.output, *one.token.reduction),
            (*two.token.output, *two.token.reduction),
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


def _sources(applies: Sequence[Site], outputs: Sequence[Site]) -> list[Site]:
    """The statements that a chain from ``outputs`` may go through."""
    found: dict[int, Site] = {}
    queue = list(outputs)
    while queue:
        site = queue.pop()
        if site.number in found:
            continue
        found[site.number] = site
        for access in accesses(site.apply.value):
            if access.buffer in site.homes:
                queue += writers(applies, site, access, ("=", "+=", "max="))
    return list(found.values())


def _accumulating(chain: Chain) -> list[int]:
    """The output step and the accumulations on the way: what can happen twice."""
    return [n for n, s in enumerate(chain.steps) if n == 0 or s.instance.site.apply.op != "="]


def _parts(formulas: Sequence[Formula]) -> tuple[Formula, ...]:
    whole = conj(formulas)
    return whole.parts if isinstance(whole, All) else (whole,)


def _hints(chain: Chain, atoms: Atoms) -> tuple[Poly, ...]:
    inputs = [p for _, c in factor_cells(chain, atoms) for p in c.index]
    return (*target(chain, atoms).index, *inputs)


def _actors(chain: Chain) -> tuple[Actor, ...]:
    roles = {"=": "write", "+=": "accumulate", "max=": "accumulate"}
    return tuple(
        Actor(s.instance, roles[s.instance.site.apply.op], s.instance.site.apply.destination.buffer)
        for s in chain.steps
    )
