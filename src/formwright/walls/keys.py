"""What one row must be no worse in than another to take its place on every chip of a library.

A constraint on the chip counts by the set of chips on which it admits a row: where those sets are
nested, one number says it all, and sizes between two values of a menu are one. The figures count by
the atoms that they read, up or down as they are proved to move with them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm, prod

import numpy as np

from formwright.chip.library import Library
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr, Logic, Var
from formwright.ir.int_arrays import Array, Ints
from formwright.ir.interval import Interval
from formwright.ir.rational_arrays import Exact
from formwright.ir.rewrite import free_names
from formwright.ir.vectorise import Evaluator, Given, Truths, Values
from formwright.milp.monotone import Direction, direction
from formwright.walls.formulation import Need
from formwright.walls.split import sides

Spread = Mapping[str, Exact | Truths]
"""Atoms at all designs, exactly; arrays broadcast to the product of the axes."""

MOST_VERDICTS = 3 * 10**7
"""Verdicts (a value of a constraint's atoms on a chip) that are looked at for its key."""


def keys_of(
    atoms: Spread,
    figures: Sequence[Expr],
    needs: Sequence[Need],
    library: Library,
) -> list[Array]:
    """One key for each group of constraints and each atom of a figure, or two where a figure may
    move either way with it; each broadcasts to all designs. ``figures`` and the constraints'
    remainders are over atoms and fields."""
    ranks = {name: ranked(value) for name, value in atoms.items()}
    chips = {f"chip.{f.name}": Interval(min(f.menu), max(f.menu)) for f in library.fields}
    ranges = chips | {name: _range(value) for name, value in atoms.items()}
    keys: list[Array] = []
    by_atoms: list[Need] = []
    for group in _dropped_together(needs):
        key = _admitting(_all_of(group), atoms, ranks, library)
        if key is None:
            by_atoms += group
        else:
            keys.append(key)
    for name in atoms:
        part = Var(name)
        moves = [direction(f, part, ranges) for f in figures]
        moves += [_need_direction(n, part, ranges) for n in by_atoms]
        sign = _agreed(moves)
        if sign is None or sign > 0:
            keys.append(ranks[name])
        if sign is None or sign < 0:
            keys.append(int(ranks[name].max(initial=0)) - ranks[name])
    return keys


def _dropped_together(needs: Sequence[Need]) -> list[list[Need]]:
    """Constraints that the same removed walls drop: they admit a row together or not at all."""
    groups: dict[frozenset[str], list[Need]] = {}
    for need in needs:
        groups.setdefault(need.fields, []).append(need)
    return list(groups.values())


def _all_of(needs: Sequence[Need]) -> Expr:
    whole = needs[0].remainder
    for need in needs[1:]:
        whole = Logic("and", whole, need.remainder)
    return whole


def ranked(value: Exact | Truths) -> Array:
    """The place of each exact value among all; what has no value stands alone."""
    if isinstance(value, Truths):
        return np.asarray(value.value).astype(np.int64)
    num, den = np.broadcast_arrays(np.asarray(value.num.a), np.asarray(value.den.a))
    ranks = _places(num) if isinstance(value.den.a, int) else _ranked_quotients(num, den)
    if value.bad is not False:
        ranks, bad = np.broadcast_arrays(ranks, np.asarray(value.bad))
        alone = int(ranks.max(initial=0)) + 1 + np.arange(ranks.size).reshape(ranks.shape)
        ranks = np.where(bad, alone, ranks)
    return ranks


def _places(column: Array) -> Array:
    """The place of each number among the distinct ones."""
    _, ranks = np.unique(column, return_inverse=True)
    return np.asarray(ranks, dtype=np.int64).reshape(column.shape)


def _ranked_quotients(num: Array, den: Array) -> Array:
    """By floats where they tell two quotients apart, exactly where they do not."""
    common = np.gcd(num, den)
    num, den = num // common, den // common
    code = combined([_places(num), _places(den)])
    _, first = np.unique(code, return_index=True)
    pairs = list(zip(num.reshape(-1)[first].tolist(), den.reshape(-1)[first].tolist(), strict=True))
    near = np.array([n / d for n, d in pairs])
    order = np.argsort(near, kind="stable")
    ascending = near[order]
    close = np.flatnonzero(np.diff(ascending) <= 1e-14 * np.abs(ascending[1:]))
    for start, stop in _runs(close):
        run = order[start : stop + 1]
        order[start : stop + 1] = sorted(run, key=lambda i: Fraction(*pairs[i]))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return place[code]


def _runs(places: Array) -> list[tuple[int, int]]:
    """Runs of neighbours: first place and the place behind the last pair."""
    runs: list[tuple[int, int]] = []
    for place in places.tolist():
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


def combined(columns: Sequence[Array]) -> Array:
    """One number for each combination of values, from 0, in no order of meaning."""
    code: Array = np.zeros((), dtype=np.int64)
    for column in columns:
        code = _places(code * (int(column.max(initial=0)) + 1) + column)
    return code


def _admitting(
    condition: Expr, atoms: Spread, ranks: Mapping[str, Array], library: Library
) -> Array | None:
    """The place of each row by the chips that ``condition`` excludes it from, if those sets are
    nested and few enough to look at."""
    named = free_names(condition)
    own = [n for n in atoms if n in named]
    code = combined([ranks[n] for n in own])
    _, first = np.unique(code, return_index=True)
    fields = [f for f in library.fields if f"chip.{f.name}" in named]
    chips = prod(len(f.menu) for f in fields)
    if first.size * chips > MOST_VERDICTS:
        return None
    given: dict[str, Given] = {n: _picked(atoms[n], code.shape, first) for n in own}
    places = np.indices([len(f.menu) for f in fields]).reshape(len(fields), -1)
    for field, place in zip(fields, places, strict=True):
        given[f"chip.{field.name}"] = _menu(field.menu, place)
    try:
        truths = Evaluator(given, wide=True).truths(condition)
    except EvaluationError:
        return None
    shape = (first.size, chips)
    held = np.broadcast_to(np.asarray(truths.value), shape)
    if truths.bad is not False:
        held = held & ~np.broadcast_to(np.asarray(truths.bad), shape)
    admitted = held.sum(axis=1)
    order = np.argsort(-admitted, kind="stable")
    if np.any(held[order[1:]] & ~held[order[:-1]]):
        return None
    return _places(-admitted)[code]


def _picked(value: Exact | Truths, shape: tuple[int, ...], places: Array) -> Given:
    """An atom at some flat places of ``shape``, as a column against the chips."""

    def taken(column: Array) -> Array:
        return np.broadcast_to(column, shape).reshape(-1)[places][:, None]

    if isinstance(value, Truths):
        return Truths(taken(np.asarray(value.value)))
    pair = [
        x if isinstance(x.a, int) else Ints(taken(x.a), x.lo, x.hi) for x in (value.num, value.den)
    ]
    return Exact(pair[0], pair[1])


def _menu(menu: Sequence[int | Fraction], place: Array) -> Exact:
    """The values of a menu at some places, as a row against the designs."""
    values = [Fraction(v) for v in menu]
    common = lcm(*(v.denominator for v in values))
    nums = np.array([int(v * common) for v in values])[place][None, :]
    return Exact(Ints(nums, int(nums.min()), int(nums.max())), Ints(common, common, common))


def _need_direction(need: Need, part: Var, ranges: Mapping[str, Interval]) -> Direction:
    excess = sides(need.remainder)
    if excess is None:
        return 0 if part.name not in free_names(need.remainder) else None
    return direction(excess, part, ranges)


def _agreed(moves: Sequence[Direction]) -> Direction:
    if None in moves:
        return None
    signs = set(moves) - {0}
    return None if len(signs) > 1 else (signs.pop() if signs else 0)


def _range(value: Values) -> Interval:
    if not isinstance(value, Exact):
        return Interval(0, 1)
    num, den = value.num, value.den
    corners = [Fraction(n, d) for n in (num.lo, num.hi) for d in (den.lo, den.hi)]
    return Interval(min(corners), max(corners))
