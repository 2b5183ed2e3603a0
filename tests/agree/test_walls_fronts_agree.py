"""Hulls, sums of choices and dominance against trying everything."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.ir.int_arrays import ONES, Array, of_array
from formwright.ir.rational_arrays import Exact
from formwright.milp.dominance import undominated
from formwright.walls.fronts import (
    least_product,
    least_product_below,
    lower_hull,
    staircase,
    unbeaten,
    undominated_sums,
)
from formwright.walls.ranks import ranked
from formwright.walls.works import _stays

whole = st.integers(0, 12).map(Fraction)
pairs = st.lists(st.tuples(whole, whole), min_size=1, max_size=6)
EXAMPLES = settings(max_examples=examples(80), deadline=None)


@given(st.lists(pairs, min_size=1, max_size=3), st.data())
@EXAMPLES
def test_the_least_product_of_sums(
    sets: list[list[tuple[Fraction, Fraction]]], data: st.DataObject
) -> None:
    counts = [Fraction(data.draw(st.integers(1, 3))) for _ in sets]
    hulls = [[points[i] for i in lower_hull(points)] for points in sets]
    best = least_product(hulls, counts)
    chosen = [hull[place] for hull, place in zip(hulls, best.places, strict=True)]
    assert best.time == sum(n * p[0] for n, p in zip(counts, chosen, strict=True))
    assert best.energy == sum(n * p[1] for n, p in zip(counts, chosen, strict=True))
    everything = [
        sum(n * p[0] for n, p in zip(counts, choice, strict=True))
        * sum(n * p[1] for n, p in zip(counts, choice, strict=True))
        for choice in product(*sets)
    ]
    assert best.time * best.energy == min(everything)
    columns = [
        (np.array([float(t) for t, _ in h]), np.array([float(e) for _, e in h])) for h in hulls
    ]
    below = least_product_below(columns, [float(n) for n in counts])
    assert below <= min(everything)
    assert float(min(everything)) * (1 - 1e-9) <= below


@given(st.lists(pairs, min_size=1, max_size=3))
@EXAMPLES
def test_sums_that_no_other_is_below(sets: list[list[tuple[Fraction, Fraction]]]) -> None:
    found = undominated_sums(sets, [1] * len(sets), 10_000)
    assert found is not None
    sums = {tuple(map(sum, zip(*choice, strict=True))) for choice in product(*sets)}
    best = {
        s
        for s in sums
        if not any(o != s and all(a <= b for a, b in zip(o, s, strict=True)) for o in sums)
    }
    assert {c.figures for c in found} == best


def test_too_many_sums_are_no_answer() -> None:
    front = [(Fraction(i), Fraction(9 - i * i)) for i in range(4)]
    assert undominated_sums([front, front], [1, 5], 4) is None


@given(pairs)
@EXAMPLES
def test_a_staircase_has_every_point_that_none_is_below(
    points: list[tuple[Fraction, Fraction]],
) -> None:
    first = np.array([float(p[0]) for p in points])
    second = np.array([float(p[1]) for p in points])
    kept = staircase(first, second, second)
    assert list(np.diff(first[kept]) >= 0).count(False) == 0
    for a, b in points:
        assert any(first[i] <= a and second[i] <= b for i in kept)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(0, 4), min_size=width, max_size=width), min_size=1, max_size=60
        )
    )
)
@EXAMPLES
def test_rows_that_go_are_no_better_than_one_that_stays(rows: list[list[int]]) -> None:
    table = np.array(rows)
    kept = undominated(list(table.T), np.arange(len(rows)))
    assert list(kept) == sorted(set(kept.tolist()))
    for row in rows:
        assert any(np.all(table[i] <= row) for i in kept)
    # Few rows are all compared: what stays is no worse than nothing else.
    for i in kept:
        others = [j for j in range(len(rows)) if j != i]
        assert not any(
            np.all(table[j] <= table[i]) and (np.any(table[j] < table[i]) or j < i) for j in others
        )


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 12)), min_size=1, max_size=30),
    st.booleans(),
)
@EXAMPLES
def test_ranks_compare_as_the_exact_values_do(pairs_: list[tuple[int, int]], wide: bool) -> None:
    scale = 10**25 if wide else 1
    num = np.array([n * scale for n, _ in pairs_], dtype=object if wide else np.int64)
    den = np.array([d * scale + (1 if wide else 0) for _, d in pairs_], dtype=num.dtype)
    given_ = Exact(of_array(num), of_array(den))
    ranks = ranked(given_)
    exact = [Fraction(int(n), int(d)) for n, d in zip(num, den, strict=True)]
    for (r, x), (s, y) in product(zip(ranks, exact, strict=True), repeat=2):
        assert (r < s) == (x < y)
        assert (r == s) == (x == y)
    assert ranked(Exact(of_array(num), ONES)).shape == num.shape


rows = st.lists(st.tuples(whole, whole, whole, whole, st.booleans()), min_size=1, max_size=40)


@given(rows)
@EXAMPLES
def test_what_a_few_rows_beat_is_in_no_front(drawn: list[tuple[Any, ...]]) -> None:
    """Rows between two ends, some of which may not be there: those that stay are the same, in the
    same order, whether or not some were dropped beforehand."""
    first, second = (np.array([float(r[n]) for r in drawn]) for n in (0, 1))
    top = first + np.array([float(r[2]) // 4 for r in drawn])
    ceiling = np.where(
        [r[4] for r in drawn], second + np.array([float(r[3]) // 4 for r in drawn]), np.inf
    )
    left = unbeaten(first, top, second, ceiling, few=0)
    assert list(left) == sorted(set(left))

    def front(places: Array) -> list[int]:
        a, t, b, c = first[places], top[places], second[places], ceiling[places]
        order = np.lexsort((b, a))
        return list(places[order[_stays(a[order], t[order], b[order], c[order])]])

    assert front(left) == front(np.arange(len(drawn)))
    exact = unbeaten(first, first, second, second, few=0)
    of_all = staircase(first, second, second)
    assert list(exact[staircase(first[exact], second[exact], second[exact])]) == list(of_all)
