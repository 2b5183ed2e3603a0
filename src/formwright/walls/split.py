"""A formulation cut in two: columns that no chip changes, and a remainder over them and the chip.

An *atom* is a largest part of a condition or a cost that reads decisions and no field of the chip.
Sums, products and extrema are sorted first, so that what belongs to one side is one atom:
``4*chip.array*Tm*Tn`` has the atom ``Tm*Tn``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

from formwright.ir.expr import (
    ONE,
    Arith,
    Compare,
    Cond,
    Expr,
    MinMax,
    Neg,
    Num,
    Sum,
    Truth,
    Var,
    num,
)
from formwright.ir.fold import folded
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import free_names, interned, map_children, substitute

LONGEST = 256
"""Terms of a sum over the chip that are written out."""


@dataclass(slots=True)
class Splitter:
    """``fields``: names that stay (of the chip); ``ranges``: bounds of every name.

    Equal atoms get one name, ``$0``, ``$1``, …: names that no text can have.
    """

    fields: frozenset[str]
    ranges: Mapping[str, Interval]
    atoms: dict[Expr, str] = field(default_factory=dict)
    _known: dict[Expr, Expr] = field(default_factory=dict)

    def remainder(self, expr: Expr) -> Expr:
        """``expr`` with atoms in their places. Constants must have been put in before."""
        return interned(self._rest(folded(expr)), self._known)

    def _reads_chip(self, expr: Expr) -> bool:
        return bool(free_names(expr) & self.fields)

    def _atom(self, expr: Expr) -> Expr:
        """``expr``, which reads no chip, behind a name; its rational factor stays outside."""
        factor, inner = _scaled(expr)
        if isinstance(inner, Num | Truth):
            return expr
        name = self.atoms.setdefault(inner, f"${len(self.atoms)}")
        return Var(name) if factor == 1 else Arith("*", num(factor), Var(name))

    def _rest(self, expr: Expr) -> Expr:
        if not self._reads_chip(expr):
            return expr if not free_names(expr) else self._atom(expr)
        match expr:
            case Arith("+" | "-", _, _) | Neg():
                return self._sum(expr)
            case Arith("*" | "/", _, _):
                return self._product(expr)
            case MinMax(op, _):
                return self._extremum(op, expr)
            case Sum():
                return self._rest(_written_out(expr))
            case _:
                return map_children(expr, self._rest)

    def _sum(self, expr: Expr) -> Expr:
        terms = _terms(expr, 1)
        free = [(s, t) for s, t in terms if not self._reads_chip(t)]
        mixed = [(s, t) for s, t in terms if self._reads_chip(t)]
        parts = [(s, self._rest(t)) for s, t in mixed]
        return _added([*([(1, self._rest(folded(_added(free))))] if free else []), *parts])

    def _product(self, expr: Expr) -> Expr:
        above, below = self._cancelled(*self._factors(expr))
        free = _quotient(
            [e for e in above if not self._reads_chip(e)],
            [e for e in below if not self._reads_chip(e)],
        )
        own = [self._rest(e) for e in above if self._reads_chip(e)]
        under = [self._rest(e) for e in below if self._reads_chip(e)]
        first = [] if folded(free) == ONE else [self._rest(folded(free))]
        return _quotient([*first, *own], under)

    def _factors(self, expr: Expr) -> tuple[list[Expr], list[Expr]]:
        """Factors above and below the line. A divisor is opened where all of it is positive."""
        match expr:
            case Arith("*", left, right):
                one, other = self._factors(left), self._factors(right)
                return one[0] + other[0], one[1] + other[1]
            case Arith("/", left, right):
                one, other = self._factors(left), self._factors(right)
                if all(self._positive(e) for e in (*other[0], *other[1])):
                    return one[0] + other[1], one[1] + other[0]
                return one[0], [*one[1], right]
            case Neg(arg):
                above, below = self._factors(arg)
                return [num(-1), *above], below
            case _:
                return [expr], []

    def _cancelled(self, above: list[Expr], below: list[Expr]) -> tuple[list[Expr], list[Expr]]:
        """Without positive factors that stand on both sides."""
        left, kept = list(above), []
        for divisor in below:
            if divisor in left and self._positive(divisor):
                left.remove(divisor)
            else:
                kept.append(divisor)
        return left, kept

    def _positive(self, expr: Expr) -> bool:
        return bounds(expr, self.ranges).lo > 0

    def _extremum(self, op: Literal["min", "max"], expr: Expr) -> Expr:
        args = _arguments(op, expr)
        free = [a for a in args if not self._reads_chip(a)]
        mixed = [self._rest(a) for a in args if self._reads_chip(a)]
        if not free:
            return MinMax(op, tuple(mixed))
        first = self._rest(folded(free[0] if len(free) == 1 else MinMax(op, tuple(free))))
        return MinMax(op, (first, *mixed))


def _scaled(expr: Expr) -> tuple[Fraction, Expr]:
    """A positive rational factor of a product or quotient, and what is left of it."""
    match expr:
        case Arith("*", Num(value), other) | Arith("*", other, Num(value)) if value > 0:
            factor, inner = _scaled(other)
            return factor * value, inner
        case Arith("/", left, Num(value)) if value > 0:
            factor, inner = _scaled(left)
            return factor / value, inner
        case Arith("*" | "/" as op, left, right):
            factor, inner = _scaled(left)
            return factor, Arith(op, inner, right)
        case Arith("+" | "-", _, _):
            return _common_factor(expr)
        case MinMax(op, args):
            parts = [_scaled_term(a) for a in args]
            common = _content([f for f, _ in parts])
            return common, MinMax(op, tuple(_times(f / common, e) for f, e in parts))
        case Cond(cond, then, other):
            parts = [_scaled_term(then), _scaled_term(other)]
            common = _content([f for f, _ in parts])
            left, right = (_times(f / common, e) for f, e in parts)
            return common, Cond(cond, left, right)
        case _:
            return Fraction(1), expr


def _common_factor(total: Expr) -> tuple[Fraction, Expr]:
    """A sum with whole coefficients that have no common factor: exact in few bits."""
    terms = [(sign, *_scaled_term(term)) for sign, term in _terms(total, 1)]
    common = _content([factor for _, factor, _ in terms])
    return common, _added([(s, _times(factor / common, inner)) for s, factor, inner in terms])


def _content(factors: Sequence[Fraction]) -> Fraction:
    """The largest number that all factors are whole multiples of; 1 if all are 0."""
    sizes = [f for f in factors if f]
    if not sizes:
        return Fraction(1)
    return Fraction(gcd(*(f.numerator for f in sizes)), lcm(*(f.denominator for f in sizes)))


def _times(factor: Fraction, inner: Expr) -> Expr:
    return num(factor) if inner == ONE else folded(Arith("*", num(factor), inner))


def _scaled_term(term: Expr) -> tuple[Fraction, Expr]:
    if isinstance(term, Num) and term.value >= 0:
        return term.value, ONE
    return _scaled(term)


def _terms(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    match expr:
        case Arith("+", left, right):
            return _terms(left, sign) + _terms(right, sign)
        case Arith("-", left, right):
            return _terms(left, sign) + _terms(right, -sign)
        case Neg(arg):
            return _terms(arg, -sign)
        case _:
            return [(sign, expr)]


def _added(terms: Sequence[tuple[int, Expr]]) -> Expr:
    """The sum, positive terms first."""
    ordered = sorted(terms, key=lambda term: -term[0])
    (sign, total), *rest = ordered
    total = total if sign > 0 else Neg(total)
    for sign, term in rest:
        total = Arith("+" if sign > 0 else "-", total, term)
    return total


def _quotient(above: Sequence[Expr], below: Sequence[Expr]) -> Expr:
    whole = _multiplied(above)
    return Arith("/", whole, _multiplied(below)) if below else whole


def _multiplied(factors: Sequence[Expr]) -> Expr:
    product: Expr | None = None
    for factor in factors:
        product = factor if product is None else Arith("*", product, factor)
    return ONE if product is None else product


def _arguments(op: str, expr: Expr) -> list[Expr]:
    if isinstance(expr, MinMax) and expr.op == op:
        return [inner for arg in expr.args for inner in _arguments(op, arg)]
    return [expr]


def _written_out(expr: Sum) -> Expr:
    """A sum between constants, term by term; else it stays, and its reader refuses it."""
    if not (isinstance(expr.lo, Num) and isinstance(expr.hi, Num)):
        raise NotSplitError(expr)
    low, high = expr.lo.value, expr.hi.value
    if high - low > LONGEST:
        raise NotSplitError(expr)
    total: Expr = num(0)
    for value in range(int(low), int(high)):
        total = Arith("+", total, substitute(expr.body, {expr.var: num(value)}))
    return folded(total)


class NotSplitError(Exception):
    """A sum that reads the chip over a range that is long or no constant."""

    def __init__(self, expr: Sum) -> None:
        super().__init__("a sum that reads the chip has no constant, short range")
        self.expr = expr


def sides(condition: Expr) -> Expr | None:
    """What must not be above zero for an inequality to hold; ``None`` for other conditions."""
    match condition:
        case Compare("<=" | "<", left, right):
            return Arith("-", left, right)
        case Compare(">=" | ">", left, right):
            return Arith("-", right, left)
        case _:
            return None
