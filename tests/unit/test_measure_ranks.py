"""Rank correlation, against that of scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from formwright.measure.statistics import rank_correlation

NUMBERS = st.sampled_from([0.0, 1.0, 2.5, 2.5000001, -3.0, 1e300])


@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=12))
def test_it_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    one, other = zip(*pairs, strict=True)
    found = rank_correlation(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(float(spearmanr(one, other).statistic), abs=1e-12)


def test_where_it_says_nothing() -> None:
    assert rank_correlation([1.0, 2.0], [1.0, 2.0]) is None
    assert rank_correlation([1.0, 2.0, float("nan")], [1.0, 2.0, 3.0]) is None
    assert rank_correlation([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) is None
    assert rank_correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1.0)
