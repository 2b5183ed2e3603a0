"""Where in the workload a chain belongs: its output cell and its reduction index."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from formwright.ir.expr import Expr
from formwright.ir.program import Index, Literal, Op, Read, Select, Value
from formwright.ir.template import Workload
from formwright.smt.atoms import Atoms
from formwright.smt.chains import Chain, factor_cells, target
from formwright.smt.encode import UnderivableError, number, truth
from formwright.smt.terms import ZERO, Formula, Poly, conj, eq, le, lt, negated, symbol
from formwright.smt.witness import eliminate


@dataclass(frozen=True, slots=True)
class Product:
    """One product of the workload: a coefficient and input cells by index expressions.

    ``when``: the conditions of the selects around it, with the side that it stands on.
    """

    coefficient: Fraction
    factors: tuple[tuple[str, tuple[Expr, ...]], ...]
    when: tuple[tuple[Expr, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """The place of a term in the workload: product, output cell and reduction indices.

    ``product`` is the number of the product among those of the workload. ``agrees``: the
    chain reads the cells that the workload reads there.
    """

    product: int
    output: tuple[Poly, ...]
    reduction: tuple[Poly, ...]
    agrees: Formula


class Tokens:
    """Reads chains against one workload."""

    def __init__(self, workload: Workload, atoms: Atoms) -> None:
        self._workload = workload
        self._atoms = atoms

    @cached_property
    def products(self) -> list[Product]:
        """The products of the workload; raises on a workload that is no sum of products."""
        return products(self._workload.value)

    def of(self, chain: Chain) -> Token | None:
        """Where the workload has this product of inputs; ``None`` if it has none such."""
        cells = factor_cells(chain, self._atoms)
        matching = [
            n
            for n, p in enumerate(self.products)
            if sorted(n for n, _ in p.factors) == sorted(n for n, _ in cells)
        ]
        if not matching:
            return None
        product = self.products[matching[0]]
        if product.coefficient != chain.coefficient:
            return None
        names = [n for n, _ in cells]
        if len(matching) > 1 or len(set(names)) < len(names):
            raise UnderivableError("a workload that reads one input twice", self._workload.span)
        output = target(chain, self._atoms).index
        env = dict(zip(self._workload.indices, output, strict=True))
        unknown = [f"{n}@token" for n, _ in self._workload.reductions]
        env.update({n: symbol(f"{n}@token") for n, _ in self._workload.reductions})
        wanted = dict(product.factors)
        pairs = [
            (number(w, env, self._atoms), have)
            for name, c in cells
            for w, have in zip(wanted[name], c.index, strict=True)
        ]
        solved, rest = eliminate([w - h for w, h in pairs], unknown, self._atoms)
        if len(solved) < len(unknown):
            raise UnderivableError("a reduction index that no input fixes", self._workload.span)
        reduction = tuple(solved[u] for u in unknown)
        masks = self.masks(matching[0], output, reduction)
        agrees = conj((*(eq(r, ZERO) for r in rest), *masks))
        return Token(matching[0], output, reduction, agrees)

    def masks(
        self, product: int, output: Sequence[Poly], reduction: Sequence[Poly]
    ) -> list[Formula]:
        """What makes the workload have a product at this place."""
        env = dict(zip(self.names(), (*output, *reduction), strict=True))
        found = [(truth(c, env, self._atoms), side) for c, side in self.products[product].when]
        return [held if side else negated(held) for held, side in found]

    def named(self, token: Token) -> tuple[tuple[str, Poly], ...]:
        return tuple(zip(self.names(), (*token.output, *token.reduction), strict=True))

    def arbitrary(self) -> tuple[list[Formula], tuple[Poly, ...], tuple[Poly, ...]]:
        """An arbitrary output cell and reduction index, with their ranges."""
        output = tuple(symbol(f"{n}@cell") for n in self._workload.indices)
        reduction = tuple(symbol(f"{n}@cell") for n, _ in self._workload.reductions)
        facts = _ranges(output, self.extents()) + _ranges(reduction, self.lengths())
        return facts, output, reduction

    def names(self) -> tuple[str, ...]:
        """The indices of the output, then those of the reductions."""
        return (*self._workload.indices, *(n for n, _ in self._workload.reductions))

    def extents(self) -> list[Poly]:
        return [symbol(e) for e in self._workload.output.extents]

    def lengths(self) -> list[Poly]:
        return [symbol(extent) for _, extent in self._workload.reductions]

    def in_range(self, token: Token) -> list[Formula]:
        """The place of the token is within the extents."""
        return _ranges(token.output, self.extents()) + _ranges(token.reduction, self.lengths())


def _ranges(indices: Sequence[Poly], extents: Sequence[Poly]) -> list[Formula]:
    found: list[Formula] = []
    for index, extent in zip(indices, extents, strict=True):
        found += [le(ZERO, index), lt(index, extent)]
    return found


def products(value: Value) -> list[Product]:
    """A value as a sum of products of input cells; raises on what is not one."""
    match value:
        case Literal(coefficient):
            return [Product(coefficient, ())] if coefficient else []
        case Read(access):
            return [Product(Fraction(1), ((access.buffer, access.index),))]
        case Op("+", (a, b)):
            return products(a) + products(b)
        case Op("-", (a, b)):
            return products(a) + [_scaled(p, -1) for p in products(b)]
        case Op("neg", (a,)):
            return [_scaled(p, -1) for p in products(a)]
        case Op("*", (a, b)):
            return [
                Product(p.coefficient * q.coefficient, p.factors + q.factors, p.when + q.when)
                for p in products(a)
                for q in products(b)
            ]
        case Select(cond, a, b):
            yes = [replace(p, when=((cond, True), *p.when)) for p in products(a)]
            return yes + [replace(p, when=((cond, False), *p.when)) for p in products(b)]
        case Op() | Index():
            raise UnderivableError("a workload that is no sum of products", value.span)


def _scaled(product: Product, factor: int) -> Product:
    return replace(product, coefficient=product.coefficient * factor)
