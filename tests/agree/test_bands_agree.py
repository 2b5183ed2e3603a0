"""Ranges in floats against exact evaluation: the value of every point lies inside."""

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies_expr import conditions, numbers, plain_constants

from effort import examples
from formwright.ir.band_arrays import Band, BandsError, Value, between, quotients
from formwright.ir.bands import Bands
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr
from formwright.ir.rewrite import interned

NAMES = ("a", "b")
rationals = st.one_of(st.integers(-6, 30).map(Fraction), st.fractions(-3, 20, max_denominator=9))
ranges = st.tuples(rationals, rationals).map(lambda t: (min(t), max(t)))
inner = st.fractions(0, 1, max_denominator=4)


def run(expr: Expr, given_: dict[str, Value]) -> Value:
    with np.errstate(all="ignore"):
        return Bands(given_).run(interned(expr, {}))


def contains(found: Value, exact: object, row: int | None = None) -> bool:
    """Whether an exact result lies inside, in one row of columns where they are."""

    def at(column: object) -> object:
        shaped = np.asarray(column)
        return shaped.item() if shaped.ndim == 0 else shaped[row].item()

    if isinstance(found, Band):
        assert isinstance(exact, int | Fraction)
        return bool(at(found.lo) <= exact <= at(found.hi))  # type: ignore[operator]
    return bool(at(found.may)) if exact else not at(found.sure)


@given(
    st.one_of(numbers(3, NAMES, plain_constants), conditions(2, NAMES, plain_constants)),
    ranges,
    ranges,
    inner,
    inner,
)
@settings(max_examples=examples(120), deadline=None)
def test_values_at_points_of_a_box_lie_inside(
    expr: Expr,
    a: tuple[Fraction, Fraction],
    b: tuple[Fraction, Fraction],
    s: Fraction,
    t: Fraction,
) -> None:
    point = {"a": _plain(a[0] + s * (a[1] - a[0])), "b": _plain(b[0] + t * (b[1] - b[0]))}
    try:
        exact = evaluate(expr, point)
        found = run(expr, {"a": between(*a), "b": between(*b)})
    except (EvaluationError, BandsError):
        assume(False)
        return
    assert contains(found, exact)


@given(
    numbers(3, NAMES, plain_constants),
    st.lists(st.tuples(st.integers(-9, 40), st.integers(1, 7)), min_size=1, max_size=6),
    rationals,
)
@settings(max_examples=examples(80), deadline=None)
def test_columns_of_points_hold_each_row(
    expr: Expr, rows: list[tuple[int, int]], b: Fraction
) -> None:
    columns = np.array(rows)
    try:
        found = run(expr, {"a": quotients(columns[:, 0], columns[:, 1]), "b": between(b, b)})
    except BandsError:
        assume(False)
    for row, (above, below) in enumerate(rows):
        try:
            exact = evaluate(expr, {"a": _plain(Fraction(above, below)), "b": _plain(b)})
        except EvaluationError:
            continue
        assert contains(found, exact, row)


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
