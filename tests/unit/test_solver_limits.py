"""Large menus, errors in constraints, deadlines: what the solver does at its limits."""

import os
import signal
import time
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from solver_templates import template

from formwright.base.diagnostics import InputError
from formwright.milp import exact, highs
from formwright.milp.highs import Arrays, minimise
from formwright.milp.solve import solve

LARGE = template(
    {
        "a": (1, 2, 4, 8, 16, 32),
        "b": (1, 2, 4, 8, 16, 32),
        "c": (1, 2, 4, 8),
        "d": (1, 2, 4, 8, 16),
        "e": (1, 2, 3, 4),
        "f": (1, 2, 4, 8),
        "g": (8, 16, 32, 64, 128),
        "h": (1, 2, 3),
        "i": (0, 1, 2, 3, 4),
        "j": (1, 2, 3, 4, 8),
    },
    {
        "C1": "a*b*c*d <= 4096",
        "C2": "4*(a*g + b*g)*h <= 16384",
        "C3": "e*f <= 24",
        "C4": "i <= h + 3",
        "C5": "j*c >= 4",
        "C6": "a*b*c*d*e*f*g*h >= 1024",
    },
    "100000/(a*b*c*d*e*f*g*h) + ceil(4096/a)*ceil(4096/b)*3/100000 + 5*i + j*h/7",
    "ceil(1000/(c*d))*(e+f) + ceil(512/g)*(1+j)/3",
    "a*b*c*d*e*f*g*h/65536 + 3*i if h > 1",
    prefer=("g*h*(a+b)",),
)
"""Ten decisions and 4.3 M points; one term is a product over eight of them."""


@pytest.mark.slow
def test_a_large_template_by_both_methods() -> None:
    found = solve(LARGE, {}, "enumerate")
    assert found.note.endswith("of 4320000 points were enumerated")
    with mock.patch.object(exact, "_DIRECT", 10**9):
        direct = solve(LARGE, {}, "enumerate")
    milp = solve(LARGE, {}, "milp")
    assert found.status == direct.status == milp.status == "optimal"
    assert found.objective == direct.objective == milp.objective
    assert found.assignment == direct.assignment == milp.assignment
    assert found.feasible == direct.feasible
    assert milp.variables < 8000


def test_beyond_enumeration_the_choice_is_milp() -> None:
    wide = {n: tuple(range(1, 101)) for n in "abcdef"}
    # The product ties all six together, so no decision is local to a monotone term.
    big = template(wide, {"C": "a + b + c + d + e + f >= 550"}, "(a - 50)*(b - 50) + c*d - e*f")
    with mock.patch.object(exact, "LARGEST", 10**6):
        assert solve(big, {}, "enumerate").status == "unresolved"
        small = solve(template({"a": (1, 2)}, {}, "a"), {})
        assert small.solver == "enumeration"
        solution = solve(big, {}, time_limit=20)
    assert solution.solver == "HiGHS"
    assert solution.bound_kind == "solver bound"


def test_elimination_reaches_past_a_billion_points() -> None:
    menus = {n: tuple(range(1, 11)) for n in "abcdefghij"}
    total = " + ".join(menus)
    big = template(menus, {f"C{n}": f"{n} >= 3" for n in "abcde"}, total)
    solution = solve(big, {})
    assert solution.status == "optimal"
    assert solution.objective == 20
    assert solution.feasible == 8**5 * 10**5
    assert solution.bound_kind == "exact"


def test_menus_past_the_limit_are_refused() -> None:
    menus = {f"d{i}": tuple(range(100)) for i in range(10)}
    with pytest.raises(InputError, match=r"the menus span 1e\+20 points"):
        solve(template(menus, {}, "d0"), {})


def test_an_empty_menu_is_infeasible_by_name() -> None:
    empty = template({"a": (1, 2), "b": ()}, {"C": "a > 0"}, "a")
    for method in ("auto", "milp"):
        solution = solve(empty, {}, method)  # type: ignore[arg-type]
        assert solution.status == "infeasible"
        assert solution.conflict == ("menu b",)


def test_no_decisions_and_no_cost() -> None:
    constant = solve(template({}, {"C": "1 < 2"}, "7/2"), {})
    assert (constant.status, constant.objective) == ("optimal", Fraction(7, 2))
    free = template({"a": (1, 2, 3)}, {"C": "a > 1"})
    for method in ("enumerate", "milp"):
        solution = solve(free, {}, method)  # type: ignore[arg-type]
        assert (solution.status, solution.assignment) == ("optimal", {"a": 2})
        assert solution.objective is None


def test_ties_beyond_the_grid_are_found_through_the_settled_decisions() -> None:
    menus = {n: tuple(range(1, 11)) for n in "abcdefghij"}
    total = " + ".join(f"ceil({n}/2)" for n in menus)
    big = template(menus, {"C": "a + b >= 4"}, total, prefer=("0 - c", "j"))
    solution = solve(big, {}, ties=True)
    assert solution.objective == 10
    # a = b = 2 (both ceilings 1), and 1 or 2 for each of the other eight.
    assert len(solution.ties) == 2**8
    first = dict.fromkeys("abcdefghij", 1) | {"a": 2, "b": 2, "c": 2}
    assert solution.assignment == solution.ties[0] == first


@pytest.mark.parametrize("method", ["enumerate", "milp"])
def test_a_constraint_without_a_value_is_an_error_by_name(method: str) -> None:
    broken = template({"a": (0, 1, 2), "b": (1, 2)}, {"C7": "12 // a >= b"}, "a")
    with pytest.raises(InputError, match="constraint C7 has no value: // by 0"):
        solve(broken, {}, method)  # type: ignore[arg-type]
    guarded = template({"a": (0, 1, 2), "b": (1, 2)}, {"C7": "a > 0 and 12 // a >= b"}, "a")
    assert solve(guarded, {}, method).assignment == {"a": 1, "b": 1}  # type: ignore[arg-type]


def test_a_cost_without_a_value_at_a_feasible_point_is_an_error() -> None:
    menus = {"a": (0, 1, 2)}
    with pytest.raises(InputError, match="the cost has no value: division by 0"):
        solve(template(menus, {}, "1/a"), {})
    assert solve(template(menus, {"C": "a > 0"}, "1/a"), {}).objective == Fraction(1, 2)
    with pytest.raises(InputError, match="the cost has no value"):
        solve(template(menus, {}, "a if a > 1"), {})


@pytest.mark.parametrize("method", ["enumerate", "milp"])
def test_rational_constraints_hold_exactly_at_the_border(method: str) -> None:
    menus = {"a": (1, 2, 3, 4), "b": (3, 7, 9)}
    thirds = template(menus, {"C": "a/3 + 1/b <= 4/3", "D": "a/b >= 1/3"}, "0 - a/b - 1/b/1000")
    solution = solve(thirds, {}, method)  # type: ignore[arg-type]
    assert solution.assignment == {"a": 3, "b": 3}
    assert solution.objective == Fraction(-3001, 3000)


def test_integers_past_64_bits_stay_exact() -> None:
    menus = {"a": (2**40, 2**40 + 1), "b": (2**40 - 1, 2**40)}
    big = template(menus, {"C": f"a*b > {2**80}"}, "a*b*a*b")
    solution = solve(big, {})
    assert solution.feasible == 1
    assert solution.objective == (2**40 + 1) ** 2 * 2**80


def test_close_costs_are_told_apart_exactly() -> None:
    menus = {"a": (1, 2), "b": (1, 2)}
    close = template(menus, {}, "1/3 + a/1000000000000000000000 - b/10000000000000000000000")
    assert solve(close, {}).assignment == {"a": 1, "b": 2}


def market_split(rows: int, columns: int) -> Arrays:
    """A tiny equality system that branch and bound needs very long for."""
    pick = np.random.default_rng(5)
    weights = pick.integers(0, 100, size=(rows, columns)).astype(float)
    slack = np.eye(rows)
    matrix = np.hstack([weights, slack, -slack])
    target = np.floor(weights.sum(axis=1) / 2)
    width = matrix.shape[1]
    return Arrays(
        cost=np.r_[np.zeros(columns), np.ones(2 * rows)],
        lows=np.zeros(width),
        highs=np.r_[np.ones(columns), np.full(2 * rows, 1e3)],
        integer=np.r_[np.ones(columns, bool), np.zeros(2 * rows, bool)],
        row_lows=target,
        row_highs=target,
        starts=np.arange(0, rows * width + 1, width, dtype=np.int32),
        index=np.tile(np.arange(width, dtype=np.int32), rows),
        value=matrix.ravel(),
    )


def test_a_run_that_ignores_its_limit_is_killed_with_what_it_found() -> None:
    arrays = market_split(6, 50)
    # HiGHS is told 1000 seconds, as if it did not look at its clock.
    with (
        mock.patch.object(highs, "_GRACE_SECONDS", -1000.0),
        mock.patch.object(highs, "_QUIET_COLUMNS", 0),
    ):
        highs.stop()
        start = time.monotonic()
        answer = minimise(arrays, 1.0)
    assert time.monotonic() - start < 3.0
    assert answer.status == "cut off"
    assert "killed after 1 s" in answer.reason
    assert answer.values is not None
    assert answer.bound <= answer.objective
    assert minimise(market_split(1, 5), 10.0).status == "optimal"


def test_a_child_that_dies_is_a_failure_with_a_reason() -> None:
    assert minimise(market_split(1, 5), 10.0).status == "optimal"
    pid = highs.child_id()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    answer = minimise(market_split(1, 5), 0.4)
    assert answer.status == "cut off"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert minimise(market_split(1, 5), 10.0).status == "optimal"


def test_a_solve_past_its_time_is_unresolved_never_a_success() -> None:
    solution = solve(LARGE, {}, "milp", time_limit=0.0)
    assert solution.status == "unresolved"
    assert solution.note
    assert solution.gap is None
