"""Instances of theorems about products, recognised without the solver's side.

Nothing is a theorem because it looks like one: what a clause concludes is computed from its
own conditions and compared. The schemas hold of all rationals and are closed under renaming
of symbols, so what was recognised once may be renamed with its core.
"""

from collections.abc import Iterable

from formwright.proof.assertions import Any, Not, Row, Statement, factors, product, row


def is_theorem(statement: Statement) -> bool:
    """Whether ``statement`` is an instance of one of the schemas.

    ``s``, ``x``, ``y``, ``n`` symbols, ``L``, ``D`` sums, ``m`` a product, ``b``, ``v`` numbers::

        s < 1  or  L < b  or  s*L >= s*b         n <= 0 or ... or  n*n*... > 0
        L != b  or  m*L = m*b                    n < 1 or ...  or  n*n*... >= 1
        s != v  or  D = 0, where D with v for s vanishes
        x > 0  or  y <= 0  or  x*y <= 0
    """
    match statement:
        case Any((*conditions, Row() as conclusion)):
            return (
                _signs(conditions, conclusion)
                or _scaled(conditions, conclusion)
                or any(_follows(c, conclusion) for c in conditions)
            )
    return False


def _scaled(conditions: list[Statement], conclusion: Row) -> bool:
    factors_ = [n for c in conditions if (n := _below_one(c)) is not None]
    for condition in conditions:
        match condition:
            case Row("<", terms, bound):
                for s in factors_:
                    whole = [(_by(n, (s,)), -c) for n, c in terms]
                    if conclusion == row("<=", [*whole, (s, bound)], 0):
                        return True
    return False


def _follows(condition: Statement, conclusion: Row) -> bool:
    """What an equation says of its products."""
    match condition:
        case Not(Row("=", terms, bound)) if terms and conclusion.relation == "=":
            first = factors(terms[0][0])
            for name, _ in conclusion.terms:
                rest = _without(factors(name), first)
                if rest is None or not rest:
                    continue
                whole = [(_by(n, rest), c) for n, c in terms]
                if conclusion == row("=", [*whole, (product(rest), -bound)], 0):
                    return True
            return len(terms) == 1 and _vanishes(terms[0], bound, conclusion)
    return False


def _vanishes(term: tuple[str, int], value: int, conclusion: Row) -> bool:
    name, coefficient = term
    if coefficient != 1 or len(factors(name)) != 1:
        return False
    total: dict[str, int] = {"": -conclusion.bound}
    for whole, c in conclusion.terms:
        rest = [f for f in factors(whole) if f != name]
        key = product(rest)
        total[key] = total.get(key, 0) + c * value ** (len(factors(whole)) - len(rest))
    return not any(total.values())


def _signs(conditions: list[Statement], conclusion: Row) -> bool:
    if len(conclusion.terms) != 1:
        return False
    ((name, coefficient),) = conclusion.terms
    parts = set(factors(name))
    match conclusion.relation, coefficient, conclusion.bound:
        case "<", -1, 0:
            return parts <= _named("<=", 1, 0, conditions)
        case "<=", -1, -1:
            return parts <= _named("<", 1, 1, conditions)
        case "<=", 1, 0 if len(factors(name)) == 2:
            above, below = _named("<", -1, 0, conditions), _named("<=", 1, 0, conditions)
            x, y = factors(name)
            return (x in above and y in below) or (y in above and x in below)
    return False


def _named(
    relation: str, coefficient: int, bound: int, conditions: Iterable[Statement]
) -> set[str]:
    """The symbols of conditions of that form."""
    return {
        c.terms[0][0]
        for c in conditions
        if isinstance(c, Row)
        and (c.relation, c.bound) == (relation, bound)
        and len(c.terms) == 1
        and c.terms[0][1] == coefficient
    }


def _below_one(condition: Statement) -> str | None:
    match condition:
        case Row("<", ((name, 1),), 1) if len(factors(name)) == 1:
            return name
    return None


def _by(name: str, more: tuple[str, ...]) -> str:
    return product((*factors(name), *more))


def _without(whole: tuple[str, ...], part: tuple[str, ...]) -> tuple[str, ...] | None:
    rest = list(whole)
    for symbol in part:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return tuple(rest)
