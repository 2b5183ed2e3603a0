"""Costs of very different sizes: a wrong design is never called optimal."""

from fractions import Fraction
from unittest import mock

import pytest
from solver_templates import template

from formwright.milp import program
from formwright.milp import solve as solving
from formwright.milp.problem import build
from formwright.milp.solve import solve

MENUS = {"a": (12,), "b": (-1, 14, 16), "c": (-2, 1, 6, 12)}
COSTS: dict[str, tuple[str, ...]] = {
    "a large bound": ("8*min(100, floor(b/3))*8000000", "ceil(c/100) + floor(c/2)", "0 - 20"),
    "a guard that never holds": ("max(b, 1)*100*floor(c/2)", "1000000000000 if 1 > 2"),
    "a guard that rarely holds": ("1000000*(1000 - b)", "1000000000000000 if b*c > 100"),
    "a large product": ("b*c + 50", "10000000000000*floor(b/20)*c"),
    "a small part": ("b/1000000000 + c", "1000000000*c - 5"),
    "every bound guarded": ("a + b if b > 0", "c + 1000000000000 if c > 1", "7 - c if b < 1"),
    "close costs": ("1000000000 - b - c",),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("drawn", [False, True])
def test_the_milp_alone_finds_the_least_cost(name: str, drawn: bool) -> None:
    made = (
        template(MENUS, {}, *COSTS[name])
        if name != "every bound guarded"
        else template(MENUS, {"some": "b > 0 or c > 1 or b < 1"}, *COSTS[name])
    )
    wanted = solve(made, {}, "enumerate")
    sampled = program._sampled if drawn else lambda *_: None
    with mock.patch.object(solving, "_COUNTED", 0), mock.patch.object(program, "_sampled", sampled):
        alone = solve(made, {}, "milp")
    assert alone.status == "optimal"
    assert (alone.objective, alone.assignment) == (wanted.objective, wanted.assignment)
    assert alone.bound_kind == "solver bound"
    assert alone.gap == 0.0


FLAT = template(
    {"a": (1, 2), "b": (1, 2), "c": (1, 2), "d": (0, 1)},
    {},
    "100000000000000*(a*b - c*b) + d + 1/1000",
    "0 - 1000",
)
"""Large parts cancel over several decisions: what is left is below what floats tell apart."""


def test_what_floats_cannot_tell_apart_is_unresolved() -> None:
    with mock.patch.object(solving, "_COUNTED", 0):
        alone = solve(FLAT, {}, "milp")
    exact = solve(FLAT, {}, "enumerate")
    if alone.status == "optimal":
        assert alone.objective == exact.objective
    else:
        assert alone.status == "unresolved"
        assert alone.bound is not None
        assert exact.objective is not None
        assert alone.bound <= exact.objective


def test_enumeration_has_the_last_word_where_the_designs_are_few() -> None:
    made = template(MENUS, {}, *COSTS["a large bound"])
    exact = solve(made, {}, "enumerate")
    right = program.solve_program(build(made, {}), 10)
    assert right.objective == exact.objective
    wrong = program.Outcome("optimal", {"a": 12, "b": 14, "c": 12}, Fraction(9), 9.0, 1, 1, True)
    blind = program.Outcome(
        "optimal", right.assignment, right.objective, -5.0, 1, 1, True, "", False, 5.0
    )
    none = program.Outcome("infeasible", None, None, float("inf"), 1, 1, True)
    for outcome in (wrong, blind, none):
        with mock.patch.object(solving, "solve_program", return_value=outcome):
            answer = solve(made, {}, "milp")
        assert answer.status == "optimal"
        assert (answer.assignment, answer.objective) == (exact.assignment, exact.objective)
        assert answer.bound_kind == "exact"
        assert answer.bound == exact.bound
        assert answer.note
        with (
            mock.patch.object(solving, "solve_program", return_value=blind),
            mock.patch.object(solving, "_COUNTED", 0),
        ):
            answer = solve(made, {}, "milp")
        assert answer.status == "unresolved"
        assert "would not have been told apart" in answer.note
