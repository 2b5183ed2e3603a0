"""Symbols with a definition: ceilings, quotients, minima, choices.

Each is named by its content, so the same expression is the same symbol wherever it
stands, in every template and every process. A definition with a divisor says nothing
unless the divisor is at least 1: it is true of the integers whatever the divisor, and adds
no assumption.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from formwright.smt.terms import (
    ONE,
    ZERO,
    All,
    Any,
    Eq,
    Formula,
    Le,
    Lt,
    Negation,
    Number,
    Poly,
    conj,
    constant,
    disj,
    eq,
    implies,
    le,
    lt,
    negated,
    polys,
    symbol,
)


@dataclass(frozen=True, slots=True)
class Ceil:
    """The least integer that is not below ``num / den``."""

    num: Poly
    den: Poly


@dataclass(frozen=True, slots=True)
class Floor:
    """The greatest integer that is not above ``num / den``."""

    num: Poly
    den: Poly


@dataclass(frozen=True, slots=True)
class Quotient:
    """The rational ``num / den``."""

    num: Poly
    den: Poly


@dataclass(frozen=True, slots=True)
class Least:
    args: tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    args: tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    cond: Formula
    then: Poly
    other: Poly


Atom = Ceil | Floor | Quotient | Least | Greatest | Choice


def _content(atom: Atom) -> str:
    """Sixteen hex digits of what the atom is made of; atoms inside have names of their own."""
    return hashlib.sha256(repr(atom).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Atoms:
    """The atoms of one template, and which symbols are rationals rather than integers."""

    real: set[str] = field(default_factory=set)
    by_name: dict[str, Atom] = field(default_factory=dict)
    names: dict[Atom, str] = field(default_factory=dict)
    made_of: dict[str, frozenset[str]] = field(default_factory=dict)
    memo: dict[tuple[object, ...], object] = field(default_factory=dict)
    """What readers made of parts of the template, by identity and values."""
    defined: dict[str, Formula] = field(default_factory=dict)

    def is_integer(self, poly: Poly) -> bool:
        return not any(
            isinstance(c, Fraction) or any(n in self.real for n in m) for m, c in poly.terms
        )

    def make(self, atom: Atom) -> Poly:
        """The symbol of ``atom`` (simplified away where it is plainly a polynomial)."""
        plain = self._plain(atom)
        if plain is not None:
            return plain
        name = self.names.get(atom)
        if name is None:
            name = f"{type(atom).__name__.lower()}!{_content(atom)}"
            if name in self.by_name:
                raise ArithmeticError(f"two contents have the name {name}")
            self.names[atom] = name
            self.by_name[name] = atom
            if not self._is_integral(atom):
                self.real.add(name)
        return symbol(name)

    def _is_integral(self, atom: Atom) -> bool:
        match atom:
            case Ceil() | Floor():
                return True
            case Quotient():
                return False
            case Least(args) | Greatest(args):
                return all(self.is_integer(a) for a in args)
            case Choice(_, then, other):
                return self.is_integer(then) and self.is_integer(other)
            case _:
                assert_never(atom)

    def _plain(self, atom: Atom) -> Poly | None:
        match atom:
            case Ceil(num, den) | Floor(num, den):
                top, bottom = num.constant(), den.constant()
                if top is not None and bottom is not None and bottom > 0:
                    ratio = Fraction(top) / Fraction(bottom)
                    return constant(ceil(ratio) if isinstance(atom, Ceil) else floor(ratio))
                return num if den == ONE and self.is_integer(num) else None
            case Quotient(num, den):
                bottom = den.constant()
                return None if not bottom else num.scaled(Fraction(1) / Fraction(bottom))
            case Least(args) | Greatest(args):
                return args[0] if len(set(args)) == 1 else None
            case Choice(cond, then, other):
                if cond == All(()) or then == other:
                    return then
                return other if cond == Any(()) else None
            case _:
                assert_never(atom)

    def definition(self, name: str) -> Formula:
        """What is true of the symbol ``name``."""
        found = self.defined.get(name)
        if found is None:
            found = self.defined[name] = self._definition(name)
        return found

    def _definition(self, name: str) -> Formula:
        atom, me = self.by_name[name], symbol(name)
        match atom:
            case Ceil(num, den):
                facts = conj((le(num, me * den), lt(me * den - den, num)))
                return implies(le(ONE, den), facts)
            case Floor(num, den):
                facts = conj((le(me * den, num), lt(num, me * den + den)))
                return implies(le(ONE, den), facts)
            case Quotient(num, den):
                return implies(lt(ZERO, den), eq(me * den, num))
            case Least(args):
                below = [le(me, a) for a in args]
                return conj((*below, disj(eq(me, a) for a in args)))
            case Greatest(args):
                above = [le(a, me) for a in args]
                return conj((*above, disj(eq(me, a) for a in args)))
            case Choice(cond, then, other):
                yes = conj((cond, eq(me, then)))
                return disj((yes, conj((negated(cond), eq(me, other)))))
            case _:
                assert_never(atom)

    def parts(self, name: str) -> frozenset[str]:
        """The symbols that the definition of ``name`` is made of."""
        found = self.made_of.get(name)
        if found is None:
            found = self._parts(self.by_name[name])
            self.made_of[name] = found
        return found

    def _parts(self, atom: Atom) -> frozenset[str]:
        match atom:
            case Ceil(num, den) | Floor(num, den) | Quotient(num, den):
                return num.symbols() | den.symbols()
            case Least(args) | Greatest(args):
                return frozenset().union(*(a.symbols() for a in args))
            case Choice(cond, then, other):
                inside = frozenset().union(*(p.symbols() for p in polys(cond)), frozenset())
                return inside | then.symbols() | other.symbols()
            case _:
                assert_never(atom)

    def closure(self, names: Iterable[str]) -> tuple[str, ...]:
        """``names`` and every symbol that their definitions reach, sorted."""
        seen: set[str] = set()
        queue = list(names)
        while queue:
            name = queue.pop()
            if name not in seen:
                seen.add(name)
                if name in self.by_name:
                    queue.extend(self.parts(name))
        return tuple(sorted(seen))

    def value(self, poly: Poly, values: Mapping[str, Number]) -> Number:
        """The exact value of ``poly``; atoms are computed from their parts."""
        total: Number = 0
        for mono, coefficient in poly.terms:
            part: Number = coefficient
            for name in mono:
                part = part * self._symbol_value(name, values)
            total = total + part
        return total

    def _symbol_value(self, name: str, values: Mapping[str, Number]) -> Number:
        atom = self.by_name.get(name)
        match atom:
            case None:
                return values[name]
            case Ceil(num, den):
                return ceil(self._ratio(num, den, values))
            case Floor(num, den):
                return floor(self._ratio(num, den, values))
            case Quotient(num, den):
                return self._ratio(num, den, values)
            case Least(args):
                return min(self.value(a, values) for a in args)
            case Greatest(args):
                return max(self.value(a, values) for a in args)
            case Choice(cond, then, other):
                return self.value(then if self.holds(cond, values) else other, values)
            case _:
                assert_never(atom)

    def _ratio(self, num: Poly, den: Poly, values: Mapping[str, Number]) -> Fraction:
        return Fraction(self.value(num, values)) / Fraction(self.value(den, values))

    def holds(self, formula: Formula, values: Mapping[str, Number]) -> bool:
        """The exact truth of ``formula``: how an answer of the solver is rechecked."""
        match formula:
            case Le(poly):
                return self.value(poly, values) <= 0
            case Lt(poly):
                return self.value(poly, values) < 0
            case Eq(poly):
                return self.value(poly, values) == 0
            case All(parts):
                return all(self.holds(p, values) for p in parts)
            case Any(parts):
                return any(self.holds(p, values) for p in parts)
            case Negation(part):
                return not self.holds(part, values)
            case _:
                assert_never(formula)
