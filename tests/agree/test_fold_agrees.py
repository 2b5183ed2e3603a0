"""What is left of an expression when some names have values means the same as the whole."""

from hypothesis import given
from strategies_expr import MENUS, expressions
from test_solver_vectorised_agrees import POINTS, relaxed

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr, Num, Scalar, Truth
from formwright.ir.fold import folded
from formwright.ir.rewrite import free_names


def value(expr: Expr, point: dict[str, int]) -> Scalar | None:
    try:
        return evaluate(expr, point)
    except EvaluationError:
        return None


@relaxed
@given(expressions)
def test_the_rest_means_the_same(expr: Expr) -> None:
    for point in POINTS[::9]:
        for kept in (set(), {"a"}, {"b", "c"}, set(MENUS)):
            rest = folded(expr, {n: v for n, v in point.items() if n not in kept})
            assert free_names(rest) <= kept
            assert value(rest, {n: point[n] for n in kept}) == value(expr, point)


@relaxed
@given(expressions)
def test_all_values_leave_a_constant(expr: Expr) -> None:
    for point in POINTS[::11]:
        rest = folded(expr, point)
        assert isinstance(rest, (Num, Truth)) == (value(expr, point) is not None)
