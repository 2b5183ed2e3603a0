"""Where in a line of the workload a chain belongs: its cell and its reduction index."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from formwright.ir.expr import Var
from formwright.smt.atoms import Atoms
from formwright.smt.chains import Chain, accumulating, leaf_places
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.forms import Leaf, leaves, skeleton
from formwright.smt.lost import Lost
from formwright.smt.products import Product, products
from formwright.smt.targets import Stages, Target, ranges
from formwright.smt.terms import (
    ONE,
    ZERO,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    negated,
    symbol,
)
from formwright.smt.witness import eliminate

Extents = Mapping[str, Sequence[str]]
"""Extents of inputs and stages by name."""


@dataclass(frozen=True, slots=True)
class Token:
    """The place of a term in the line: product, cell of its storage and reduction indices.

    ``product`` is the number of the product among those of the line, ``place`` the indices of
    the line for the cell. ``agrees``: the chain reads the cells that the line reads there.
    """

    product: int
    cell: tuple[Poly, ...]
    place: tuple[Poly, ...]
    reduction: tuple[Poly, ...]
    agrees: Formula


class Tokens:
    """Reads chains against one line. ``rough``: stages whose values may be no numbers."""

    def __init__(
        self,
        target: Target,
        stages: Stages,
        extents: Extents,
        rough: frozenset[str],
        atoms: Atoms,
    ) -> None:
        self._target = target
        self._line = target.line
        self._stages = stages
        self._extents = extents
        self._rough = rough
        self._atoms = atoms

    @cached_property
    def products(self) -> list[Product]:
        """The products of the line; raises on a line that is no sum of products."""
        return products(self._line)

    def of(self, chain: Chain, among: Sequence[Chain] = ()) -> Token | None:
        """Where the line has this product; ``None`` if it has none such.

        ``among``: the chains of the same statement. Where no cell fixes a reduction index, as
        in the middle of ``(x - mean)*(x - mean)``, it is that of a term which the same
        accumulations bring: any index will do that no other chain takes too.
        """
        matching = self._matching(chain)
        if not matching:
            return None
        if any(self.products[n] != self.products[matching[0]] for n in matching):
            told = "a workload with two products of the same cells"
            raise UnderivableError(told, self._line.span)
        # One of several that are the same: any choice will do, if no two chains make it.
        product = matching[chain.rank % len(matching)]
        token = self._token(product, chain, None)
        if token is None:
            lent = self._lent(chain, among)
            token = None if lent is None else self._token(product, chain, lent)
        if token is None:
            raise UnderivableError("a reduction index that no input fixes", self._line.span)
        return token

    def _lent(self, chain: Chain, among: Sequence[Chain]) -> tuple[Poly, ...] | None:
        """The reduction indices of another term of the same accumulations."""
        mine = [chain.steps[n].instance for n in accumulating(chain)]
        known = self._runs_of(p for run in mine for p in run.env.values())
        for other in among:
            if [other.steps[n].instance for n in accumulating(other)] != mine:
                continue
            for product in self._matching(other):
                token = self._token(product, other, None)
                if token is not None and self._runs_of(token.reduction) <= known:
                    return token.reduction
        return None

    def _runs_of(self, polys: Iterable[Poly]) -> frozenset[str]:
        """The names of runs that ``polys`` depend on."""
        names = self._atoms.closure({s for p in polys for s in p.symbols()})
        return frozenset(n for n in names if "@" in n and n not in self._atoms.by_name)

    def named_cells(self, chain: Chain) -> list[Formula]:
        """Cells of stages with functions that the chain reads are cells of the stages.

        What stands for none may be no number, and does not vanish with a clipped factor.
        """
        found: list[Formula] = []
        places = leaf_places(chain, self._stages, self._atoms)
        for leaf, place in zip(leaves(chain.form), places, strict=True):
            if leaf.name in self._rough:
                found += ranges(place, [symbol(e) for e in self._extents[leaf.name]])
        return found

    def within(self, chain: Chain) -> Formula:
        """Some choice of indices has this value in the line: enough for a maximum."""
        lengths = self.lengths()
        ends = ([ZERO for _ in lengths], [length - ONE for length in lengths])
        found: list[Formula] = []
        for product in self._matching(chain):
            for free in ends:
                token = self._token(product, chain, free)
                if token is not None:
                    found.append(conj((token.agrees, *self.in_range(token))))
        return disj(found)

    def somewhere(self, chain: Chain, lost: Lost) -> Formula:
        """The line has a term at this place with the quotients and roots that are not lost."""
        have = leaf_places(chain, self._stages, self._atoms)
        wanted = [(n, have[n]) for n, _ in lost.leaves(chain.form)]
        place = self._target.place(chain.steps[0].instance)
        unknown = [f"{n}@token" for n, _ in self._line.reductions]
        env = self._env(place, [symbol(u) for u in unknown])
        lengths = self.lengths()
        found: list[Formula] = []
        for product in self._matching(chain):
            leaf = self.leaf_values(product, env)
            equations = [w - h for n, at in wanted for w, h in zip(leaf[n], at, strict=True)]
            solved, rest = eliminate(equations, unknown, self._atoms)
            for ends in ([ZERO for _ in lengths], [length - ONE for length in lengths]):
                chosen = {u: end for u, end in zip(unknown, ends, strict=True) if u not in solved}
                known = {n: p.substituted(chosen) for n, p in solved.items()} | chosen
                reduction = tuple(known[u] for u in unknown)
                same = [eq(r.substituted(chosen), ZERO) for r in rest]
                masks = self.masks(product, place, reduction)
                there = [*self._target.in_range(place), *ranges(reduction, lengths)]
                readable = self.readable(product, place, reduction)
                found.append(conj((*same, *masks, *there, *readable)))
        return disj(found)

    def _matching(self, chain: Chain) -> list[int]:
        mine = skeleton(chain.form)
        return [n for n, p in enumerate(self.products) if skeleton(p.form) == mine]

    def _token(self, product: int, chain: Chain, free: Sequence[Poly] | None) -> Token | None:
        """``free``: a value for each reduction index, where the cells do not fix it."""
        run = chain.steps[0].instance
        place = self._target.place(run)
        names = [n for n, _ in self._line.reductions]
        unknown = [f"{n}@token" for n in names]
        env = dict(zip(self._line.indices, place, strict=True))
        env.update({n: symbol(f"{n}@token") for n in names})
        pairs = zip(
            self.leaf_values(product, env),
            leaf_places(chain, self._stages, self._atoms),
            strict=True,
        )
        equations = [w - h for wanted, have in pairs for w, h in zip(wanted, have, strict=True)]
        solved, rest = eliminate(equations, unknown, self._atoms)
        left = [(i, u) for i, u in enumerate(unknown) if u not in solved]
        if left and free is None:
            return None
        chosen = {} if free is None else {u: free[i] for i, u in left}
        solved = {n: p.substituted(chosen) for n, p in solved.items()} | chosen
        rest = [r.substituted(chosen) for r in rest]
        reduction = tuple(solved[u] for u in unknown)
        masks = self.masks(product, place, reduction)
        readable = self.readable(product, place, reduction)
        agrees = conj((*(eq(r, ZERO) for r in rest), *masks, *readable))
        return Token(product, self._target.cell(run), place, reduction, agrees)

    def leaf_values(self, product: int, env: Mapping[str, Poly]) -> list[tuple[Poly, ...]]:
        """The indices of every leaf of a product, in the order that equal skeletons share."""
        return [self._leaf(leaf, env) for leaf in leaves(self.products[product].form)]

    def _leaf(self, leaf: Leaf, env: Mapping[str, Poly]) -> tuple[Poly, ...]:
        if leaf.value is not None:
            return (number(leaf.value, env, self._atoms),)
        assert leaf.access is not None
        return tuple(number(i, env, self._atoms) for i in leaf.access.index)

    def masks(
        self, product: int, place: Sequence[Poly], reduction: Sequence[Poly]
    ) -> list[Formula]:
        """What makes the line have a product at this place."""
        env = self._env(place, reduction)
        found = [(truth(c, env, self._atoms), side) for c, side in self.products[product].when]
        return [held if side else negated(held) for held, side in found]

    def readable(
        self, product: int, place: Sequence[Poly], reduction: Sequence[Poly]
    ) -> list[Formula]:
        """Cells that the line names by expressions are there: plain indices always are."""
        env = self._env(place, reduction)
        found: list[Formula] = []
        for leaf in leaves(self.products[product].form):
            access = leaf.access
            if access is None or all(isinstance(i, Var) for i in access.index):
                continue
            extents = [symbol(e) for e in self._extents[leaf.name]]
            found += ranges(self._leaf(leaf, env), extents)
        return found

    def _env(self, place: Sequence[Poly], reduction: Sequence[Poly]) -> dict[str, Poly]:
        return dict(zip(self.names(), (*place, *reduction), strict=True))

    def named(self, token: Token) -> tuple[tuple[str, Poly], ...]:
        return tuple(zip(self.names(), (*token.place, *token.reduction), strict=True))

    def arbitrary_reduction(self) -> tuple[list[Formula], tuple[Poly, ...]]:
        """Any reduction index, with its range."""
        reduction = tuple(symbol(f"{n}@cell") for n, _ in self._line.reductions)
        return ranges(reduction, self.lengths()), reduction

    def names(self) -> tuple[str, ...]:
        """The indices of the line, then those of the reductions."""
        return (*self._line.indices, *(n for n, _ in self._line.reductions))

    def lengths(self) -> list[Poly]:
        return [symbol(extent) for _, extent in self._line.reductions]

    def in_range(self, token: Token) -> list[Formula]:
        """The place of the token is within the extents."""
        return self._target.in_range(token.place) + ranges(token.reduction, self.lengths())
