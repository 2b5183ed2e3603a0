"""Formulas as SMT-LIB text: linear with products as symbols, or exact with some values fixed.

Text costs a tenth of the solver's own builders, and any solver reads it.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any as Z3Expr
from typing import assert_never

import z3

from formwright.smt.atoms import Atoms
from formwright.smt.terms import All, Any, Eq, Formula, Le, Lt, Mono, Negation, Number, Poly

Text = tuple[str, frozenset[str]]
"""A formula with the constants that it needs declared."""


MARK = "$"


class Encoding:
    """One reading of formulas.

    Each symbol has ``MARK`` before its name in the solver, so that no name of a text is a
    word of SMT-LIB (``xor``, ``distinct``, ``_``).

    ``exact`` false: a product of symbols is one uninterpreted integer (what follows then
    follows for every meaning of it). ``exact`` true: products are products; ``fixed`` values
    are put in first, which makes most of them linear; ``nonlinear`` says if one was left.
    """

    def __init__(self, atoms: Atoms, exact: bool, fixed: Mapping[str, int] | None = None) -> None:
        self._atoms = atoms
        self._exact = exact
        self._fixed = dict(fixed or {})
        self._cache: dict[Formula, Text] = {}
        self.nonlinear = False

    def whole(self, formulas: Iterable[Formula]) -> Z3Expr:
        """All of ``formulas`` as one boolean of the solver."""
        texts = [self.formula(f) for f in formulas]
        rows = self._declared(names for _, names in texts)
        return _read(rows, [text for text, _ in texts])

    LITERAL = "track"
    """The names of literals; no symbol's begins so: those begin with ``MARK``."""

    def guarded(self, formulas: Iterable[Formula], start: int) -> Z3Expr:
        """Each formula behind a literal of its own, numbered from ``start`` on."""
        texts = [self.formula(f) for f in formulas]
        rows = self._declared(names for _, names in texts)
        literals = [f"{self.LITERAL}{start + n}" for n in range(len(texts))]
        rows += [f"(declare-const {literal} Bool)" for literal in literals]
        pairs = zip(literals, texts, strict=True)
        return _read(rows, [f"(=> {literal} {text})" for literal, (text, _) in pairs])

    def _declared(self, names: Iterable[frozenset[str]]) -> list[str]:
        found = frozenset[str]().union(*names)
        return [f"(declare-const |{MARK}{n}| {self.sort(n)})" for n in sorted(found)]

    def formula(self, formula: Formula) -> Text:
        """The text of one formula."""
        found = self._cache.get(formula)
        if found is None:
            found = self._formula(formula)
            self._cache[formula] = found
        return found

    def _formula(self, formula: Formula) -> Text:
        match formula:
            case Le(poly):
                return self._comparison("<=", poly)
            case Lt(poly):
                return self._comparison("<", poly)
            case Eq(poly):
                return self._comparison("=", poly)
            case All(parts):
                return self._joined("and", "true", parts)
            case Any(parts):
                return self._joined("or", "false", parts)
            case Negation(part):
                text, names = self.formula(part)
                return f"(not {text})", names
            case _:
                assert_never(formula)

    def _joined(self, word: str, empty: str, parts: tuple[Formula, ...]) -> Text:
        texts = [self.formula(p) for p in parts]
        names = frozenset().union(*(names for _, names in texts))
        return (f"({word} {' '.join(text for text, _ in texts)})" if texts else empty), names

    def _comparison(self, word: str, poly: Poly) -> Text:
        """``poly`` against 0, with whole coefficients and the constant on the right."""
        gathered: dict[Mono, Number] = {}
        for mono, coefficient in poly.terms:
            value, rest = self._put(mono)
            gathered[rest] = gathered.get(rest, 0) + coefficient * value
        scale = 1
        for number in gathered.values():
            if isinstance(number, Fraction):
                scale *= number.denominator
        real = any(n in self._atoms.real for m in gathered for n in m)
        names: set[str] = set()
        parts: list[str] = []
        for mono, number in gathered.items():
            if mono and number:
                parts.append(self._term(mono, int(number * scale), real, names))
        left = _integer(0, real) if not parts else parts[0]
        if len(parts) > 1:
            left = f"(+ {' '.join(parts)})"
        right = _integer(-int(gathered.get((), 0) * scale), real)
        return f"({word} {left} {right})", frozenset(names)

    def _put(self, mono: Mono) -> tuple[int, Mono]:
        if not self._fixed:
            return 1, mono
        value = 1
        for name in mono:
            value *= self._fixed.get(name, 1)
        return value, tuple(n for n in mono if n not in self._fixed)

    def _term(self, mono: Mono, coefficient: int, real: bool, names: set[str]) -> str:
        if len(mono) > 1 and self._exact:
            self.nonlinear = True
            factors = [self._constant(n, real, names) for n in mono]
            product = f"(* {' '.join(factors)})"
        else:
            product = self._constant("*".join(mono), real, names)
        return product if coefficient == 1 else f"(* {_integer(coefficient, real)} {product})"

    def _constant(self, name: str, real: bool, names: set[str]) -> str:
        names.add(name)
        quoted = f"|{MARK}{name}|"
        return f"(to_real {quoted})" if real and self.sort(name) == "Int" else quoted

    def sort(self, name: str) -> str:
        return "Real" if any(n in self._atoms.real for n in name.split("*")) else "Int"

    def symbol(self, name: str) -> Z3Expr:
        """The solver's constant of a symbol."""
        marked = MARK + name
        return z3.Real(marked) if name in self._atoms.real else z3.Int(marked)


def _read(rows: list[str], texts: list[str]) -> Z3Expr:
    return z3.parse_smt2_string("\n".join([*rows, f"(assert (and true {' '.join(texts)}))"]))[0]


def _integer(value: int, real: bool) -> str:
    text = f"{abs(value)}.0" if real else str(abs(value))
    return f"(- {text})" if value < 0 else text


def new_solver() -> Z3Expr:
    """A solver whose answers do not change from run to run."""
    solver = z3.SimpleSolver()
    solver.set("random_seed", 1)
    return solver


def value_of(model: Z3Expr, constant: Z3Expr) -> Number:
    """The exact value that a model gives a constant."""
    value = model.eval(constant, model_completion=True)
    if z3.is_int_value(value):
        return int(value.as_long())
    if z3.is_rational_value(value):
        ratio = Fraction(value.numerator_as_long(), value.denominator_as_long())
        return ratio.numerator if ratio.denominator == 1 else ratio
    raise ArithmeticError(f"the solver gave {value}, which is not rational")


def rational_model(
    solver: Z3Expr,
    model: Z3Expr,
    constants: Iterable[Z3Expr],
    check: Callable[[Z3Expr], Z3Expr],
) -> Z3Expr | None:
    """``model``, or one near it where each of ``constants`` is rational; ``None`` if neither.

    Narrows ``solver`` to rational values close to those that are roots of polynomials.
    """
    for constant in constants:
        value = model.eval(constant, model_completion=True)
        if not z3.is_algebraic_value(value):
            continue
        near = Fraction(value.approx(20).as_fraction()).limit_denominator(1000)
        solver.add(constant == z3.RealVal(f"{near.numerator}/{near.denominator}"))
        if check(solver) != z3.sat:
            return None
        model = solver.model()
    return model
