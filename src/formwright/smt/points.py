"""Points that premises and runs met before, tried again: a point is rechecked, never believed.

Given the parameters, the runs of different statements are independent of one another, so each
run is looked for by itself, among values that some run had before and the first of everything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any

from formwright.base.digest import digest
from formwright.proof.database import Database
from formwright.smt.atoms import Atoms
from formwright.smt.terms import Formula, Number, polys

POINTS_KEPT = 4
"""How many points are kept for one set of parameters."""

DECIDED = 500
"""How many values of decisions are tried for one set of parameters."""

TRIES = 200
"""How many choices of values one run is looked for among."""

Holds = Callable[[Formula, Mapping[str, Number]], bool]


def point_key(parameters: Iterable[str]) -> str:
    """Where the points of these parameters are kept."""
    return digest(["point", sorted(parameters)])


def kept_points(database: Database, key: str) -> list[dict[str, Number]]:
    """The points kept there, the newest first."""
    rows: Any = database.get("witness", key)
    return [{n: _plain(Fraction(v)) for n, v in row.items()} for row in rows or ()]


def keep_point(database: Database, key: str, values: Mapping[str, Number]) -> None:
    """Keeps a point to be tried again."""
    row = {n: str(v) for n, v in sorted(values.items())}
    rows: Any = database.get("witness", key) or []
    database.put("witness", key, [row, *(r for r in rows if r != row)][:POINTS_KEPT])


def roomier(point: Mapping[str, Number]) -> dict[str, Number]:
    """The same point on a chip with more of everything: a bound may have been raised."""
    return {n: v * 16 if n.startswith("chip.") else v for n, v in point.items()}


def adapted(
    point: Mapping[str, Number],
    formulas: Sequence[Formula],
    menus: Mapping[str, tuple[int, ...]],
    atoms: Atoms,
    holds: Holds,
) -> dict[str, Number] | None:
    """Values for every symbol of ``formulas`` that make them true, with the parameters of
    ``point``; where its decisions do not fit, others of the menus are looked for."""
    fixed = {n: v for n, v in point.items() if "@" not in n}
    runs: dict[frozenset[str], list[Formula]] = {}
    for formula in formulas:
        runs.setdefault(_tags(formula, atoms), []).append(formula)
    premises = runs.pop(frozenset(), [])
    if not _names(premises, atoms) <= set(fixed) | set(menus):
        return None
    if any(v.denominator != 1 for n, v in fixed.items() if n not in atoms.real):
        return None  # kept where the name was a number of the chip
    if not set(menus) <= set(fixed) or not all(holds(f, fixed) for f in premises):
        chosen = _decided(fixed, premises, menus, atoms, holds)
        if chosen is None:
            return None
        fixed = chosen
    found: dict[str, Number] = dict(fixed)
    for tags, mine in sorted(runs.items(), key=lambda item: len(item[0])):
        names = _names(mine, atoms)
        if not {n for n in names if "@" not in n} <= set(fixed):
            return None
        free = sorted(n for n in names if "@" in n and n not in found)
        if len(tags) > 1 and free:
            return None
        choice = next(
            (c for c in _choices(free, point) if all(holds(f, {**found, **c}) for f in mine)), None
        )
        if choice is None:
            return None
        found.update(choice)
    return found


def _decided(
    fixed: Mapping[str, Number],
    premises: Sequence[Formula],
    menus: Mapping[str, tuple[int, ...]],
    atoms: Atoms,
    holds: Holds,
) -> dict[str, Number] | None:
    """Decisions that meet the premises at these parameters, in the order of the menus."""
    values = {n: v for n, v in fixed.items() if n not in menus}
    left = list(menus)
    tests: list[list[Formula]] = [[] for _ in range(len(left) + 1)]
    for formula in premises:
        places = [left.index(n) + 1 for n in _names([formula], atoms) if n in menus]
        tests[max(places, default=0)].append(formula)
    budget = DECIDED

    def go(level: int) -> bool:
        nonlocal budget
        if not all(holds(f, values) for f in tests[level]):
            return False
        if level == len(left):
            return True
        for value in menus[left[level]]:
            budget -= 1
            if budget < 0:
                return False
            values[left[level]] = value
            if go(level + 1):
                return True
        return False

    return values if go(0) else None


def _choices(free: Sequence[str], point: Mapping[str, Number]) -> Iterator[dict[str, Number]]:
    """Values by name: what the point says, what it says of other runs, 0."""
    if all(n in point for n in free):
        yield {n: point[n] for n in free}
    menus: list[list[Number]] = []
    for name in free:
        base = name.partition("@")[0]
        others = [v for n, v in point.items() if n.partition("@")[0] == base]
        menus.append(list(dict.fromkeys((0, *others, 1))))
    for values in islice(product(*menus), TRIES):
        yield dict(zip(free, values, strict=True))


def _names(formulas: Iterable[Formula], atoms: Atoms) -> frozenset[str]:
    direct = {n for f in formulas for p in polys(f) for n in p.symbols()}
    return frozenset(n for n in atoms.closure(direct) if n not in atoms.by_name)


def _tags(formula: Formula, atoms: Atoms) -> frozenset[str]:
    names = _names([formula], atoms)
    return frozenset(n.partition("@")[2] for n in names if "@" in n)


def _plain(value: Fraction) -> Number:
    return value.numerator if value.denominator == 1 else value
