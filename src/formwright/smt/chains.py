"""Chains: how a term of an output cell comes from the inputs, in the textual order.

A read of storage is the sum of what its writers wrote (rule P3 and the theorem of
``docs/program-rules.md``): each writer is one way on. A chain is one choice of ways, from an
assignment or accumulation of the output to a product of input cells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from formwright.ir.expr import Expr
from formwright.ir.program import Access, Index, Literal, Op, Read, Select, Value
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, truth
from formwright.smt.instances import (
    Cell,
    Instance,
    cell,
    fresh,
    guards,
    same_generation,
    same_index,
    team_names,
)
from formwright.smt.sites import Site
from formwright.smt.terms import Formula, Poly, conj, negated
from formwright.smt.writers import arbitrary, manned, owner_range, writers

CHAIN_LIMIT = 128
"""The most chains that one output statement may have."""


@dataclass(frozen=True, slots=True)
class Step:
    """A run of the chain; ``reader`` is the number of the step that reads ``access`` of it."""

    instance: Instance
    reader: int | None = None
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """``factors`` are input cells with the step that reads them.

    ``branches`` are the sides of sums that were taken: two sides are two terms even when the
    same runs compute them.
    """

    steps: tuple[Step, ...]
    factors: tuple[tuple[int, Access], ...] = ()
    selects: tuple[tuple[int, Expr, bool], ...] = ()
    coefficient: Fraction = Fraction(1)
    branches: tuple[tuple[int, str], ...] = ()

    def substituted(self, values: Mapping[str, Poly]) -> "Chain":
        def put(run: Instance) -> Instance:
            return Instance(run.site, {n: p.substituted(values) for n, p in run.env.items()})

        return replace(self, steps=tuple(replace(s, instance=put(s.instance)) for s in self.steps))

    def open_symbols(self) -> list[str]:
        """What no equation fixed, outermost first; owners are not among them."""
        owners = {n for s in self.steps for n in _owner_symbols(s.instance)}
        found: dict[str, None] = {}
        for step in self.steps:
            for frame in step.instance.site.frames:
                for name in frame.binds():
                    mine = sorted(n for n in step.instance.env[name].symbols() if "@" in n)
                    found.update(dict.fromkeys(n for n in mine if n not in owners))
        return list(found)


def _owner_symbols(run: Instance) -> Iterator[str]:
    for name in team_names(run.site):
        yield from run.env[name].symbols()


class Chains:
    """Finds the chains of a program; ``inputs`` are the tensors where they end.

    ``impossible`` says that conditions were shown to contradict the premises: it cuts ways
    that come back to a statement and can't happen.
    """

    def __init__(
        self,
        applies: Sequence[Site],
        inputs: frozenset[str],
        atoms: Atoms,
        impossible: Callable[[Sequence[Formula]], bool],
    ) -> None:
        self._applies = applies
        self._inputs = inputs
        self._atoms = atoms
        self._impossible = impossible

    def of_output(self, site: Site, tag: str) -> list[Chain]:
        """Every chain that ends in an assignment or accumulation of ``site``."""
        if site.apply.op == "max=":
            raise UnderivableError("max= into the output is not a sum of terms", site.span)
        start = Chain((Step(fresh(site, tag, {}, 0)),))
        return self._values(site.apply.value, [(start, 0)], (site,), tag)

    def _values(
        self, value: Value, at: list[tuple[Chain, int]], path: tuple[Site, ...], tag: str
    ) -> list[Chain]:
        found: list[Chain] = []
        for chain, step in at:
            found += self._value(value, chain, step, path, tag)
            if len(found) > CHAIN_LIMIT:
                raise UnderivableError(f"more than {CHAIN_LIMIT} chains", value.span)
        return found

    def _value(
        self, value: Value, chain: Chain, step: int, path: tuple[Site, ...], tag: str
    ) -> list[Chain]:
        plain = constant_of(value)
        if plain is not None:
            done = replace(chain, coefficient=chain.coefficient * plain)
            return [done] if plain else []
        match value:
            case Read(access):
                return self._read(access, chain, step, path, tag)
            case Op("+", (a, b)):
                left, right = _sides(chain, step)
                both = self._value(a, left, step, path, tag + "l")
                return both + self._value(b, right, step, path, tag + "r")
            case Op("-", (a, b)):
                left, right = _sides(chain, step)
                minus = replace(right, coefficient=-right.coefficient)
                both = self._value(a, left, step, path, tag + "l")
                return both + self._value(b, minus, step, path, tag + "r")
            case Op("neg", (a,)):
                minus = replace(chain, coefficient=-chain.coefficient)
                return self._value(a, minus, step, path, tag)
            case Op("*", (a, b)):
                firsts = self._value(a, chain, step, path, tag + "l")
                return self._values(b, [(c, step) for c in firsts], path, tag + "r")
            case Select(cond, then, other):
                yes = replace(chain, selects=(*chain.selects, (step, cond, True)))
                no = replace(chain, selects=(*chain.selects, (step, cond, False)))
                both = self._value(then, yes, step, path, tag + "l")
                return both + self._value(other, no, step, path, tag + "r")
            case Literal() | Op():
                name = value.name if isinstance(value, Op) else "a number"
                raise UnderivableError(f'terms through "{name}" are not derived yet', value.span)
            case Index():
                raise UnderivableError("an index as a value is no term", value.span)
            case _:
                assert_never(value)

    def _read(
        self, access: Access, chain: Chain, step: int, path: tuple[Site, ...], tag: str
    ) -> list[Chain]:
        if access.buffer in self._inputs:
            return [replace(chain, factors=(*chain.factors, (step, access)))]
        found: list[Chain] = []
        reader = chain.steps[step].instance
        sources = writers(self._applies, reader.site, access, ("=", "+=", "max="))
        for number, source in enumerate(sources):
            if source.apply.op == "max=":
                raise UnderivableError("a running maximum is not a sum of terms", source.span)
            name = f"{tag}.{number}"
            run = arbitrary(source, reader, access, name, self._atoms).instance
            longer = replace(chain, steps=(*chain.steps, Step(run, step, access)))
            place = len(chain.steps)
            if source in path:
                if self._impossible(chain_conditions(longer, self._atoms)):
                    continue
                raise UnderivableError("terms that come back to their own buffer", access.span)
            found += self._value(source.apply.value, longer, place, (*path, source), name)
            if len(found) > CHAIN_LIMIT:
                raise UnderivableError(f"more than {CHAIN_LIMIT} chains", access.span)
        return found


def constant_of(value: Value) -> Fraction | None:
    """The number that a value is, if it reads nothing: ``1 - 1`` is no term."""
    match value:
        case Literal(number):
            return number
        case Op("neg", (a,)):
            inner = constant_of(a)
            return None if inner is None else -inner
        case Op("+" | "-" | "*" as name, (a, b)):
            left, right = constant_of(a), constant_of(b)
            if left is None or right is None:
                return None
            if name == "*":
                return left * right
            return left + right if name == "+" else left - right
        case _:
            return None


def _sides(chain: Chain, step: int) -> tuple[Chain, Chain]:
    left = replace(chain, branches=(*chain.branches, (step, "left")))
    return left, replace(chain, branches=(*chain.branches, (step, "right")))


def target(chain: Chain, atoms: Atoms) -> Cell:
    """The output cell of a chain."""
    run = chain.steps[0].instance
    return cell(run, run.site.apply.destination, atoms)


def factor_cells(chain: Chain, atoms: Atoms) -> list[tuple[str, Cell]]:
    """The input cells of a chain, by tensor."""
    return [(a.buffer, cell(chain.steps[n].instance, a, atoms)) for n, a in chain.factors]


def step_conditions(chain: Chain, number: int, atoms: Atoms) -> tuple[Formula, list[Formula]]:
    """What makes step ``number`` happen, and what is known of who owns it."""
    step = chain.steps[number]
    run, team = step.instance, step.instance.site.team
    destination = run.site.apply.destination
    made = cell(run, destination, atoms)
    found = [made.inside] if destination.clip else []
    owner: list[Formula] = []
    if team is None:
        found += guards(run, atoms)
    else:
        owner = owner_range(run, atoms)
        found += guards(run, atoms, 0, team) + guards(run, atoms, team + 1, roles=False)
        found += manned(run, atoms)
    if step.reader is not None and step.access is not None:
        wanted = cell(chain.steps[step.reader].instance, step.access, atoms)
        found += [same_generation(made, wanted), same_index(made, wanted)]
    for at, cond, polarity in chain.selects:
        if at == number:
            holds = truth(cond, run.env, atoms)
            found.append(holds if polarity else negated(holds))
    return conj(found), owner


def read_conditions(chain: Chain, atoms: Atoms) -> list[Formula]:
    """Clipped reads of a chain are inside: outside they give 0 and the term vanishes."""
    cells = factor_cells(chain, atoms)
    return [c.inside for (_, c), (_, a) in zip(cells, chain.factors, strict=True) if a.clip]


def chain_conditions(chain: Chain, atoms: Atoms) -> list[Formula]:
    """Everything that makes a chain happen, owners included."""
    parts = [step_conditions(chain, n, atoms) for n in range(len(chain.steps))]
    facts = [f for valid, owner in parts for f in (valid, *owner)]
    return facts + read_conditions(chain, atoms)
