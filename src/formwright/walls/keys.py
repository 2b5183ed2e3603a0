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
from formwright.walls.columns import Column
from formwright.walls.formulation import Need
from formwright.walls.ranks import combined, places_of
from formwright.walls.split import sides

MOST_VERDICTS = 3 * 10**7
"""Verdicts (a value of a constraint's atoms on a chip) that are looked at for its key."""


def keys_of(
    atoms: Mapping[str, Column],
    figures: Sequence[Expr],
    needs: Sequence[Need],
    library: Library,
) -> list[Array]:
    """One key for each group of constraints and each atom of a figure, or two where a figure may
    move either way with it; each broadcasts to all designs. ``figures`` and the constraints'
    remainders are over atoms and fields."""
    ranks = {name: column.ranks for name, column in atoms.items()}
    chips = {f"chip.{f.name}": Interval(min(f.menu), max(f.menu)) for f in library.fields}
    ranges = chips | {name: _range(column.value) for name, column in atoms.items()}
    keys: list[Array] = []
    by_atoms: list[Need] = []
    for group in _dropped_together(needs):
        key = _admitting(_all_of(group), atoms, library)
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


def _admitting(condition: Expr, atoms: Mapping[str, Column], library: Library) -> Array | None:
    """The place of each row by the chips that ``condition`` excludes it from, if those sets are
    nested and few enough to look at."""
    named = free_names(condition)
    own = [n for n in atoms if n in named]
    if not own:
        return np.zeros((), dtype=np.int64)
    code = combined([atoms[n].ranks for n in own])
    _, first = np.unique(code, return_index=True)
    fields = [f for f in library.fields if f"chip.{f.name}" in named]
    chips = prod(len(f.menu) for f in fields)
    if first.size * chips > MOST_VERDICTS:
        return None
    rows = np.unravel_index(first, code.shape)
    given: dict[str, Given] = {n: _upright(atoms[n].at(rows)) for n in own}
    places = np.indices([len(f.menu) for f in fields]).reshape(len(fields), chips)
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
    return places_of(-admitted)[code]


def _upright(value: Exact | Truths) -> Given:
    """Flat columns as they stand against the chips, which lie along the other axis."""
    if isinstance(value, Truths):
        return Truths(np.asarray(value.value)[:, None])
    num, den = (
        x if isinstance(x.a, int) else Ints(x.a[:, None], x.lo, x.hi)
        for x in (value.num, value.den)
    )
    return Exact(num, den)


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
