"""What obligations are made of: polynomials over named symbols, and formulas over them.

No solver stands here. An index expression becomes a polynomial in normal form, so equal
expressions become equal data and differences cancel before a solver sees them. What is not
polynomial (a ceiling, a quotient, a minimum, a choice) is a symbol of its own, named by its
content, with a definition that :mod:`formwright.smt.atoms` gives.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

Number = int | Fraction
Mono = tuple[str, ...]
"""A product of symbols, sorted by name; ``()`` is 1."""


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of coefficient times product; no coefficient is 0, products are sorted."""

    terms: tuple[tuple[Mono, Number], ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Formulas are keys everywhere: a tree that is hashed once makes proofs twice as fast.
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: "Poly") -> "Poly":
        return _collect((*self.terms, *other.terms))

    def __sub__(self, other: "Poly") -> "Poly":
        return _collect((*self.terms, *((m, -c) for m, c in other.terms)))

    def __mul__(self, other: "Poly") -> "Poly":
        return _collect(
            (tuple(sorted(m + n)), c * d) for m, c in self.terms for n, d in other.terms
        )

    def scaled(self, factor: Number) -> "Poly":
        return Poly(tuple((m, c * factor) for m, c in self.terms)) if factor else ZERO

    def constant(self) -> Number | None:
        """The value, if no symbol occurs."""
        if not self.terms:
            return 0
        mono, coefficient = self.terms[0]
        return coefficient if len(self.terms) == 1 and mono == () else None

    def symbols(self) -> frozenset[str]:
        return _symbols(self)

    def coefficient(self, name: str) -> Number | None:
        """The number before ``name``, if ``name`` occurs only there and linearly."""
        found: Number | None = None
        for mono, coefficient in self.terms:
            if name in mono:
                if mono != (name,):
                    return None
                found = coefficient
        return found

    def cofactor(self, name: str) -> "Poly":
        """``q`` with ``self = name * q + (terms without name)``."""
        return _collect((_without(m, name), c) for m, c in self.terms if name in m)

    def substituted(self, values: Mapping[str, "Poly"]) -> "Poly":
        """Symbols replaced by polynomials (symbols inside definitions are not reached)."""
        if not any(name in values for mono, _ in self.terms for name in mono):
            return self
        total = ZERO
        for mono, coefficient in self.terms:
            part = constant(coefficient)
            for name in mono:
                part = part * values.get(name, symbol(name))
            total = total + part
        return total

    def divided(self, divisor: "Poly") -> "Poly | None":
        """``q`` with ``self = q * divisor`` for a divisor of one term, if there is one."""
        if len(divisor.terms) != 1:
            return constant(1) if self == divisor else None
        mono, coefficient = divisor.terms[0]
        parts: list[tuple[Mono, Number]] = []
        for m, c in self.terms:
            rest = list(m)
            for name in mono:
                if name not in rest:
                    return None
                rest.remove(name)
            ratio = Fraction(c) / coefficient
            if ratio.denominator != 1:
                return None
            parts.append((tuple(rest), ratio.numerator))
        return _collect(parts)


@lru_cache(maxsize=1 << 16)
def _symbols(poly: Poly) -> frozenset[str]:
    return frozenset(name for mono, _ in poly.terms for name in mono)


def _without(mono: Mono, name: str) -> Mono:
    place = mono.index(name)
    return mono[:place] + mono[place + 1 :]


def _collect(terms: Iterable[tuple[Mono, Number]]) -> Poly:
    total: dict[Mono, Number] = {}
    for mono, coefficient in terms:
        total[mono] = total[mono] + coefficient if mono in total else coefficient
    left = [(m, _plain(c)) for m, c in total.items() if c]
    left.sort()
    return Poly(tuple(left))


def _plain(value: Number) -> Number:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def constant(value: Number) -> Poly:
    return Poly((((), _plain(value)),)) if value else ZERO


def symbol(name: str) -> Poly:
    return Poly((((name,), 1),))


ZERO = Poly(())
ONE = constant(1)


@dataclass(frozen=True, slots=True)
class Le:
    """``poly <= 0``."""

    poly: Poly


@dataclass(frozen=True, slots=True)
class Lt:
    """``poly < 0``."""

    poly: Poly


@dataclass(frozen=True, slots=True)
class Eq:
    """``poly = 0``."""

    poly: Poly


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Formula", ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((1, self.parts)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple["Formula", ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((2, self.parts)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Negation:
    part: "Formula"


Formula = Le | Lt | Eq | All | Any | Negation

TRUE = All(())
FALSE = Any(())


def le(left: Poly, right: Poly) -> Formula:
    poly = left - right
    value = poly.constant()
    return Le(poly) if value is None else _truth(value <= 0)


def lt(left: Poly, right: Poly) -> Formula:
    poly = left - right
    value = poly.constant()
    return Lt(poly) if value is None else _truth(value < 0)


def eq(left: Poly, right: Poly) -> Formula:
    poly = left - right
    value = poly.constant()
    if value is not None:
        return _truth(value == 0)
    return Eq(poly if poly.terms[-1][1] > 0 else poly.scaled(-1))


def _truth(verdict: bool) -> Formula:
    return TRUE if verdict else FALSE


def conj(parts: Iterable[Formula]) -> Formula:
    """All of ``parts``, flat, without repeats."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if part == FALSE:
            return FALSE
        for item in part.parts if isinstance(part, All) else (part,):
            flat[item] = None
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def parts(formula: Formula) -> tuple[Formula, ...]:
    """What is joined by ``and``."""
    return formula.parts if isinstance(formula, All) else (formula,)


def disj(parts: Iterable[Formula]) -> Formula:
    """At least one of ``parts``, flat, without repeats."""
    flat: dict[Formula, None] = {}
    for part in parts:
        if part == TRUE:
            return TRUE
        for item in part.parts if isinstance(part, Any) else (part,):
            flat[item] = None
    return next(iter(flat)) if len(flat) == 1 else Any(tuple(flat))


def negated(part: Formula) -> Formula:
    """The negation, pushed down to comparisons."""
    match part:
        case All(parts):
            return disj(negated(p) for p in parts)
        case Any(parts):
            return conj(negated(p) for p in parts)
        case Negation(inner):
            return inner
        case Le(poly):
            return Lt(poly.scaled(-1))
        case Lt(poly):
            return Le(poly.scaled(-1))
        case Eq():
            return Negation(part)
        case _:
            assert_never(part)


def implies(left: Formula, right: Formula) -> Formula:
    return disj((negated(left), right))


@lru_cache(maxsize=1 << 16)
def polys(formula: Formula) -> tuple[Poly, ...]:
    """Every polynomial that a formula compares."""
    match formula:
        case Le(poly) | Lt(poly) | Eq(poly):
            return (poly,)
        case All(parts) | Any(parts):
            return tuple(poly for part in parts for poly in polys(part))
        case Negation(part):
            return polys(part)
        case _:
            assert_never(formula)


def direct_names(formulas: Sequence[Formula], hints: Sequence[Poly] = ()) -> frozenset[str]:
    """The symbols that formulas and hints name themselves."""
    found = {n for f in formulas for p in polys(f) for n in p.symbols()}
    return frozenset(found | {n for p in hints for n in p.symbols()})
