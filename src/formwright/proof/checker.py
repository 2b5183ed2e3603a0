"""The checker of certificates: whole numbers, no solver, no search.

What is trusted beside the two modules of data: that each rule here is right. Assertions become
facts (negations pushed inward): a row, or a choice of lists of facts. Rules:

1. *tightening*: a row whose names are all integers, divided by the common divisor of its
   coefficients, has its bound rounded down; ``<`` becomes ``<=`` with the bound less 1.
2. *split*: a choice leads to a contradiction if each alternative does.
3. *cut*: a form of integers with whole coefficients is ``<= k`` or ``>= k + 1``.
4. *sum*: rows times whole numbers (from 0 on unless the row is an equation) that cancel every
   name and leave ``0 <= b`` with ``b < 0``, or ``0 < 0``, are a contradiction.
5. *theorems*: the three laws of ordered rings in :class:`~formwright.proof.certificate.Theorem`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import assert_never

from formwright.proof import assertions as data
from formwright.proof.assertions import All, Any, Not, Recorded, Relation, Row, Sort, Statement
from formwright.proof.certificate import (
    Certificate,
    Contradiction,
    Cut,
    Form,
    Point,
    Split,
    Sum,
    Theorem,
    Tree,
)

CLAIM = ("goal", "fact")
"""Roles of which a contradiction uses one: else it would be among the premises."""


class RejectedError(Exception):
    """The certificate does not show what it should; the message says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """At least one of ``ways`` holds, with all of its facts."""

    ways: tuple[tuple["Fact", ...], ...]


Fact = Row | Choice
Sorts = Mapping[str, Sort]


def check(query: Recorded, certificate: Certificate) -> None:
    """Returns if the query has no solution (or the point is one); else raises."""
    sorts = dict(query.sorts)
    try:
        match certificate:
            case Contradiction(uses, theorems, tree):
                if any(not 0 <= n < len(query.assertions) for n in uses):
                    raise RejectedError("it uses an assertion that the query does not have")
                used = [query.assertions[n] for n in uses]
                if not any(a.role in CLAIM for a in used):
                    raise RejectedError("it uses nothing of what is claimed")
                statements = [*(a.statement for a in used), *map(instance, theorems)]
                _check(tree, [f for s in statements for f in facts_of(s, sorts)], sorts)
            case Point(values):
                _check_point(query, dict(values))
            case _:
                assert_never(certificate)
    except KeyError as error:
        raise RejectedError(f"no symbol {error} in the query") from error
    except RecursionError as error:
        raise RejectedError("it is too deep") from error


def facts_of(statement: Statement, sorts: Sorts, holds: bool = True) -> tuple[Fact, ...]:
    """The facts of a statement, or of its negation; all of them hold."""
    match statement:
        case Row("=", terms, bound) if not holds:
            sides = (Row("<", terms, bound), _opposite(Row("<=", terms, bound)))
            return (Choice(tuple((tightened(side, sorts),) for side in sides)),)
        case Row():
            return (tightened(statement if holds else _opposite(statement), sorts),)
        case All(parts) | Any(parts):
            found = tuple(facts_of(part, sorts, holds) for part in parts)
            if isinstance(statement, All) == holds:
                return tuple(fact for facts in found for fact in facts)
            return (Choice(tuple(way for facts in found for way in _ways(facts))),)
        case Not(part):
            return facts_of(part, sorts, not holds)
        case _:
            assert_never(statement)


def _ways(facts: tuple[Fact, ...]) -> tuple[tuple[Fact, ...], ...]:
    return facts[0].ways if len(facts) == 1 and isinstance(facts[0], Choice) else (facts,)


def _opposite(old: Row) -> Row:
    """What holds where an inequality does not."""
    relation: Relation = "<" if old.relation == "<=" else "<="
    return Row(relation, tuple((n, -c) for n, c in old.terms), -old.bound)


def tightened(old: Row, sorts: Sorts) -> Row:
    """Rule 1; an equation without an integer solution becomes ``0 <= -1``."""
    if not old.terms or any(data.sort_of(name, sorts) == "Real" for name, _ in old.terms):
        return old
    common = gcd(*(c for _, c in old.terms))
    if old.relation == "=":
        return old if old.bound % common == 0 else Row("<=", (), -1)
    bound = old.bound - 1 if old.relation == "<" else old.bound
    return Row("<=", tuple((n, c // common) for n, c in old.terms), bound // common)


def instance(theorem: Theorem) -> Statement:
    """A theorem as a statement; products of names are multiplied out."""
    p, q = theorem.p, theorem.q
    match theorem.law:
        case "times":
            return Any((_row(p, "<"), _row(q, "<"), Not(_row(_product(p, q), "<"))))
        case "positive":
            return Any((_row(p, "<="), _row(q, "<="), Not(_row(_product(p, q), "<="))))
        case "zero":
            return Any((Not(_row(p, "=")), _row(_product(p, q), "=")))
        case _:
            assert_never(theorem.law)


def _row(form: Form, relation: Relation) -> Row:
    return data.row(relation, form.terms, -form.constant)


def _product(p: Form, q: Form) -> Form:
    left, right = ((*form.terms, ("", form.constant)) for form in (p, q))
    total: dict[str, int] = {}
    for m, c in left:
        for n, d in right:
            name = data.product(s for part in (m, n) if part for s in data.factors(part))
            total[name] = total.get(name, 0) + c * d
    return Form(tuple((n, c) for n, c in total.items() if n), total[""])


def _check(tree: Tree, facts: list[Fact], sorts: Sorts) -> None:
    match tree:
        case Sum(parts):
            _check_sum(parts, facts)
        case Split(number, branches):
            fact = _fact(facts, number)
            if not isinstance(fact, Choice) or len(fact.ways) != len(branches):
                raise RejectedError(f"fact {number} has no such alternatives")
            for way, branch in zip(fact.ways, branches, strict=True):
                _check(branch, [*facts, *way], sorts)
        case Cut(terms, bound, low, high):
            if any(data.sort_of(name, sorts) == "Real" for name, _ in terms):
                raise RejectedError("a cut at a form that is not of integers")
            below = data.row("<=", terms, bound)
            above = data.row("<=", [(n, -c) for n, c in terms], -bound - 1)
            for side, branch in ((below, low), (above, high)):
                _check(branch, [*facts, tightened(side, sorts)], sorts)
        case _:
            assert_never(tree)


def _check_sum(parts: tuple[tuple[int, int], ...], facts: list[Fact]) -> None:
    total: dict[str, int] = {}
    bound, strict = 0, False
    for number, times in parts:
        fact = _fact(facts, number)
        if not isinstance(fact, Row) or (times < 0 and fact.relation != "="):
            raise RejectedError(f"fact {number} cannot be added {times} times")
        strict = strict or (fact.relation == "<" and times > 0)
        bound += times * fact.bound
        for name, coefficient in fact.terms:
            total[name] = total.get(name, 0) + times * coefficient
    if any(total.values()) or bound > 0 or (bound == 0 and not strict):
        raise RejectedError("the facts do not add up to a contradiction")


def _fact(facts: list[Fact], number: int) -> Fact:
    if not 0 <= number < len(facts):
        raise RejectedError(f"there is no fact {number}")
    return facts[number]


def _check_point(query: Recorded, values: Mapping[str, Fraction]) -> None:
    if set(values) != {name for name, _ in query.sorts}:
        raise RejectedError("the point is not about the symbols of the query")
    if any(sort == "Int" and values[name].denominator != 1 for name, sort in query.sorts):
        raise RejectedError("a value of an integer is not whole")
    for number, assertion in enumerate(query.assertions):
        if not data.holds(assertion.statement, values):
            raise RejectedError(f"assertion {number} is false at the point")
