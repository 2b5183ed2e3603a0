"""Areas from tables never fall, lie nowhere below their points, and meet what does not fall."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.chip.library_tables import curve, envelope, raised
from formwright.ir.evaluate import evaluate

areas = st.fractions(min_value=0, max_value=50, max_denominator=20)
pairs = st.tuples(st.integers(1, 64), areas)
tables = st.lists(pairs, min_size=2, max_size=8, unique_by=lambda p: p[0])


@settings(max_examples=examples(40), deadline=None)
@given(tables)
def test_the_curve_never_falls_and_covers_its_points(table: list[tuple[int, Fraction]]) -> None:
    points = sorted(table)
    expr = curve(points, "bytes")
    low, high = points[0][0], points[-1][0]
    values = [Fraction(evaluate(expr, {"chip.bytes": x})) for x in range(low, high + 1)]
    assert all(a <= b for a, b in pairwise(values))
    for x, y in points:
        assert values[x - low] >= y
    for x, top in envelope(points):
        assert values[int(x) - low] == top == max(y for at, y in points if at <= x)
        assert (top > dict(points)[int(x)]) == (x in raised(points))
