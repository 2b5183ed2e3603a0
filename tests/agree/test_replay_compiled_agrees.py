"""The interpreter's closures mean what ``evaluate`` means, errors included."""

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies_expr import MENUS, expressions

from effort import examples
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr
from formwright.replay.compiled import compile_expr

points = st.fixed_dictionaries({name: st.sampled_from(menu) for name, menu in MENUS.items()})


@settings(max_examples=examples(80), deadline=None)
@given(expressions, points, st.sets(st.sampled_from(sorted(MENUS))))
def test_closures_agree_with_evaluate(expr: Expr, point: dict[str, int], folded: set[str]) -> None:
    """Whichever names are known when the expression is compiled."""
    constants = {n: v for n, v in point.items() if n in folded}
    rest = {n: v for n, v in point.items() if n not in folded}
    code = compile_expr(expr, constants)
    try:
        wanted = evaluate(expr, point)
    except EvaluationError:
        try:
            value = code(rest)
        except EvaluationError:
            return
        raise AssertionError(f"evaluate raises and the closure gives {value}") from None
    got = code(rest)
    assert got == wanted
    assert type(got) is type(wanted)
