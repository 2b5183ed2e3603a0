"""Certificates as data: why a recorded query has no solution, or a point that is one.

A contradiction is a tree. Facts are numbered as they come: those of the assertions that it uses,
in their order, then those of its theorems, then, below a branch, those of the branch. A leaf
adds facts up, each a whole number of times, to a row that says ``0 <= -1``. The rules are in
:mod:`formwright.proof.checker`; docs/certificates.md has the format.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any as Json
from typing import Literal, assert_never

Terms = tuple[tuple[str, int], ...]
Law = Literal["times", "positive", "zero"]


@dataclass(frozen=True, slots=True)
class Form:
    """``sum(c * name for name, c in terms) + constant``."""

    terms: Terms
    constant: int


@dataclass(frozen=True, slots=True)
class Theorem:
    """An instance of a law of ordered rings.

    ``times``: p >= 0 and q >= 0 give p*q >= 0; ``positive``: p > 0 and q > 0 give p*q > 0;
    ``zero``: p = 0 gives p*q = 0.
    """

    law: Law
    p: Form
    q: Form


@dataclass(frozen=True, slots=True)
class Sum:
    """Facts (by number) times whole numbers, from 0 on for inequalities, add up to false."""

    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A fact that is a choice: each alternative leads to a contradiction."""

    fact: int
    branches: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A form of integers is at most ``bound``, or at least ``bound + 1``."""

    terms: Terms
    bound: int
    low: "Tree"
    high: "Tree"


Tree = Sum | Split | Cut


@dataclass(frozen=True, slots=True)
class Contradiction:
    """``uses`` numbers assertions of the query, ascending."""

    uses: tuple[int, ...]
    theorems: tuple[Theorem, ...]
    tree: Tree


@dataclass(frozen=True, slots=True)
class Point:
    """Values for every symbol, at which every assertion of the query holds."""

    values: tuple[tuple[str, Fraction], ...]


Certificate = Contradiction | Point


def certificate_json(certificate: Certificate) -> Json:
    """Plain data; :func:`read_certificate` is its inverse."""
    match certificate:
        case Contradiction(uses, theorems, tree):
            laws = [[t.law, _form_json(t.p), _form_json(t.q)] for t in theorems]
            return {"uses": list(uses), "theorems": laws, "tree": _tree_json(tree)}
        case Point(values):
            return {"point": {n: f"{v.numerator}/{v.denominator}" for n, v in values}}
        case _:
            assert_never(certificate)


def _form_json(form: Form) -> Json:
    return [[list(t) for t in form.terms], form.constant]


def _tree_json(tree: Tree) -> Json:
    match tree:
        case Sum(parts):
            return ["sum", *(list(p) for p in parts)]
        case Split(fact, branches):
            return ["split", fact, *(_tree_json(b) for b in branches)]
        case Cut(terms, bound, low, high):
            return ["cut", [list(t) for t in terms], bound, _tree_json(low), _tree_json(high)]
        case _:
            assert_never(tree)


def read_certificate(value: Json) -> Certificate:
    """Raises ``ValueError`` for data that :func:`certificate_json` would not have written."""
    try:
        found = _read(value)
    except RecursionError as error:
        raise ValueError("not a certificate: too deep") from error
    if certificate_json(found) != value:
        raise ValueError("not a certificate in normal form")
    return found


def _read(value: Json) -> Certificate:
    match value:
        case {"uses": list(uses), "theorems": list(theorems), "tree": tree}:
            kept = tuple(_theorem(t) for t in theorems)
            return Contradiction(tuple(_whole(u) for u in uses), kept, _tree(tree))
        case {"point": dict(values)}:
            return Point(tuple((n, _fraction(v)) for n, v in values.items()))
    raise ValueError(f"not a certificate: {value!r:.80}")


def _theorem(value: Json) -> Theorem:
    match value:
        case ["times" | "positive" | "zero" as law, p, q]:
            return Theorem(law, _form(p), _form(q))
    raise ValueError(f"not a theorem: {value!r:.80}")


def _form(value: Json) -> Form:
    match value:
        case [terms, constant]:
            return Form(_terms(terms), _whole(constant))
    raise ValueError(f"not a form: {value!r:.80}")


def _tree(value: Json) -> Tree:
    match value:
        case ["sum", *parts]:
            return Sum(tuple((_whole(fact), _whole(times)) for fact, times in map(_pair, parts)))
        case ["split", fact, *branches]:
            return Split(_whole(fact), tuple(_tree(b) for b in branches))
        case ["cut", terms, bound, low, high]:
            return Cut(_terms(terms), _whole(bound), _tree(low), _tree(high))
    raise ValueError(f"not a tree: {value!r:.80}")


def _terms(value: Json) -> Terms:
    if not isinstance(value, list):
        raise ValueError(f"not terms: {value!r:.80}")
    found = [(_text(name), _whole(number)) for name, number in map(_pair, value)]
    return tuple(found)


def _pair(value: Json) -> tuple[Json, Json]:
    match value:
        case [first, second]:
            return first, second
    raise ValueError(f"not a pair: {value!r:.80}")


def _whole(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"not a whole number: {value!r:.80}")


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"not a name: {value!r:.80}")


def _fraction(value: Json) -> Fraction:
    top, _, bottom = _text(value).partition("/")
    try:
        return Fraction(int(top), int(bottom))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"not a fraction: {value!r:.80}") from error


def nodes(tree: Tree) -> int:
    """Leaves, splits and cuts."""
    match tree:
        case Sum():
            return 1
        case Split(_, branches):
            return 1 + sum(nodes(b) for b in branches)
        case Cut(_, _, low, high):
            return 1 + nodes(low) + nodes(high)
        case _:
            assert_never(tree)
