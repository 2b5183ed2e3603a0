"""The weakest linear precondition is found by counterexamples, and never claimed without proof."""

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formwright.flow.halfspaces import as_condition, fit, fit_bound
from formwright.flow.inferring import Menus, infer
from formwright.flow.weakening import infer_of
from formwright.ir.evaluate import evaluate, truth
from formwright.ir.expr import Expr
from formwright.ir.inline import inlined
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load
from formwright.proof.verdict import Verdict

Point = dict[str, int]


def _tiling() -> Template:
    return inlined(load("shared_memory_tiling")[1])


def _oracle(rule: Callable[[Point], bool]) -> tuple[Callable[[Point], Verdict], object]:
    def safe(point: Point) -> Verdict:
        return "proved" if rule(point) else "refuted"

    def under(condition: Expr, menus: Menus) -> tuple[Verdict, Point]:
        for values in product(*menus.values()):
            point = dict(zip(menus, values, strict=True))
            if truth(condition, point) and not rule(point):
                return "refuted", point
        return "proved", {}

    return safe, under


@settings(deadline=None, max_examples=10)
@given(
    st.tuples(*[st.sampled_from((-1, 0, 1))] * 3),
    st.integers(-3, 3),
)
@pytest.mark.slow
def test_any_single_half_space_with_small_coefficients_is_found(
    coefficients: tuple[int, int, int], bound: int
) -> None:
    def rule(point: Point) -> bool:
        s, p, beta = point["S"], point["P"], point["beta"]
        return coefficients[0] * s + coefficients[1] * p + coefficients[2] * beta <= bound

    safe, under = _oracle(rule)
    found = infer(_tiling(), safe, under)  # type: ignore[arg-type]
    assert found.weakest
    assert found.condition is not None
    for s, p, beta in product((1, 2, 3), (0, 1, 2, 3), (0, 1)):
        point = {"S": s, "P": p, "beta": beta}
        assert truth(found.condition, point) == rule(point)


def test_two_half_spaces_are_joined() -> None:
    safe, under = _oracle(lambda p: p["P"] <= p["S"] - 1 and p["P"] >= 1)
    found = infer(_tiling(), safe, under)  # type: ignore[arg-type]
    assert found.weakest
    assert found.condition is not None
    assert not truth(found.condition, {"S": 3, "P": 0, "beta": 1})
    assert truth(found.condition, {"S": 2, "P": 1, "beta": 0})


def test_a_set_that_no_conjunction_describes_is_not_claimed() -> None:
    safe, under = _oracle(lambda p: p["P"] != 1)
    found = infer(_tiling(), safe, under)  # type: ignore[arg-type]
    assert found.condition is None
    assert not found.weakest
    assert "no conjunction" in found.reason


@pytest.mark.parametrize("undecided", ["safe", "under"])
def test_what_the_verifier_leaves_open_is_never_the_weakest(undecided: str) -> None:
    safe, under = _oracle(lambda p: p["P"] <= p["S"] - 1)
    if undecided == "safe":
        found = infer(_tiling(), lambda _: "unresolved", under)  # type: ignore[arg-type]
    else:
        found = infer(_tiling(), safe, lambda c, m: ("unresolved", {}))
    assert not found.weakest
    assert found.reason


@pytest.mark.slow
def test_the_tiling_rule_and_the_one_that_knows_the_extent_are_found_from_nothing() -> None:
    found = infer_of("shared_memory_tiling")
    assert found.weakest
    assert found.condition is not None
    assert show_expr(found.condition) == "P <= S - 2 + beta"
    assert found.wider is not None
    assert show_expr(found.wider) == "P <= S - 2 + beta or ceil(K/Tk) <= S"
    assert found.wider_exact
    assert (found.safe, found.unsafe) == (9, 15)


def test_fit_keeps_what_is_inside_and_cuts_what_is_outside() -> None:
    inside, outside = [{"a": 0, "b": 2}], [{"a": 2, "b": 0}, {"a": 3, "b": 3}]
    cuts = fit(("a", "b"), inside, outside, [])
    assert cuts is not None
    condition = as_condition(cuts)
    assert truth(condition, inside[0])
    assert not any(truth(condition, p) for p in outside)


def test_a_bound_is_never_above_what_is_known() -> None:
    known = [({"S": s, "P": p}, max(s, p)) for s in (1, 2, 3) for p in (0, 1, 2, 3)]
    bound = fit_bound(("S", "P"), known)
    assert bound is not None
    assert all(evaluate(bound, p) <= most for p, most in known)
