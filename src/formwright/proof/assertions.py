"""A query as data that no solver owns: sorts, and assertions that must contradict one another.

A name is a symbol or a product of symbols (``a*b``, factors in order). Products mean products;
who treats one as a symbol of its own assumes less, so what follows then still follows. Rows are
``sum of coefficient * name`` against a bound, with whole coprime numbers, so that equal rows are
equal data. Reading JSON refuses whatever writing would not have written.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any as Json
from typing import Literal, assert_never, get_args

from formwright.base.digest import digest

Sort = Literal["Int", "Real"]
Relation = Literal["<=", "<", "="]
Role = Literal["goal", "fact", "premise", "menu", "bound", "definition", "lemma"]
"""Where an assertion comes from. ``goal`` is the negated condition; ``fact`` says that runs
happen; ``bound`` and ``menu`` are about decisions; ``lemma`` is an instance of a theorem."""

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class Row:
    """``sum(c * name for name, c in terms) relation bound``; names ascend, no ``c`` is 0."""

    relation: Relation
    terms: tuple[tuple[str, int], ...]
    bound: int


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Statement", ...]


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple["Statement", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Statement"


Statement = Row | All | Any | Not


@dataclass(frozen=True, slots=True)
class Assertion:
    role: Role
    statement: Statement


@dataclass(frozen=True, slots=True)
class Recorded:
    """A query that was asked. ``sorts`` has every symbol that an assertion names, ascending;
    a product with a ``Real`` factor is ``Real``."""

    sorts: tuple[tuple[str, Sort], ...]
    assertions: tuple[Assertion, ...]


def row(relation: Relation, terms: Iterable[tuple[str, Number]], bound: Number) -> Row:
    """A row in normal form; terms of one name are added up, an equation starts positive."""
    total: dict[str, Number] = {}
    for name, coefficient in terms:
        total[name] = total.get(name, 0) + coefficient
    if isinstance(bound, int) and all(isinstance(c, int) for c in total.values()):
        return _row(relation, {n: int(c) for n, c in sorted(total.items()) if c}, bound)
    kept = {n: Fraction(c) for n, c in sorted(total.items()) if c}
    scale = lcm(Fraction(bound).denominator, *(c.denominator for c in kept.values()))
    whole = {n: int(c * scale) for n, c in kept.items()}
    return _row(relation, whole, int(bound * scale))


def _row(relation: Relation, whole: dict[str, int], limit: int) -> Row:
    common = gcd(limit, *whole.values()) or 1
    if relation == "=" and next(iter(whole.values()), limit) < 0:
        common = -common
    return Row(relation, tuple((n, c // common) for n, c in whole.items()), limit // common)


def factors(name: str) -> tuple[str, ...]:
    """The symbols of a product; of a symbol itself."""
    return tuple(name.split("*"))


def product(symbols: Iterable[str]) -> str:
    """The name of a product."""
    return "*".join(sorted(symbols))


def rows(statement: Statement) -> Iterator[Row]:
    """Every row of a statement, negated or not."""
    match statement:
        case Row():
            yield statement
        case All(parts) | Any(parts):
            for part in parts:
                yield from rows(part)
        case Not(part):
            yield from rows(part)
        case _:
            assert_never(statement)


def names(statement: Statement) -> frozenset[str]:
    """Symbols and products that the rows of a statement name."""
    return frozenset(name for r in rows(statement) for name, _ in r.terms)


def symbols(statement: Statement) -> frozenset[str]:
    """The symbols of a statement, those inside products too."""
    return frozenset(s for name in names(statement) for s in factors(name))


def renamed(statement: Statement, to: Mapping[str, str]) -> Statement:
    """Symbols replaced, inside products too; names without a replacement stay."""
    match statement:
        case Row(relation, terms, bound):
            return row(
                relation, [(product(to.get(s, s) for s in factors(n)), c) for n, c in terms], bound
            )
        case All(parts):
            return All(tuple(renamed(p, to) for p in parts))
        case Any(parts):
            return Any(tuple(renamed(p, to) for p in parts))
        case Not(part):
            return Not(renamed(part, to))
        case _:
            assert_never(statement)


def holds(statement: Statement, values: Mapping[str, Number]) -> bool:
    """The exact truth of a statement where symbols have ``values``; products are products."""
    match statement:
        case Row(relation, terms, bound):
            left = sum(c * prod(values[s] for s in factors(n)) for n, c in terms)
            return {"<=": left <= bound, "<": left < bound, "=": left == bound}[relation]
        case All(parts):
            return all(holds(p, values) for p in parts)
        case Any(parts):
            return any(holds(p, values) for p in parts)
        case Not(part):
            return not holds(part, values)
        case _:
            assert_never(statement)


def recorded(sorts: Mapping[str, Sort], assertions: Iterable[Assertion]) -> Recorded:
    """A query with the sorts of the symbols that it names; repeats (role and all) are dropped."""
    kept = tuple(dict.fromkeys(assertions))
    used = sorted({s for a in kept for s in symbols(a.statement)})
    return Recorded(tuple((s, sorts[s]) for s in used), kept)


def sort_of(name: str, sorts: Mapping[str, Sort]) -> Sort:
    """The sort of a symbol or product; raises ``KeyError`` for an unknown symbol."""
    return "Real" if "Real" in [sorts[s] for s in factors(name)] else "Int"


def statement_json(statement: Statement) -> Json:
    """``["<=", [["x", 2], ["x*y", -1]], 3]``, ``["and", …]``, ``["or", …]``, ``["not", s]``."""
    match statement:
        case Row(relation, terms, bound):
            return [relation, [list(t) for t in terms], bound]
        case All(parts):
            return ["and", *(statement_json(p) for p in parts)]
        case Any(parts):
            return ["or", *(statement_json(p) for p in parts)]
        case Not(part):
            return ["not", statement_json(part)]
        case _:
            assert_never(statement)


def query_json(query: Recorded) -> dict[str, Json]:
    """``{"sorts": {name: sort}, "assertions": [[role, statement], …]}``."""
    rows_ = [[a.role, statement_json(a.statement)] for a in query.assertions]
    return {"sorts": dict(query.sorts), "assertions": rows_}


def statement_digest(statement: Statement) -> str:
    """Hex SHA-256 of a statement (names as they stand)."""
    return digest(statement_json(statement))


def query_digest(query: Recorded) -> str:
    """Hex SHA-256 of sorts and assertions, in their order."""
    return digest(query_json(query))


def read_statement(value: Json) -> Statement:
    """The inverse of :func:`statement_json`; raises ``ValueError`` for anything else."""
    match value:
        case ["and", *parts]:
            return All(tuple(read_statement(p) for p in parts))
        case ["or", *parts]:
            return Any(tuple(read_statement(p) for p in parts))
        case ["not", part]:
            return Not(read_statement(part))
        case ["<=" | "<" | "=" as relation, list(terms), bound] if _whole(bound):
            read = row(relation, [_term(t) for t in terms], bound)
            if statement_json(read) == value:
                return read
    raise ValueError(f"not a statement: {value!r:.80}")


def _term(value: Json) -> tuple[str, int]:
    match value:
        case [str(name), coefficient] if _whole(coefficient) and name == product(factors(name)):
            return name, coefficient
    raise ValueError(f"not a term: {value!r:.80}")


def _whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def read_query(value: Json) -> Recorded:
    """The inverse of :func:`query_json`; raises ``ValueError`` for anything else."""
    try:
        kept = tuple(Assertion(_role(r), read_statement(s)) for r, s in value["assertions"])
        query = recorded(value["sorts"], kept)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a query: {error}") from error
    if query_json(query) != value or {s for _, s in query.sorts} - set(get_args(Sort)):
        raise ValueError("not a query in normal form")
    return query


def _role(value: Json) -> Role:
    if value not in get_args(Role):
        raise ValueError(f"not a role: {value!r:.80}")
    role: Role = value
    return role
