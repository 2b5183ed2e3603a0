"""Totals (S10): a variable that keeps a sum of natural numbers.

That it does is shown by induction, with :mod:`formwright.smt.step.sums`; each summand is
shown to be natural. Of a total ``N`` of ``e`` over ``R`` it follows, for all ``i != j`` in
``R``: ``N >= 0``, ``N >= e(i)``, ``N >= e(i) + e(j)``; with ``e <= u`` the same holds of
``u - e``, whose total is ``u * |R| - N``; and ``N = 0`` where ``R`` is empty.
"""

from collections.abc import Iterator
from fractions import Fraction

from formwright.ir.expr import (
    ZERO,
    Arith,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Num,
    Var,
)
from formwright.ir.rewrite import substitute
from formwright.ir.system import Index, Total
from formwright.smt.encode import UnderivableError, number
from formwright.smt.goals import Query
from formwright.smt.step.known import Case, Universal
from formwright.smt.step.state import Names
from formwright.smt.step.stating import unless_plain
from formwright.smt.terms import ZERO as NOTHING
from formwright.smt.terms import eq, negated


def total_facts(total: Total, names: Names) -> Iterator[Universal]:
    """What is known of a total that holds, for all members of its range."""
    size = _size(total.over)
    whole: Expr = Var(total.name)
    yield Universal((), Compare(">=", whole, ZERO), names)
    yield Universal((), Logic("=>", Compare("<=", size, ZERO), Compare("=", whole, ZERO)), names)
    yield from _at_least(total.over, whole, total.value, names)
    most = _most(total.value)
    if most is not None:
        rest = Arith("-", Arith("*", Num(most), size), whole)
        some = Compare(">=", size, ZERO)
        yield Universal((), Logic("=>", some, Compare(">=", rest, ZERO)), names)
        yield from _at_least(total.over, rest, Arith("-", Num(most), total.value), names)


def _at_least(over: Index, whole: Expr, value: Expr, names: Names) -> Iterator[Universal]:
    other = Index(f"{over.name}'", over.lo, over.hi)
    second = substitute(value, {over.name: Var(other.name)})
    both = Compare(">=", whole, Arith("+", value, second))
    distinct = Compare("!=", Var(over.name), Var(other.name))
    yield Universal((over,), Compare(">=", whole, value), names)
    yield Universal((over, other), Logic("=>", distinct, both), names)


def _size(over: Index) -> Expr:
    if over.lo is None or over.hi is None:
        raise UnderivableError("a total over every integer", over.span)
    return Arith("-", over.hi, over.lo)


def whole_sum(total: Total, names: Names, case: Case) -> list[Query]:
    """That the total is right in the state of ``names``, of which nothing is known before.

    Either the summand is the same at every index, or every summand is 0 and so is the total.
    """
    atoms = names.cells.atoms
    inner_case = case.copy()
    inner = inner_case.arbitrary((total.over,), names)
    other = inner_case.copy().arbitrary((total.over,), names)
    value = number(total.value, inner, atoms)
    kept = number(Var(total.name), names, atoms)
    if value != number(total.value, other, atoms):
        wrong = negated(eq(value, NOTHING))
        return [
            *unless_plain(inner_case, wrong),
            *unless_plain(case, negated(eq(kept, NOTHING))),
        ]
    size = number(MinMax("max", (ZERO, _size(total.over))), names, atoms)
    return unless_plain(case, negated(eq(kept, value * size)))


def _most(value: Expr) -> Fraction | None:
    """A number that ``value`` never exceeds, as it is written."""
    match value:
        case Num(number):
            return number
        case Cond(_, a, b):
            most = [_most(a), _most(b)]
            known = [m for m in most if m is not None]
            return max(known) if len(known) == 2 else None
        case _:
            return None
