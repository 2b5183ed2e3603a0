"""Time and energy together: fronts of designs, and the least product over sums of choices.

The least product of two positive sums, one choice in each work, stands at a vertex of the convex
hull of all sums (a product does not rise towards the ends of a segment by more than at its ends),
and a vertex of a sum of sets is a sum of their vertices in one direction. So the hulls of the works
are walked together by slope: as many sums as there are vertices, not the product of the sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from formwright.ir.int_arrays import Array

Pair = tuple[Fraction, Fraction]
"""A time and an energy."""


@dataclass(frozen=True, slots=True)
class Sum:
    """``places[i]``: the vertex taken of front ``i``."""

    time: Fraction
    energy: Fraction
    places: tuple[int, ...]


def lower_hull(points: Sequence[tuple[Any, Any]]) -> list[int]:
    """Places of the vertices of the lower left hull, by ascending first and falling second number.

    Of equal points the first is taken. Exact for exact numbers.
    """
    order = sorted(range(len(points)), key=lambda i: (points[i][0], points[i][1], i))
    hull: list[int] = []
    for i in order:
        if hull and points[i][1] >= points[hull[-1]][1]:
            continue
        while len(hull) > 1 and _turns_up(points[hull[-2]], points[hull[-1]], points[i]):
            hull.pop()
        hull.append(i)
    return hull


def _turns_up(a: tuple[Any, Any], b: tuple[Any, Any], c: tuple[Any, Any]) -> bool:
    """``b`` lies on or above the segment from ``a`` to ``c``."""
    return bool((b[0] - a[0]) * (c[1] - a[1]) <= (c[0] - a[0]) * (b[1] - a[1]))


def vertex_sums(fronts: Sequence[Sequence[Pair]], counts: Sequence[Fraction]) -> list[Sum]:
    """All vertices of the sum of the fronts, each times its count.

    Each front is a lower hull: times ascend, energies fall.
    """
    places = [0] * len(fronts)
    time = sum((n * f[0][0] for f, n in zip(fronts, counts, strict=True)), Fraction(0))
    energy = sum((n * f[0][1] for f, n in zip(fronts, counts, strict=True)), Fraction(0))
    found = [Sum(time, energy, tuple(places))]
    edges = sorted(
        ((f[j + 1][1] - f[j][1]) / (f[j + 1][0] - f[j][0]), i, j)
        for i, f in enumerate(fronts)
        for j in range(len(f) - 1)
    )
    for _, i, j in edges:
        step, before = fronts[i][j + 1], fronts[i][j]
        time += counts[i] * (step[0] - before[0])
        energy += counts[i] * (step[1] - before[1])
        places[i] = j + 1
        found.append(Sum(time, energy, tuple(places)))
    return found


def least_product(fronts: Sequence[Sequence[Pair]], counts: Sequence[Fraction]) -> Sum:
    """The sum of one choice in each front whose time times energy is least; the faster of equals.

    Each front is a lower hull and not empty; times and energies are not negative.
    """
    return min(vertex_sums(fronts, counts), key=lambda s: (s.time * s.energy, s.time))


def least_product_below(fronts: Sequence[tuple[Array, Array]], counts: Sequence[float]) -> float:
    """As :func:`least_product`, in floats, of lower hulls given as columns (times, energies).

    Rounded down: the exact product of the same numbers is not below it.
    """
    total_time = sum(n * float(t[0]) for (t, _), n in zip(fronts, counts, strict=True))
    total_energy = sum(n * float(e[0]) for (_, e), n in zip(fronts, counts, strict=True))
    times, energies, slopes = [], [], []
    for (t, e), n in zip(fronts, counts, strict=True):
        dt, de = np.diff(t), np.diff(e)
        times.append(n * dt)
        energies.append(n * de)
        slopes.append(de / dt)
    order = np.argsort(np.concatenate(slopes), kind="stable")
    time = total_time + np.concatenate([[0.0], np.cumsum(np.concatenate(times)[order])])
    energy = total_energy + np.concatenate([[0.0], np.cumsum(np.concatenate(energies)[order])])
    return float(np.min(time * energy)) * (1 - 1e-13 * (2 + len(order)))


def staircase(first: Array, second: Array, ceiling: Array) -> Array:
    """Places of the rows that no other row is below in both: ascending in ``first``.

    ``ceiling``: the upper ends of ``second``, where ``second`` is only known to lie between; a row
    is dropped only if an earlier one's upper end is at most its lower end.
    """
    order = np.lexsort((second, first))
    least = np.minimum.accumulate(ceiling[order])
    kept = np.ones(order.size, dtype=bool)
    kept[1:] = second[order][1:] < least[:-1]
    return order[kept]


_WEIGHTS = (1.0, 0.0, 64.0, 1 / 64, 8.0, 1 / 8)
"""Of the second number against the first, each in units of its least value."""

_FEW = 256
"""Rows that are sorted without looking for one that beats many."""


def unbeaten(first: Array, top: Array, second: Array, ceiling: Array, few: int = _FEW) -> Array:
    """Places, in order, of the rows that are left when a few rows have dropped what they surely
    beat in both numbers.

    The numbers lie from ``first`` to ``top`` and from ``second`` to ``ceiling``, which is infinite
    for a row that may not be there. Whatever drops a row of these drops one that is left too, so
    that a front of what is left is the front of all: sorting is what fronts cost, and most rows
    are far behind. ``few`` rows or less are left as they are.
    """
    places = np.arange(first.size)
    for weight in _WEIGHTS:
        if places.size <= few:
            break
        a, b = top[places], ceiling[places]
        least = float(np.min(b))
        if not np.isfinite(least):
            break
        # Any row may be taken: which one decides how many are dropped, and no more.
        with np.errstate(all="ignore"):
            reach = a / max(float(np.min(a)), 1e-300) + weight * (b / max(abs(least), 1e-300))
        best = places[int(np.argmin(np.where(np.isfinite(b), reach, np.inf)))]
        beaten = (first[places] > top[best]) & (second[places] > ceiling[best])
        places = places[~beaten]
    return places


@dataclass(frozen=True, slots=True)
class Choice:
    """Figures of a combination, the smaller the better, and the place taken in each front."""

    figures: tuple[Fraction, ...]
    places: tuple[int, ...]


def undominated_sums(
    fronts: Sequence[Sequence[tuple[Fraction, ...]]], counts: Sequence[int], most: int
) -> list[Choice] | None:
    """Sums of one choice in each front that no other sum is at most in all figures.

    ``None`` where more than ``most`` stay after some front.
    """
    width = len(fronts[0][0])
    found = [Choice((Fraction(0),) * width, ())]
    for front, count in zip(fronts, counts, strict=True):
        grown = [
            Choice(
                tuple(a + count * b for a, b in zip(c.figures, figures, strict=True)),
                (*c.places, place),
            )
            for c in found
            for place, figures in enumerate(front)
        ]
        found = _pruned(grown)
        if len(found) > most:
            return None
    return found


def _pruned(choices: list[Choice]) -> list[Choice]:
    kept: list[Choice] = []
    for choice in sorted(choices, key=lambda c: (c.figures, c.places)):
        worse = any(
            all(a <= b for a, b in zip(k.figures, choice.figures, strict=True)) for k in kept
        )
        if not worse:
            kept.append(choice)
    return kept
