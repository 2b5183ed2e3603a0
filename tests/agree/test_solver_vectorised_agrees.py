"""The vectorised and the interval reader against ``evaluate``, on random expressions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from strategies_expr import MENUS, expressions, numbers

from effort import examples
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Compare, Cond, Expr, Logic, Num, Round, Scalar, Sum, Var, num
from formwright.ir.interval import Interval, bounds
from formwright.ir.vectorise import Evaluator, Truths, exactly, vectorised

NAMES = tuple(MENUS)
POINTS = [dict(zip(NAMES, p, strict=True)) for p in product(*MENUS.values())]


def grid() -> dict[str, np.ndarray]:
    return dict(zip(NAMES, np.ix_(*(np.array(m) for m in MENUS.values())), strict=True))


def flat() -> dict[str, np.ndarray]:
    return {n: np.array([p[n] for p in POINTS]) for n in NAMES}


def values(expr: Expr) -> list[Scalar | None]:
    """``evaluate`` at each point; ``None`` where it has no value."""
    found: list[Scalar | None] = []
    for point in POINTS:
        try:
            found.append(evaluate(expr, point))
        except EvaluationError:
            found.append(None)
    return found


relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@relaxed
@given(expressions)
def test_exact_values_and_missing_places_agree(expr: Expr) -> None:
    expected = values(expr)
    result = Evaluator(flat()).run(expr)
    bad = np.broadcast_to(np.asarray(result.bad), (len(POINTS),))
    assert list(bad) == [v is None for v in expected]
    if any(v is None for v in expected):
        with pytest.raises(EvaluationError):
            exactly(expr, flat())
        return
    assert exactly(expr, flat()) == expected
    assert isinstance(result, Truths) == isinstance(expected[0], bool)


@relaxed
@given(expressions)
def test_broadcast_grid_agrees(expr: Expr) -> None:
    expected = values(expr)
    if any(v is None for v in expected):
        with pytest.raises(EvaluationError):
            vectorised(expr, grid())
        return
    shape = tuple(len(m) for m in MENUS.values())
    got = np.broadcast_to(vectorised(expr, grid()), shape).ravel()
    for have, want in zip(got, expected, strict=True):
        assert want is not None
        if got.dtype != np.float64:
            assert have == want


@relaxed
@given(numbers())
def test_error_bounds_of_floats_hold(expr: Expr) -> None:
    result = Evaluator(flat()).number(expr)
    expected = values(expr)
    if not hasattr(result, "error"):
        return
    for have, want in zip(np.broadcast_to(result.value, (len(POINTS),)), expected, strict=True):
        if want is not None:
            assert abs(Fraction(float(have)) - want) <= Fraction(result.error)
            assert abs(want) <= Fraction(result.size)


@relaxed
@given(expressions)
def test_interval_contains_every_value(expr: Expr) -> None:
    ranges = {n: Interval(min(m), max(m)) for n, m in MENUS.items()}
    interval = bounds(expr, ranges)
    for value in values(expr):
        if value is not None:
            assert int(value) in interval if isinstance(value, bool) else value in interval


def test_interval_of_a_guarded_branch_is_the_branch() -> None:
    expr = Cond(Compare("<", Var("x"), num(4)), num(1), num(100))
    assert bounds(expr, {"x": Interval(0, 3)}) == Interval(1, 1)
    assert bounds(Arith("mod", Var("x"), num(8)), {"x": Interval(0, 3)}) == Interval(0, 3)
    assert bounds(Arith("*", Var("x"), Var("y")), {"x": Interval(0, 0)}) == Interval(0, 0)


def test_overflow_of_64_bits_stays_exact() -> None:
    big = Arith("*", Arith("*", Var("x"), Var("x")), Var("x"))
    xs = np.array([2**40, 2**40 + 1])
    below = Compare("<", Arith("*", num(1), big), Num(Fraction((2**40) ** 3 + 1)))
    assert list(vectorised(below, {"x": xs})) == [True, False]
    assert exactly(big, {"x": xs}) == [2**120, (2**40 + 1) ** 3]
    third = Round("ceil", Arith("/", big, Num(Fraction((2**40) ** 3))))
    assert list(vectorised(third, {"x": xs})) == [1, 2]


def test_rationals_with_unlike_denominators_compare_exactly() -> None:
    p, q = 10**9 + 7, 10**9 + 9
    left = Arith("/", Var("x"), num(p * q))
    right = Arith("/", Arith("/", Var("x"), num(q)), num(p))
    xs = np.array([10**12 + 1, 10**13 + 3])
    assert list(vectorised(Compare("=", left, right), {"x": xs})) == [True, True]
    nudged = Arith("+", right, Num(Fraction(1, 10**40)))
    assert list(vectorised(Compare("<", left, nudged), {"x": xs})) == [True, True]
    assert list(vectorised(Compare(">=", left, nudged), {"x": xs})) == [False, False]


def test_guards_hide_divisions_and_errors_say_where() -> None:
    ratio = Arith("//", num(12), Var("x"))
    guarded = Logic("and", Compare(">", Var("x"), num(0)), Compare(">", ratio, num(3)))
    assert list(vectorised(guarded, {"x": np.array([0, 3, 4])})) == [False, True, False]
    with pytest.raises(EvaluationError, match="// by 0"):
        vectorised(ratio, {"x": np.array([1, 0])})


def test_sum_with_ranges_that_differ_by_point() -> None:
    expr = Sum("i", num(0), Var("x"), Arith("*", Var("i"), Var("y")))
    got = vectorised(expr, {"x": np.array([0, 3, 5]), "y": np.array([7, 2, 1])})
    assert list(got) == [0, 6, 10]
    with pytest.raises(EvaluationError, match="longer than"):
        vectorised(expr, {"x": np.array([2_000_000]), "y": np.array([1])})


def test_sums_inside_sums_keep_their_axes() -> None:
    inner = Sum("i", num(-2), Var("x"), num(2**62))
    outer = Sum("i", num(-2), num(0), inner)
    grid = {"x": np.array([[1, 3]]), "y": np.array([[1], [2]])}
    small = Compare("<", outer, Num(Fraction(2**65)))
    assert np.broadcast_to(vectorised(small, grid), (2, 2)).tolist() == [[True, False]] * 2
    assert exactly(outer, {"x": np.array([1, 3])}) == [6 * 2**62, 10 * 2**62]


def test_long_sums_are_one_pass_and_hopeless_ones_are_refused() -> None:
    cubes = Sum("i", num(0), Var("n"), Arith("*", Arith("*", Var("i"), Var("i")), Var("x")))
    got = vectorised(cubes, {"n": 500_000, "x": np.arange(4)})
    each = sum(i * i for i in range(500_000))
    assert list(got) == [0, each, 2 * each, 3 * each]
    thirds = Sum("i", num(0), num(3), Arith("/", num(1), Arith("+", Var("i"), Var("x"))))
    assert exactly(thirds, {"x": np.array([1, 2])}) == [Fraction(11, 6), Fraction(13, 12)]
    with pytest.raises(EvaluationError, match="too much work"):
        vectorised(cubes, {"n": 999_999, "x": np.arange(5_000)})
