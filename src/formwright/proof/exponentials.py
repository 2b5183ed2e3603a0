"""Sums of products of names and exponentials of linear forms, in normal form.

Two sums with one normal form are equal for every function with ``exp(x + y) = exp(x) * exp(y)``
and ``exp(0) = 1``, whatever the names stand for. With ``exp(x) = 2**x`` they have exact values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Linear = tuple[tuple[str, Fraction], ...]
"""A linear form: names with their coefficients, sorted; ``""`` is the number."""

Monomial = tuple[tuple[str, ...], Linear]
"""A product of names, sorted, with one exponential; the empty form is ``exp(0)``."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Coefficients of monomials; none is 0."""

    terms: tuple[tuple[Monomial, Fraction], ...] = ()

    def __add__(self, other: "Sum") -> "Sum":
        return _collect((*self.terms, *other.terms))

    def __sub__(self, other: "Sum") -> "Sum":
        return self + other.scaled(Fraction(-1))

    def __mul__(self, other: "Sum") -> "Sum":
        return _collect(
            ((tuple(sorted(a + b)), _added(x, y)), c * d)
            for (a, x), c in self.terms
            for (b, y), d in other.terms
        )

    def scaled(self, factor: Fraction) -> "Sum":
        return _collect((m, c * factor) for m, c in self.terms)

    def names(self) -> frozenset[str]:
        """Every name, those of exponents included."""
        return frozenset(
            n for (names, form), _ in self.terms for n in (*names, *(x for x, _ in form if x))
        )

    def linear(self) -> Linear | None:
        """The sum as an exponent, if it is a linear form."""
        found: dict[str, Fraction] = {}
        for (names, form), c in self.terms:
            if form or len(names) > 1:
                return None
            found[names[0] if names else ""] = c
        return tuple(sorted(found.items()))

    def put(self, values: Mapping[str, "Sum"]) -> "Sum":
        """Names replaced by sums; those of exponents by linear forms."""
        total = Sum()
        for (names, form), c in self.terms:
            part = constant(c)
            for name in names:
                part = part * values.get(name, symbol(name))
            inner = Sum()
            for name, factor in form:
                one = values.get(name, symbol(name)) if name else constant(Fraction(1))
                inner = inner + one.scaled(factor)
            total = total + part * exponential(inner)
        return total

    def quotient(self, other: "Sum") -> "Sum | None":
        """``q`` of one term with ``self = q * other``, or any ``q`` where ``other`` has one."""
        if not other.terms:
            return None
        divisor = Sum(other.terms[:1])
        if len(other.terms) == 1:
            return self._divided(divisor)
        for term in self.terms:
            found = Sum((term,))._divided(divisor)
            if found is not None and found * other == self:
                return found
        return None

    def _divided(self, other: "Sum") -> "Sum | None":
        (divisor, form), c = other.terms[0]
        minus = tuple((n, -f) for n, f in form)
        found: list[tuple[Monomial, Fraction]] = []
        for (names, mine), d in self.terms:
            rest = list(names)
            for name in divisor:
                if name not in rest:
                    return None
                rest.remove(name)
            found.append(((tuple(rest), _added(mine, minus)), d / c))
        return _collect(found)

    def value(self, values: Mapping[str, Fraction]) -> Fraction:
        """The exact value with ``exp(x) = 2**x``; exponents must come out whole."""
        total = Fraction(0)
        for (names, form), c in self.terms:
            exponent = sum((f * (values[n] if n else 1) for n, f in form), Fraction(0))
            if exponent.denominator != 1:
                raise ValueError(f"the exponent {exponent} is no integer")
            part = c * Fraction(2) ** int(exponent)
            for name in names:
                part *= values[name]
            total += part
        return total

    def __str__(self) -> str:
        return " + ".join(_shown(m, c) for m, c in self.terms) or "0"


def constant(value: Fraction) -> Sum:
    return Sum((((((), ()), value)),)) if value else Sum()


def symbol(name: str) -> Sum:
    return Sum(((((name,), ()), Fraction(1)),))


def exponential(inner: Sum) -> Sum:
    """``exp(inner)``; raises ``ValueError`` unless ``inner`` is a linear form."""
    form = inner.linear()
    if form is None:
        raise ValueError(f"exp({inner}) is not the exponential of a linear form")
    return Sum(((((), form), Fraction(1)),))


def _added(left: Linear, right: Linear) -> Linear:
    found: dict[str, Fraction] = dict(left)
    for name, factor in right:
        found[name] = found.get(name, Fraction(0)) + factor
    return tuple(sorted((n, f) for n, f in found.items() if f))


def _collect(terms: Iterable[tuple[Monomial, Fraction]]) -> Sum:
    found: dict[Monomial, Fraction] = {}
    for monomial, c in terms:
        found[monomial] = found.get(monomial, Fraction(0)) + c
    return Sum(tuple(sorted((m, c) for m, c in found.items() if c)))


def _shown(monomial: Monomial, c: Fraction) -> str:
    names, form = monomial
    inner = " + ".join(n if f == 1 else f"{f}*{n}" if n else str(f) for n, f in form)
    parts = [*names, *([f"exp({inner})"] if form else [])]
    if c != 1 or not parts:
        parts.insert(0, str(c))
    return "*".join(parts).replace("+ -1*", "- ")
