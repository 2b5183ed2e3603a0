"""Where constraints, costs and tie-breaks must have a value: one rule for every method.

At a design the constraints are looked at in order, up to the first that fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from unittest import mock

import pytest
from solver_templates import template

from formwright.base.diagnostics import InputError
from formwright.ir.template import Coefficient, Template
from formwright.milp import defined, exact
from formwright.milp.check import check
from formwright.milp.solve import Solution, solve

METHODS = ("auto", "enumerate", "milp")
MENUS: Mapping[str, Sequence[int]] = {"a": (7, 9), "b": (-2, 0, 9), "c": (1, 2)}


def outcomes(made: Template) -> list[Solution | str]:
    """What each method answers, elimination included; an error as its text."""
    found: list[Solution | str] = []
    for method, direct in (*((m, 1 << 17) for m in METHODS), ("enumerate", 0)):
        with mock.patch.object(exact, "_DIRECT", direct):
            try:
                found.append(solve(made, {}, method))  # type: ignore[arg-type]
            except InputError as error:
                found.append(error.diagnostics[0].message)
    return found


def agreed(made: Template) -> Solution | str:
    first, *rest = outcomes(made)
    for other in rest:
        if isinstance(first, str) or isinstance(other, str):
            assert other == first
        else:
            assert (other.status, other.conflict) == (first.status, first.conflict)
            assert (other.assignment, other.feasible) == (first.assignment, first.feasible)
    return first


PARTS = {"guard": "b >= 1", "divides": "a mod b = 0", "never": "a + c < 0", "free": "c >= 2"}


@pytest.mark.parametrize("order", list(permutations(PARTS)))
def test_an_earlier_constraint_that_fails_guards_the_later_ones(order: tuple[str, ...]) -> None:
    answer = agreed(template(MENUS, {n: PARTS[n] for n in order}, "a + b + c"))
    place = order.index("divides")
    guarded = order.index("guard") < place or order.index("never") < place
    if guarded:
        assert isinstance(answer, Solution)
        assert (answer.status, answer.conflict) == ("infeasible", ("never",))
    else:
        assert isinstance(answer, str)
        assert answer.startswith("constraint divides has no value: mod by -2")
        assert answer.endswith(", at a = 7, b = -2")


@pytest.mark.parametrize("order", list(permutations(("guard", "divides", "free"))))
def test_a_guard_over_other_decisions_too(order: tuple[str, ...]) -> None:
    parts = PARTS | {"guard": "b + c >= 3 and b < 10"}
    answer = agreed(template(MENUS, {n: parts[n] for n in order}, "a + b + c"))
    if order.index("guard") < order.index("divides"):
        assert isinstance(answer, Solution)
        assert answer.assignment == {"a": 9, "b": 9, "c": 2}
    else:
        assert isinstance(answer, str)


CONSTANT = {"zero": "1 // (c - c) >= 1", "false": "1 > 2", "a": "a > 7"}


@pytest.mark.parametrize("order", list(permutations(CONSTANT)))
def test_constraints_without_decisions_follow_the_rule(order: tuple[str, ...]) -> None:
    made = template({"a": (7, 9)}, {n: CONSTANT[n].replace("c", "1") for n in order}, "a")
    answer = agreed(made)
    if order.index("false") < order.index("zero"):
        assert isinstance(answer, Solution)
        assert answer.conflict == ("false",)
    else:
        # ``a > 7`` holds somewhere, so it guards nothing for good.
        assert isinstance(answer, str)
        assert answer.startswith("constraint zero has no value: // by 0")


@pytest.mark.parametrize(
    ("constraints", "bound", "prefer", "message"),
    [
        ({}, "a // b", (), "the cost has no value: // by -2"),
        ({"C": "b >= 0"}, "a // b", (), "the cost has no value: // by 0"),
        ({}, "a if a mod b = 1", (), "the cost has no value: mod by -2"),
        ({}, "a", ("if 4 mod (c - c) = 0 then 1 else 2",), "tie-break 1 has no value: mod by 0"),
        ({}, "a", ("4 mod (3 - 3)",), "tie-break 1 has no value: mod by 0"),
        ({}, "a", ("c", "a // b"), "tie-break 2 has no value: // by -2"),
        ({"C": "b > 0"}, "a // b", ("a // b", "c"), ""),
        ({"C": "b + c > 2"}, "a // b", ("a // b", "c"), ""),
        ({}, "if b > 0 then a // b else 9", ("if b > 0 then a // b else c",), ""),
    ],
)
def test_costs_and_tie_breaks_need_a_value_where_every_constraint_holds(
    constraints: dict[str, str], bound: str, prefer: tuple[str, ...], message: str
) -> None:
    answer = agreed(template(MENUS, constraints, bound, prefer=prefer))
    if message:
        assert isinstance(answer, str)
        assert answer.startswith(message)
    else:
        assert isinstance(answer, Solution)
        assert answer.status == "optimal"


def test_a_bound_needs_a_value_only_where_its_guard_holds() -> None:
    answer = agreed(template(MENUS, {}, "a", "100 + a // b if b > 0"))
    assert isinstance(answer, Solution)
    assert answer.assignment == {"a": 7, "b": -2, "c": 1}


def test_where_the_designs_are_too_many_the_guard_stands_in_the_constraint() -> None:
    made = template(MENUS, {"guard": "b + c >= 10", "divides": "a mod b = 0"}, "a")
    assert solve(made, {}).status == "optimal"
    with (
        mock.patch.object(defined, "LARGEST_GRID", 6),
        pytest.raises(InputError, match="constraint divides may have no value"),
    ):
        solve(made, {})
    inside = template(MENUS, {"divides": "b >= 1 and a mod b = 0"}, "a")
    with mock.patch.object(defined, "LARGEST_GRID", 6):
        assert solve(inside, {}).status == "optimal"


def test_check_calls_it_an_error_only_where_it_is_looked_at() -> None:
    made = template(MENUS, {"guard": "b >= 1", "divides": "a mod b = 0"}, "a")
    point = {"a": 7, "b": 0, "c": 1}
    behind = check(made, {}, point)
    assert (behind.failed, behind.errors) == (("guard", "divides"), {})
    bare = check(template(MENUS, {"divides": "a mod b = 0"}, "a"), {}, point)
    assert bare.failed == ("divides",)
    assert "mod by 0" in bare.errors["divides"]


@pytest.mark.parametrize("place", ["cost", "tie-break"])
def test_a_coefficient_that_is_a_fraction_is_no_integer(place: str) -> None:
    """``g mod 2`` has a value for some coefficients only, and a coefficient can be given."""
    use = "a + (2*g) mod 2 + g mod 2"
    made = template(
        MENUS,
        {},
        use if place == "cost" else "a",
        prefer=(use,) if place == "tie-break" else (),
    )
    assert made.cost is not None
    for default, has_value in ((Fraction(3, 2), False), (Fraction(4), True)):
        cost = replace(made.cost, coefficients=(Coefficient("g", default),))
        answer = agreed(replace(made, cost=cost))
        assert isinstance(answer, Solution) == has_value
        if isinstance(answer, str):
            assert "has no value: mod needs integers" in answer
