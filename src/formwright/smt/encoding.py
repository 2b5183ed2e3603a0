"""Formulas to z3: linear with products as symbols, or exact with some values fixed."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any as Z3Expr
from typing import assert_never

import z3

from formwright.smt.atoms import Atoms
from formwright.smt.terms import All, Any, Eq, Formula, Le, Lt, Mono, Negation, Number, Poly


class Encoding:
    """One reading of formulas.

    ``exact`` false: a product of symbols is one uninterpreted integer (what follows then
    follows for every meaning of it). ``exact`` true: products are products; ``fixed`` values
    are put in first, which makes most of them linear.
    """

    def __init__(self, atoms: Atoms, exact: bool, fixed: Mapping[str, int] | None = None) -> None:
        self._atoms = atoms
        self._exact = exact
        self._fixed = dict(fixed or {})
        self._cache: dict[Formula, Z3Expr] = {}
        self._products: dict[Mono, Z3Expr] = {}
        self.nonlinear = False

    def formula(self, formula: Formula) -> Z3Expr:
        """A z3 boolean."""
        found = self._cache.get(formula)
        if found is None:
            found = self._formula(formula)
            self._cache[formula] = found
        return found

    def _formula(self, formula: Formula) -> Z3Expr:
        match formula:
            case Le(poly):
                left, right = self._sides(poly)
                return left <= right
            case Lt(poly):
                left, right = self._sides(poly)
                return left < right
            case Eq(poly):
                left, right = self._sides(poly)
                return left == right
            case All(parts):
                return z3.And([self.formula(p) for p in parts])
            case Any(parts):
                return z3.Or([self.formula(p) for p in parts])
            case Negation(part):
                return z3.Not(self.formula(part))
            case _:
                assert_never(formula)

    def _sides(self, poly: Poly) -> tuple[Z3Expr, Z3Expr]:
        """``poly`` as left minus right, with whole coefficients."""
        gathered: dict[Mono, Number] = {}
        for mono, coefficient in poly.terms:
            value, rest = self._put(mono)
            gathered[rest] = gathered.get(rest, 0) + coefficient * value
        scale = 1
        for number in gathered.values():
            if isinstance(number, Fraction):
                scale *= number.denominator
        real = any(n in self._atoms.real for m in gathered for n in m)
        parts = [
            self._term(mono, int(c * scale), real) for mono, c in gathered.items() if c and mono
        ]
        right = -int(gathered.get((), 0) * scale)
        zero = z3.RealVal(right) if real else z3.IntVal(right)
        if not parts:
            return (z3.RealVal(0) if real else z3.IntVal(0)), zero
        return (parts[0] if len(parts) == 1 else z3.Sum(parts)), zero

    def _put(self, mono: Mono) -> tuple[int, Mono]:
        if not self._fixed:
            return 1, mono
        value = 1
        for name in mono:
            value *= self._fixed.get(name, 1)
        return value, tuple(n for n in mono if n not in self._fixed)

    def _term(self, mono: Mono, coefficient: int, real: bool) -> Z3Expr:
        product = self._product(mono)
        if real and product.is_int():
            product = z3.ToReal(product)
        return product if coefficient == 1 else coefficient * product

    def _product(self, mono: Mono) -> Z3Expr:
        found = self._products.get(mono)
        if found is None:
            found = self._make(mono)
            self._products[mono] = found
        return found

    def _make(self, mono: Mono) -> Z3Expr:
        if len(mono) == 1:
            return self.symbol(mono[0])
        if not self._exact:
            real = any(n in self._atoms.real for n in mono)
            name = "*".join(mono)
            return z3.Real(name) if real else z3.Int(name)
        self.nonlinear = True
        real = any(n in self._atoms.real for n in mono)
        factors = [self.symbol(n) for n in mono]
        if real:
            factors = [z3.ToReal(f) if f.is_int() else f for f in factors]
        return z3.Product(factors)

    def symbol(self, name: str) -> Z3Expr:
        """The z3 constant of a symbol."""
        return z3.Real(name) if name in self._atoms.real else z3.Int(name)


def value_of(model: Z3Expr, constant: Z3Expr) -> Number:
    """The exact value that a model gives a constant."""
    value = model.eval(constant, model_completion=True)
    if z3.is_int_value(value):
        return int(value.as_long())
    if z3.is_rational_value(value):
        ratio = Fraction(value.numerator_as_long(), value.denominator_as_long())
        return ratio.numerator if ratio.denominator == 1 else ratio
    raise ArithmeticError(f"the solver gave {value}, which is not rational")
