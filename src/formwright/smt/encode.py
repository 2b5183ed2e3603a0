"""Index expressions as polynomials and formulas: the SMT reader of the expression IR.

Tested against :func:`formwright.ir.evaluate.evaluate` wherever that has a value.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import (
    CELL,
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
from formwright.smt.atoms import Atoms, Ceil, Choice, Floor, Greatest, Least, Quotient
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Formula,
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
    symbol,
)

Env = Mapping[str, Poly]

SUM_LIMIT = 64
"""The longest bounded sum that is written out for the solver."""


TERM_LIMIT = 2000
"""The most terms that a product of sums may spread into."""


class StateEnv(Mapping[str, Poly]):
    """Names whose values a state of a transition system gives; a condition is 0 or 1 there."""

    @abstractmethod
    def cell(self, name: str, index: Sequence[Poly], span: Span | None) -> Poly:
        """The value of an indexed variable."""

    @abstractmethod
    def binding(self, more: Mapping[str, Poly]) -> "StateEnv":
        """The same state with further names."""


class UnderivableError(Exception):
    """A condition that the verifier can't state; the obligation is ``unresolved``."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


def number(expr: Expr, env: Env, atoms: Atoms) -> Poly:
    """``expr`` as a polynomial; names that ``env`` lacks are symbols of their own."""

    def go(e: Expr) -> Poly:
        return number(e, env, atoms)

    match expr:
        case Num(value):
            return constant(value)
        case Var(name):
            return env[name] if name in env else symbol(name)
        case Cell(name, index):
            if not isinstance(env, StateEnv):
                raise UnderivableError(CELL, expr.span)
            return env.cell(name, [go(i) for i in index], expr.span)
        case Arith("+", a, b):
            return go(a) + go(b)
        case Arith("-", a, b):
            return go(a) - go(b)
        case Arith("*", a, b):
            left, right = go(a), go(b)
            if len(left.terms) * len(right.terms) > TERM_LIMIT:
                raise UnderivableError(f"a product of more than {TERM_LIMIT} terms", expr.span)
            return left * right
        case Arith("/", a, b):
            return atoms.make(Quotient(go(a), go(b)))
        case Arith("//", a, b):
            return atoms.make(Floor(go(a), go(b)))
        case Arith(_, a, b):
            top, bottom = go(a), go(b)
            return top - bottom * atoms.make(Floor(top, bottom))
        case Neg(a):
            return go(a).scaled(-1)
        case MinMax(op, args):
            values = tuple(dict.fromkeys(go(a) for a in args))
            return _extreme(op, values, atoms)
        case Round(op, Arith("/", a, b)):
            top, bottom = go(a), go(b)
            if atoms.is_integer(bottom):
                return atoms.make(Ceil(top, bottom) if op == "ceil" else Floor(top, bottom))
            ratio = atoms.make(Quotient(top, bottom))
            return atoms.make(Ceil(ratio, ONE) if op == "ceil" else Floor(ratio, ONE))
        case Round(op, a):
            return atoms.make(Ceil(go(a), ONE) if op == "ceil" else Floor(go(a), ONE))
        case Cond(c, a, b):
            return atoms.make(Choice(truth(c, env, atoms), go(a), go(b)))
        case Sum(var, lo, hi, body):
            return _sum(var, go(lo), go(hi), body, env, atoms)
        case Truth() | Compare() | Logic() | Not():
            if isinstance(env, StateEnv):
                return atoms.make(Choice(truth(expr, env, atoms), ONE, ZERO))
            raise UnderivableError("a number is needed here, not a condition", expr.span)
        case _:
            assert_never(expr)


def truth(expr: Expr, env: Env, atoms: Atoms) -> Formula:
    """``expr`` as a formula."""

    def go(e: Expr) -> Formula:
        return truth(e, env, atoms)

    match expr:
        case Truth(value):
            return TRUE if value else FALSE
        case Compare(op, a, b):
            return _compare(op, number(a, env, atoms), number(b, env, atoms))
        case Logic("and", a, b):
            return conj((go(a), go(b)))
        case Logic("or", a, b):
            return disj((go(a), go(b)))
        case Logic(_, a, b):
            return implies(go(a), go(b))
        case Not(a):
            return negated(go(a))
        case Cond(c, a, b):
            cond = go(c)
            return disj((conj((cond, go(a))), conj((negated(cond), go(b)))))
        case Var() | Cell() if isinstance(env, StateEnv):
            return le(ONE, number(expr, env, atoms))
        case Num() | Var() | Cell() | Arith() | Neg() | MinMax() | Round() | Sum():
            raise UnderivableError("a condition is needed here, not a number", expr.span)
        case _:
            assert_never(expr)


def _extreme(op: str, values: tuple[Poly, ...], atoms: Atoms) -> Poly:
    known: list[Number] = [c for v in values if (c := v.constant()) is not None]
    if len(known) > 1:
        best = constant(min(known) if op == "min" else max(known))
        values = (*(v for v in values if v.constant() is None), best)
    return atoms.make(Least(values) if op == "min" else Greatest(values))


def _compare(op: str, left: Poly, right: Poly) -> Formula:
    match op:
        case "<":
            return lt(left, right)
        case "<=":
            return le(left, right)
        case "=":
            return eq(left, right)
        case "!=":
            return negated(eq(left, right))
        case ">=":
            return le(right, left)
        case _:
            return lt(right, left)


def _sum(var: str, lo: Poly, hi: Poly, body: Expr, env: Env, atoms: Atoms) -> Poly:
    first, last = lo.constant(), hi.constant()
    if not isinstance(first, int) or not isinstance(last, int) or last - first > SUM_LIMIT:
        raise UnderivableError("a sum whose range is not a short constant", body.span)
    total = ZERO
    for value in range(first, last):
        total = total + number(body, _binding(env, var, value), atoms)
    return total


def _binding(env: Env, name: str, value: int) -> Env:
    more = {name: constant(value)}
    return env.binding(more) if isinstance(env, StateEnv) else {**env, **more}
