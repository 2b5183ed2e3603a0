"""Cost expressions as functions of floats mean what ``evaluate`` says, where floats are exact."""

from fractions import Fraction
from math import inf

from hypothesis import given
from hypothesis import strategies as st
from strategies_expr import NAMES, conditions, numbers
from test_solver_vectorised_agrees import relaxed

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Expr, Var, num
from formwright.ir.floats import floats
from formwright.ir.rewrite import map_children

dyadic = st.sampled_from([Fraction(n, d) for n in (-3, 0, 1, 2, 5) for d in (1, 2, 4)])
points = st.fixed_dictionaries({n: st.sampled_from([-2, 0, 1, 3, 8]) for n in NAMES})


def without_division(expr: Expr) -> Expr:
    """``expr`` with ``*`` for ``/``: every value is then a float without rounding."""
    inner = map_children(expr, without_division)
    if isinstance(inner, Arith) and inner.op == "/":
        return Arith("*", inner.left, inner.right)
    return inner


@relaxed
@given(st.one_of(numbers(2, NAMES, dyadic), conditions(2, NAMES, dyadic)), points)
def test_floats_are_the_values(expr: Expr, point: dict[str, int]) -> None:
    exact = without_division(expr)
    try:
        value = evaluate(exact, point)
    except EvaluationError:
        return
    assert floats(exact)({n: float(v) for n, v in point.items()}) == float(value)


def test_division_is_rounded_and_never_raises() -> None:
    expr = Arith("/", num(1), Var("x"))
    assert floats(expr)({"x": 3.0}) == 1 / 3
    assert floats(expr)({"x": 0.0}) == inf
    assert floats(Arith("mod", num(1), Var("x")))({"x": -1.0}) == inf
