"""What can be read off expressions without values: equal, never above, through which parts.

Expressions are brought into a normal form, a sum of products with exact coefficients, in which
the order of sums, products, ``min`` and ``max`` does not count. Equal forms are equal everywhere;
expressions with other forms may be equal too.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import assert_never

from formwright.ir.expr import (
    ONE,
    Arith,
    Cell,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import children, map_children, substitute

Factors = tuple[int, ...]
Terms = dict[Factors, Fraction]
"""A sum: the coefficient of each product of numbered factors."""

_MOST = 64
"""Terms of a product that is multiplied out."""
_DEEP = 3
"""Roundings that are taken off one after the other."""

_MIRRORED = {">": "<", ">=": "<="}


class Normal:
    """Normal forms that can be compared with one another."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._exprs: dict[int, Expr] = {}
        self._inverses: dict[int, int] = {}
        self._seen: dict[int, tuple[Expr, Terms]] = {}

    def terms(self, expr: Expr) -> Terms:
        """``expr`` as a sum of products; a condition counts as one factor."""
        found = self._seen.get(id(expr))
        if found is None:
            found = (expr, self._terms(expr))
            self._seen[id(expr)] = found
        return found[1]

    def key(self, expr: Expr) -> int:
        """Equal numbers are equal expressions."""
        return self._number(self._keyed(self.terms(expr)), expr)

    def factor(self, number: int) -> Expr:
        """An expression that has this number."""
        return self._exprs[number]

    def _keyed(self, terms: Terms) -> object:
        if len(terms) == 1:
            ((factors, coefficient),) = terms.items()
            if coefficient == 1 and len(factors) == 1:
                return factors[0]
        return frozenset(terms.items())

    def _number(self, key: object, expr: Expr) -> int:
        if isinstance(key, int):
            return key
        number = self._numbers.setdefault(key, len(self._numbers))
        self._exprs.setdefault(number, expr)
        return number

    def _terms(self, expr: Expr) -> Terms:
        match expr:
            case Num(value):
                return {(): value} if value else {}
            case Arith("+", a, b):
                return _added(self.terms(a), self.terms(b), 1)
            case Arith("-", a, b):
                return _added(self.terms(a), self.terms(b), -1)
            case Neg(a):
                return _added({}, self.terms(a), -1)
            case Arith("*", a, b):
                return self._product(a, b)
            case Arith("/", a, b):
                return self._quotient(a, b)
            case _:
                return {(self._number(self._atom(expr), expr),): Fraction(1)}

    def _product(self, a: Expr, b: Expr) -> Terms:
        left, right = self.terms(a), self.terms(b)
        if len(left) * len(right) > _MOST:
            left, right = self._single(a, left), self._single(b, right)
        return self.times(left, right)

    def times(self, a: Terms, b: Terms) -> Terms:
        """Products of all pairs of terms; a factor and its inverse make 1."""
        total: Terms = {}
        for f, c in a.items():
            for g, d in b.items():
                factors = self._cancelled((*f, *g))
                total[factors] = total.get(factors, Fraction(0)) + c * d
        return {f: c for f, c in total.items() if c}

    def _cancelled(self, factors: Factors) -> Factors:
        left = list(factors)
        for factor in factors:
            inverse = self._inverses.get(factor)
            if inverse in left and factor in left:
                left.remove(factor)
                left.remove(inverse)
        return tuple(sorted(left))

    def _quotient(self, a: Expr, b: Expr) -> Terms:
        left, right = self.terms(a), self.terms(b)
        if set(right) == {()}:
            return _scaled(left, 1 / right[()])
        if not left:
            # It has no value where the divisor has none: not the number 0.
            return {(self._number(("zero over", self.key(b)), Arith("/", a, b)),): Fraction(1)}
        ((factors, coefficient),) = self._single(b, right).items()
        inverse = tuple(map(self._inverse, factors))
        return self.times(left, {inverse: 1 / coefficient})

    def _inverse(self, factor: int) -> int:
        number = self._number(("over", factor), Arith("/", ONE, self.factor(factor)))
        self._inverses[factor], self._inverses[number] = number, factor
        return number

    def _single(self, expr: Expr, terms: Terms) -> Terms:
        """A sum of one product as it is; a longer one as a factor of its own."""
        if len(terms) == 1:
            return terms
        return {(self._number(self._keyed(terms), expr),): Fraction(1)}

    def _atom(self, expr: Expr) -> object:
        match expr:
            case Truth(value):
                return ("truth", value)
            case Var(name):
                return ("name", name)
            case MinMax(op, args):
                return (op, frozenset(map(self.key, args)))
            case Compare(op, a, b):
                x, y = self.key(a), self.key(b)
                if op in _MIRRORED:
                    return (_MIRRORED[op], y, x)
                return (op, frozenset((x, y))) if op in ("=", "!=") else (op, x, y)
            case Logic(op, a, b):
                x, y = self.key(a), self.key(b)
                # The left side may guard the right one: the order counts.
                return (op, x, y)
            case Arith() | Neg() | Round() | Not() | Cond() | Cell() | Sum() | Num():
                return (_label(expr), *map(self.key, children(expr)))
            case _:
                assert_never(expr)


def _added(a: Terms, b: Terms, sign: int) -> Terms:
    total = dict(a)
    for factors, coefficient in b.items():
        total[factors] = total.get(factors, Fraction(0)) + sign * coefficient
    return {f: c for f, c in total.items() if c}


def _scaled(terms: Terms, by: Fraction) -> Terms:
    return {f: c * by for f, c in terms.items()} if by else {}


def never_above(part: Expr, whole: Expr, ranges: Mapping[str, Interval]) -> bool:
    """Whether ``part <= whole`` is shown at every point of ``ranges`` where both have a value.

    Shown where the terms that ``whole`` has over ``part`` are at least 0 in sum; of a maximum one
    argument of ``whole`` is enough, and all of ``part`` are needed.
    """
    parts = part.args if isinstance(part, MinMax) and part.op == "max" else (part,)
    wholes = whole.args if isinstance(whole, MinMax) and whole.op == "max" else (whole,)
    return all(any(_below(p, w, ranges) for w in wholes) for p in parts)


def _below(part: Expr, whole: Expr, ranges: Mapping[str, Interval]) -> bool:
    normal = Normal()
    over = _added(normal.terms(whole), normal.terms(part), -1)
    over = _unrounded(normal, over, ranges)
    if sum(_least(normal, f, c, ranges) for f, c in over.items()) >= 0:
        return True
    return bounds(Arith("-", whole, part), ranges).lo >= 0


def _unrounded(normal: Normal, over: Terms, ranges: Mapping[str, Interval]) -> Terms:
    """A lower bound of ``over``: where that meets a term with the other sign, a term that is not
    negative goes for what it is at least, since rounding up only adds."""
    found = dict(over)
    for deep in range(1, _DEEP + 1):
        for factors, coefficient in over.items():
            # A term that was put in another's place has become another one.
            if coefficient <= 0 or found.get(factors) != coefficient:
                continue
            if not _not_negative(normal, factors, ranges):
                continue
            for lower in _lower(normal, {factors: coefficient}, deep):
                if all(found.get(f, Fraction(0)) < 0 for f in lower):
                    del found[factors]
                    found = _added(found, lower, 1)
                    break
    return found


def _lower(normal: Normal, term: Terms, deep: int) -> Iterator[Terms]:
    """What a term is at least: with one ``ceil(e)`` after the other as ``e``."""
    if deep == 0 or len(term) != 1:
        return
    ((factors, coefficient),) = term.items()
    for place, factor in enumerate(factors):
        match normal.factor(factor):
            case Round("ceil", inner):
                rest = {(*factors[:place], *factors[place + 1 :]): coefficient}
                lower = normal.times(rest, normal.terms(inner))
                yield lower
                yield from _lower(normal, lower, deep - 1)


def _not_negative(normal: Normal, factors: Factors, ranges: Mapping[str, Interval]) -> bool:
    return all(bounds(normal.factor(f), ranges).lo >= 0 for f in factors)


def _least(
    normal: Normal, factors: Factors, coefficient: Fraction, ranges: Mapping[str, Interval]
) -> float | int | Fraction:
    product: Expr = Num(coefficient)
    for number in factors:
        product = Arith("*", product, normal.factor(number))
    return bounds(product, ranges).lo


def symmetric(expr: Expr, one: str, other: str) -> bool:
    """Whether swapping two names is shown to change nothing."""
    normal = Normal()
    swapped = substitute(expr, {one: Var(other), other: Var(one)})
    return normal.key(expr) == normal.key(swapped)


def unified(exprs: Iterable[Expr]) -> list[Expr]:
    """The expressions with equal parts as one object, across all of them."""
    known: dict[object, Expr] = {}
    seen: dict[int, tuple[Expr, Expr]] = {}

    def go(expr: Expr) -> Expr:
        found = seen.get(id(expr))
        if found is None:
            built = map_children(expr, go)
            key = (_label(built), *(id(c) for c in children(built)))
            found = (expr, known.setdefault(key, built))
            seen[id(expr)] = found
        return found[1]

    return [go(e) for e in exprs]


def _label(expr: Expr) -> object:
    """What is told of a node beside its children."""
    match expr:
        case Num(value) | Truth(value):
            return (type(expr).__name__, value)
        case Var(name) | Cell(name):
            return (type(expr).__name__, name)
        case Arith(op) | Compare(op) | Logic(op) | MinMax(op) | Round(op):
            return (type(expr).__name__, op)
        case Sum(var):
            return ("Sum", var)
        case _:
            return type(expr).__name__
