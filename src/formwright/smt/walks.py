"""Finds the chains of a program: from a statement back through what it reads to the inputs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import Access, Index, Literal, Op, Read, Select, Value
from formwright.smt.atoms import Atoms
from formwright.smt.chains import Chain, Step, chain_conditions, way_to
from formwright.smt.encode import UnderivableError, number
from formwright.smt.forms import (
    INDEX,
    Factor,
    Form,
    Leaf,
    Term,
    factor_form,
    number_form,
    reciprocal,
    skeleton,
)
from formwright.smt.instances import fresh
from formwright.smt.lost import Lost, Possible
from formwright.smt.products import combined
from formwright.smt.sites import Site
from formwright.smt.targets import Stages
from formwright.smt.terms import Formula
from formwright.smt.writers import arbitrary, writers

CHAIN_LIMIT = 128
"""The most chains that one output statement may have."""

STEP_LIMIT = 128
"""The most statements that one chain may go through: squares of squares are 2^n factors."""

Place = tuple[Site, ...]
"""The statements that a way went through."""


class Chains:
    """Finds the chains of a program; they end at ``inputs`` and at buffers that keep ``stages``.

    ``partial``: stages that may have no value.
    ``impossible`` says that conditions were shown to contradict the premises: it cuts ways
    that come back to a statement and can't happen.
    """

    def __init__(
        self,
        applies: Sequence[Site],
        inputs: frozenset[str],
        stages: Stages,
        atoms: Atoms,
        impossible: Callable[[Sequence[Formula]], bool],
        partial: frozenset[str] = frozenset(),
    ) -> None:
        self._applies = applies
        self._inputs = inputs
        self._stages = stages
        self._atoms = atoms
        self._impossible = impossible
        self._partial = partial
        self._possible = Possible(self._sources, lambda b: stages.kept_by(b) in partial)

    def _sources(self, site: Site, access: Access) -> list[Site]:
        """The statements that a way goes on to from a read."""
        if access.buffer in self._inputs or self._stages.kept_by(access.buffer) is not None:
            return []
        return writers(self._applies, site, access, ("=", "+=", "max="))

    def of_sum(self, site: Site, tag: str) -> list[Chain]:
        """Every product that an assignment or accumulation of ``site`` brings to its cell."""
        if site.apply.op == "max=":
            raise UnderivableError("a running maximum is not a sum of terms", site.span)
        start = Chain((Step(fresh(site, tag, {}, 0)),))
        return _ranked(self._value(site.apply.value, start, 0, (site,), tag))

    def of_maximum(self, site: Site, tag: str) -> list[Chain]:
        """Every value that an assignment or a ``max=`` of ``site`` brings to its cell."""
        if site.apply.op == "+=":
            raise UnderivableError("a running sum is not a maximum of terms", site.span)
        start = Chain((Step(fresh(site, tag, {}, 0)),))
        return self._greatest(site.apply.value, start, 0, (site,), tag)

    # Sums: each way on is one more product.

    def _values(
        self, value: Value, at: list[Chain], step: int, path: Place, tag: str
    ) -> list[Chain]:
        found: list[Chain] = []
        for chain in at:
            found += self._value(value, chain, step, path, tag)
            _few(found, value.span)
        return found

    def _value(self, value: Value, chain: Chain, step: int, path: Place, tag: str) -> list[Chain]:
        plain = constant_of(value)
        if plain is not None:
            return [_times(chain, Term(plain))] if plain else []
        match value:
            case Read(access):
                return self._read(access, chain, step, path, tag)
            case Op("+" | "-" as name, (a, b)):
                left, right = _sides(chain, step)
                if name == "-":
                    right = _times(right, Term(Fraction(-1)))
                both = self._value(a, left, step, path, tag + "l")
                return both + self._value(b, right, step, path, tag + "r")
            case Op("neg", (a,)):
                return self._value(a, _times(chain, Term(Fraction(-1))), step, path, tag)
            case Op("*", (a, b)):
                _refuse_lost(a, b, self._inputs)
                found: list[Chain] = []
                for first in self._value(a, chain, step, path, tag + "l"):
                    wholes = self._value(b, first, step, path, tag + "r")
                    found += [self._noted(value, chain, first, w, step, path[-1]) for w in wholes]
                    _few(found, value.span)
                self._refuse_empty(value, found, path[-1])
                return found
            case Op("/", (a, b)):
                found = []
                for first in self._value(a, chain, step, path, tag + "l"):
                    for longer, form in self._forms(b, first, step, path, tag + "r"):
                        whole = _times(longer, reciprocal(form, value.span))
                        found.append(self._noted(value, chain, first, whole, step, path[-1]))
                self._refuse_empty(value, found, path[-1])
                return found
            case Select(cond, then, other):
                yes, no = _choices(chain, step, cond)
                both = self._value(then, yes, step, path, tag + "l")
                return both + self._value(other, no, step, path, tag + "r")
            case Op() | Index():
                pairs = self._forms(value, chain, step, path, tag)
                return [_times(longer, term) for longer, form in pairs for term in form]
            case Literal():
                raise AssertionError("a number is constant")
            case _:
                assert_never(value)

    def _refuse_empty(self, value: Op, found: Sequence[Chain], site: Site) -> None:
        """A product without terms is 0 only where all of it has a value."""
        if not found and self._possible.undefined(value, site):
            raise UnderivableError("0 times a function, which may have no value", value.span)

    def _noted(
        self, value: Op, start: Chain, first: Chain, whole: Chain, step: int, site: Site
    ) -> Chain:
        """``whole``, a product of what came with ``first`` and of the rest, with what is lost.

        Each side is computed where the other may be empty: with its own steps and selects.
        """
        left, right = value.args
        lost: list[Lost] = []
        over = Op("/", (Literal(Fraction(1)), right)) if value.name == "/" else right
        ends = (len(start.steps), len(first.steps), len(whole.steps))
        some = (len(start.selects), len(first.selects), len(whole.selects))
        for one, other, side in ((left, right, 0), (over, left, 1)):
            if self._possible.empty(other, site) and self._possible.undefined(one, site):
                steps = (*way_to(whole, step), *range(ends[side], ends[side + 1]))
                chosen = whole.selects[some[side] : some[side + 1]]
                lost.append(Lost(steps, (*start.selects, *chosen), self._partial))
        return replace(whole, lost=(*whole.lost, *lost)) if lost else whole

    def _read(self, access: Access, chain: Chain, step: int, path: Place, tag: str) -> list[Chain]:
        leaf = self._leaf(access, chain, step)
        if leaf is not None:
            return [_times(chain, Term(Fraction(1), (leaf,)))]
        found: list[Chain] = []
        for source, longer, name in self._ways(access, chain, step, path, tag):
            if source.apply.op == "max=":
                told = f"{access.buffer} is a running maximum in a sum: realise a stage with it"
                raise UnderivableError(told, source.span)
            place = len(chain.steps)
            found += self._value(source.apply.value, longer, place, (*path, source), name)
            _few(found, access.span)
        return found

    # Maxima: each way on is one more value that is compared.

    def _greatest(
        self, value: Value, chain: Chain, step: int, path: Place, tag: str
    ) -> list[Chain]:
        match value:
            case Op("max", (a, b)):
                both = self._greatest(a, chain, step, path, tag + "l")
                return both + self._greatest(b, chain, step, path, tag + "r")
            case Select(cond, then, other):
                yes, no = _choices(chain, step, cond)
                both = self._greatest(then, yes, step, path, tag + "l")
                return both + self._greatest(other, no, step, path, tag + "r")
            case Read(access) if self._leaf(access, chain, step) is None:
                found: list[Chain] = []
                for source, longer, name in self._ways(access, chain, step, path, tag):
                    if source.apply.op == "+=":
                        told = f"{access.buffer} is a sum in a maximum: realise a stage with it"
                        raise UnderivableError(told, source.span)
                    place, through = len(chain.steps), (*path, source)
                    found += self._greatest(source.apply.value, longer, place, through, name)
                    _few(found, access.span)
                return found
            case _:
                pairs = self._forms(value, chain, step, path, tag)
                return [replace(longer, value=form) for longer, form in pairs]

    # Values inside a function: whole, and with one way for each choice of writers.

    def _forms(
        self, value: Value, chain: Chain, step: int, path: Place, tag: str
    ) -> list[tuple[Chain, Form]]:
        plain = constant_of(value)
        if plain is not None:
            return [(chain, number_form(plain))]
        match value:
            case Read(access):
                return self._copied(access, chain, step, path, tag)
            case Index(expr):
                known = number(expr, chain.steps[step].instance.env, self._atoms).constant()
                if known is not None:
                    return [(chain, number_form(Fraction(known)))]
                return [(chain, factor_form(Leaf(INDEX, step, None, expr)))]
            case Select(cond, then, other):
                yes, no = _choices(chain, step, cond)
                both = self._forms(then, yes, step, path, tag + "l")
                return both + self._forms(other, no, step, path, tag + "r")
            case Op(name, (a,)):
                pairs = self._forms(a, chain, step, path, tag)
                return [(longer, combined(name, [form], value)) for longer, form in pairs]
            case Op(name, (a, b)):
                found: list[tuple[Chain, Form]] = []
                for first, left in self._forms(a, chain, step, path, tag + "l"):
                    for second, right in self._forms(b, first, step, path, tag + "r"):
                        found.append((second, combined(name, [left, right], value)))
                    _few(found, value.span)
                return found
            case Op(name):
                raise UnderivableError(f'terms through "{name}" are not derived yet', value.span)
            case Literal():
                raise AssertionError("a number is constant")
            case _:
                assert_never(value)

    def _copied(
        self, access: Access, chain: Chain, step: int, path: Place, tag: str
    ) -> list[tuple[Chain, Form]]:
        leaf = self._leaf(access, chain, step)
        if leaf is not None:
            return [(chain, factor_form(leaf))]
        found: list[tuple[Chain, Form]] = []
        for source, longer, name in self._ways(access, chain, step, path, tag):
            if source.apply.op != "=":
                told = f"{access.buffer} is accumulated and read inside a function"
                raise UnderivableError(f"{told}: realise a stage with it", source.span)
            place = len(chain.steps)
            found += self._forms(source.apply.value, longer, place, (*path, source), name)
            _few(found, access.span)
        return found

    def _leaf(self, access: Access, chain: Chain, step: int) -> Leaf | None:
        """Where a way ends: a cell of an input, or of a buffer that keeps a stage."""
        if access.buffer in self._inputs:
            return Leaf(access.buffer, step, access)
        stage = self._stages.kept_by(access.buffer)
        return None if stage is None else Leaf(stage, step, access)

    def _ways(
        self, access: Access, chain: Chain, step: int, path: Place, tag: str
    ) -> Iterator[tuple[Site, Chain, str]]:
        """The statements that may have written what is read; each is one step more."""
        if len(chain.steps) >= STEP_LIMIT:
            raise UnderivableError(
                f"a chain through more than {STEP_LIMIT} statements", access.span
            )
        reader = chain.steps[step].instance
        sources = writers(self._applies, reader.site, access, ("=", "+=", "max="))
        if len({s.apply.op for s in sources} & {"+=", "max="}) == 2:
            told = f"{access.buffer} is a sum and a maximum"
            raise UnderivableError(told, access.span)
        for number_, source in enumerate(sources):
            name = f"{tag}.{number_}"
            run = arbitrary(source, reader, access, name, self._atoms).instance
            longer = replace(chain, steps=(*chain.steps, Step(run, step, access)))
            if source in path:
                if self._impossible(chain_conditions(longer, self._atoms)):
                    continue
                raise UnderivableError("terms that come back to their own buffer", access.span)
            yield source, longer, name


def _ranked(chains: Sequence[Chain]) -> list[Chain]:
    """Each chain with the number of its branches among those with the same product."""
    seen: dict[str, list[object]] = {}
    found: list[Chain] = []
    for chain in chains:
        branches = seen.setdefault(skeleton(chain.form), [])
        if chain.branches not in branches:
            branches.append(chain.branches)
        found.append(replace(chain, rank=branches.index(chain.branches)))
    return found


def constant_of(value: Value) -> Fraction | None:
    """The number that a value is, if it reads nothing: ``1 - 1`` is no term."""
    match value:
        case Literal(number_):
            return number_
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


def _refuse_lost(left: Value, right: Value, inputs: frozenset[str]) -> None:
    """0 times a function is no term, but it may have no value either."""
    for zero, other in ((left, right), (right, left)):
        if constant_of(zero) == 0 and not _is_plain(other, inputs):
            raise UnderivableError("0 times a function, which may have no value", other.span)


def _is_plain(value: Value, inputs: frozenset[str]) -> bool:
    """Sums and products of inputs have a value; what a buffer holds may be a function."""
    match value:
        case Op("+" | "-" | "*" | "neg", args):
            return all(_is_plain(a, inputs) for a in args)
        case Select(_, then, other):
            return _is_plain(then, inputs) and _is_plain(other, inputs)
        case Read(access):
            return access.buffer in inputs
        case Op():
            return False
        case _:
            return True


def _times(chain: Chain, term: Term) -> Chain:
    factors: tuple[Factor, ...] = (*chain.factors, *term.factors)
    return replace(chain, factors=factors, coefficient=chain.coefficient * term.coefficient)


def _few(found: Sequence[object], span: Span | None) -> None:
    if len(found) > CHAIN_LIMIT:
        raise UnderivableError(f"more than {CHAIN_LIMIT} chains", span)


def _sides(chain: Chain, step: int) -> tuple[Chain, Chain]:
    left = replace(chain, branches=(*chain.branches, (step, "left")))
    return left, replace(chain, branches=(*chain.branches, (step, "right")))


def _choices(chain: Chain, step: int, cond: Expr) -> tuple[Chain, Chain]:
    yes = replace(chain, selects=(*chain.selects, (step, cond, True)))
    return yes, replace(chain, selects=(*chain.selects, (step, cond, False)))
