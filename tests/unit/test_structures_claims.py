"""Each structure of Table 1: used where its condition is shown, the branch reopened where not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from solver_templates import template

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.interval import Interval
from formwright.ir.structures import Structure
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.lang.parser import parse_expression
from formwright.milp.algebra import Normal, never_above, symmetric
from formwright.milp.declared import Used
from formwright.milp.monotone import direction
from formwright.milp.solve import Solution, solve

POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
HEAD = """template t : operator -> mapping

scope
  workload  C[M,N] = sum(k < K) A[M,k] * B[k,N]
  extents   M >= 1, N >= 1, K >= 1

decisions
  a, b in {1, 2, 4, 8, 16, 32, 64, 128}
  c in {0, 1, 2}

formulation "structures are tried on it"

cost T seconds
  falls = 1024/a
  rises = 3*a
  T >= falls + b + c

structures
"""


def declared(line: str) -> Structure:
    """One line of the section, read by the parser."""
    found = parse(Source("t", f"{HEAD}  {line}\n")).structures
    return found[0]


def solved(made: Template, *lines: str, limit: int = 1, ties: bool = False) -> Solution:
    """The answer with structures, which is the one without."""
    made = replace(made, structures=tuple(declared(x) for x in lines))
    found = solve(made, {}, limit=limit, ties=ties)
    plain = solve(made, {}, limit=limit, ties=ties, structures=False)
    for field in ("status", "assignment", "objective", "feasible", "best", "ties"):
        assert getattr(found, field) == getattr(plain, field), field
    return found


def only(found: Solution) -> Used:
    (used,) = found.structures
    return used


MENUS: dict[str, Sequence[int]] = {"a": POWERS, "b": POWERS, "c": (0, 1, 2)}


def test_a_rank_below_the_cost_orders_the_designs() -> None:
    made = template(MENUS, {}, "1024/a + 3*a + b*(c + 1)")
    found = solved(made, "rank by 1024/a + 3*a")
    assert only(found).verdict == "held"
    assert found.evaluations is not None
    assert found.evaluations < 8 * 8 * 3 / 2
    assert found.parts == 8


def test_a_rank_above_the_cost_somewhere_reopens_all_designs() -> None:
    made = template(MENUS, {}, "1024/a + b + c")
    found = solved(made, "rank by 1026/a")
    assert only(found).verdict == "reopened"
    assert found.reopened == found.structures
    assert found.evaluations == 8 * 8 * 3


def test_rounding_up_only_adds() -> None:
    ranges = {"a": Interval(1, 8), "n": Interval(1, 64)}
    whole = parse_expression("n*ceil(n/a)*a + ceil(ceil(n/a)/2)*2/ceil(n/a)")
    assert never_above(parse_expression("n*n"), whole, ranges)
    assert never_above(parse_expression("n*n + 1"), whole, ranges)
    assert not never_above(parse_expression("n*n + 2"), whole, ranges)


def test_a_knee_is_found_by_halving() -> None:
    made = template({"a": range(1, 65), "b": (1, 2, 3)}, {}, "1000/a + b", "2*a + b")
    found = solved(made, "knee of a")
    assert only(found).verdict == "held"
    assert "knees" in only(found).why
    assert found.evaluations is not None
    # Seven places of a line of 64, and the line of the best design once more in whole.
    assert found.evaluations <= 3 * 7 + 64


def test_without_a_bound_that_rises_the_knee_is_the_edge_of_what_fits() -> None:
    made = template(MENUS, {"C1": "a*b <= 64"}, "1024/a + b + c")
    found = solved(made, "knee of a")
    assert "edges" in only(found).why
    assert found.evaluations is not None
    assert found.evaluations <= 7 * 3 + 8


def test_a_sum_that_falls_and_rises_has_no_knee_that_is_shown() -> None:
    found = solved(template(MENUS, {}, "1024/a + 3*a + b + c"), "knee of a")
    assert only(found).verdict == "reopened"
    assert found.evaluations == 8 * 8 * 3


def test_regions_are_bounded_at_the_best_ends_of_what_moves_one_way() -> None:
    made = template(MENUS, {"C1": "a*(3 - c) <= 128"}, "1024/a + 10*c + b*b")
    found = solved(made, "bound over a, c")
    assert "a = 128, c = 0" in only(found).why
    assert found.evaluations is not None
    assert found.evaluations < 100


def test_a_choice_that_turns_once_moves_one_way() -> None:
    ranges = {"c": Interval(0, 2), "x": Interval(1, 9), "y": Interval(1, 9)}
    part = parse_expression("c")
    cases = {"if c = 0 then x + y else x": -1, "if c >= 1 then x + y else x": 1}
    cases |= {"if c = 2 then x else x + y": -1, "if not (c = 0) then x else x + y": -1}
    for text, sign in cases.items():
        assert direction(parse_expression(text), part, ranges) == sign, text
    assert direction(parse_expression("if c = 1 then x + y else x"), part, ranges) is None
    assert direction(parse_expression("if c = 0 then x else y"), part, ranges) is None


def test_what_does_not_move_one_way_reopens_its_regions() -> None:
    found = solved(template(MENUS, {}, "1024/a + 3*a + b + c"), "bound over a")
    assert only(found).verdict == "reopened"
    assert "a" in only(found).why


def test_decisions_that_meet_at_one_are_settled_apart() -> None:
    made = template(MENUS, {"C1": "a*c <= 64", "C2": "b*c <= 64"}, "1024/a + 2*c + max(b, 9)")
    found = solved(made, "split a at c", "split b at c")
    assert [u.verdict for u in found.structures] == ["held", "held"]
    # Two tables of 24; all of b for the best design, all of a for the four values of b that tie.
    assert (found.evaluations, found.parts) == (3, 24 + 24 + 8 + 4 * 8)


def test_two_decisions_are_settled_as_one() -> None:
    made = template(MENUS, {"C1": "a*b >= 8 + c"}, "c*c + 5*abs", "7")
    assert made.cost is not None
    bounds = [replace(made.cost.bounds[0], value=parse_expression("c*c + 5*max(a + b, 2)"))]
    made = replace(made, cost=replace(made.cost, bounds=tuple(bounds)))
    found = solved(made, "split a, b at c")
    assert only(found).verdict == "held"
    assert found.evaluations == 3


def test_a_table_over_two_decisions_serves_the_next_split() -> None:
    made = template(MENUS, {"C1": "a*(c + 1) <= 4*b"}, "1024/a + 2*c + max(b, 9)")
    found = solved(made, "split a at b, c", "split c at b")
    assert [u.verdict for u in found.structures] == ["held", "held"]
    assert found.evaluations == 8
    assert found.parts is not None
    assert 8 * 24 + 24 < found.parts < 8 * 24 + 24 + 64


@pytest.mark.parametrize(
    ("line", "why"),
    [("split a", "meet b, c too"), ("split b at c", "meet a too"), ("split a, b, c", "no other")],
)
def test_decisions_that_meet_more_are_not_split(line: str, why: str) -> None:
    found = solved(template(MENUS, {"C1": "a*c <= 64"}, "1024/a + c + (b - 4)*(a - 9)"), line)
    assert only(found).verdict != "held"
    assert why in only(found).why
    assert found.evaluations == found.feasible


def test_a_range_stands_for_coarse_decisions() -> None:
    made = template(MENUS, {}, "(a - 8)*(a - 8) + 1 + b/128 + c/4")
    found = solved(made, "coarse b, c")
    assert only(found).verdict == "held"
    assert found.evaluations is not None
    assert found.evaluations <= 8 * 3 + 3
    assert found.parts == 8


def test_where_a_range_says_too_little_nearly_all_is_looked_into() -> None:
    found = solved(template(MENUS, {}, "a + c + b - b"), "coarse b")
    # Of 24 regions only those of a = 128 with c above 0 are surely worse.
    assert found.evaluations == 22 * 8


def test_of_swapped_designs_one_is_costed() -> None:
    made = template(MENUS, {}, "100/a + 100/b + a*b + c")
    found = solved(made, "order a <= b", ties=True)
    assert only(found).verdict == "held"
    assert found.evaluations == 36 * 3
    assert [t["a"] for t in found.ties] == [t["b"] for t in reversed(found.ties)]


def test_a_swap_that_a_constraint_forbids_is_no_copy() -> None:
    made = template(MENUS, {"C1": "a > b"}, "100/a + 100/b + a*b + c")
    found = solved(made, "order a <= b")
    assert found.evaluations == found.feasible == 28 * 3


def test_what_is_not_symmetric_is_reopened() -> None:
    found = solved(template(MENUS, {}, "100/a + 101/b + a*b + c"), "order a <= b")
    assert only(found).verdict == "reopened"
    assert found.evaluations == 8 * 8 * 3


def test_symmetry_is_read_off_the_normal_form() -> None:
    assert symmetric(parse_expression("3*(a + b)*x + max(b/x, a/x)"), "a", "b")
    assert not symmetric(parse_expression("3*(a + 2*b)*x"), "a", "b")
    normal = Normal()
    key = {t: normal.key(parse_expression(t)) for t in ("(a + b)*(a - b)", "a*a - b*b", "a/b*b")}
    assert key["(a + b)*(a - b)"] == key["a*a - b*b"]
    assert key["a/b*b"] == normal.key(parse_expression("a"))
    assert normal.key(parse_expression("a mod b")) != normal.key(parse_expression("b mod a"))


def test_values_that_the_cost_cannot_tell_apart_are_one() -> None:
    made = template(MENUS, {}, "ceil(20/a)*b + c", prefer=("a",))
    found = solved(made, "menu a by ceil(20/a)", limit=5)
    assert only(found).verdict == "held"
    # 20, 10, 5, 3, 2 and, for 32 to 128, 1.
    assert found.evaluations == 6 * 8 * 3


def test_a_decision_that_the_cost_does_not_read_is_one_value() -> None:
    found = solved(template(MENUS, {}, "100/a + b"), "menu c")
    assert found.evaluations == 64


def test_a_menu_that_the_cost_reads_elsewhere_is_reopened() -> None:
    found = solved(template(MENUS, {}, "ceil(20/a)*b + c + a"), "menu a by ceil(20/a)")
    assert only(found).verdict == "reopened"
    assert found.evaluations == 8 * 8 * 3


def test_designs_that_are_no_better_in_anything_are_dropped() -> None:
    made = template(MENUS, {}, "max(1024/a + b, 3*a*b) + c", prefer=("a*b",))
    found = solved(made, "drop by 1024/a + b, 3*a*b, c")
    assert only(found).verdict == "held"
    assert found.evaluations is not None
    assert found.evaluations < 30


def test_of_several_designs_none_is_dropped() -> None:
    made = template(MENUS, {}, "1024/a + b + c")
    found = solved(made, "drop by 1024/a, b, c", limit=3)
    assert only(found).verdict == "unused"
    assert found.evaluations == 8 * 8 * 3


def test_a_cost_that_falls_with_a_measure_is_no_ground_to_drop() -> None:
    found = solved(template(MENUS, {}, "1024/a + b + c"), "drop by a, b, c")
    assert only(found).verdict == "reopened"
    assert "first" in only(found).why


def test_a_cost_without_a_value_is_told_as_without_structures() -> None:
    menus = {n: range(1, 17) for n in "abcdef"}  # more than are looked at beforehand
    equal = {"C1": "a = b", "C2": "c = d", "C3": "e = f"}
    made = template(menus, equal, "1/(a - 1) + b + c + d + e + f")
    made = replace(made, structures=(declared("coarse c"),))
    for structures in (True, False):
        with pytest.raises(InputError, match="the cost has no value: division by 0"):
            solve(made, {}, structures=structures)


def test_nothing_is_claimed_where_the_condition_does_not_hold() -> None:
    made = template(MENUS, {}, "1024/a + b + c")
    line = replace(declared("rank by 1024/a"), when=parse_expression("1 = 2"))
    found = solve(replace(made, structures=(line,)), {})
    assert [u.verdict for u in found.structures] == ["unused"]
    assert found.reopened == ()


def test_structures_on_decisions_that_are_gone_are_passed_over() -> None:
    made = template({"b": POWERS}, {}, "b + 1")
    found = solved(made, "rank by 1024/a", "knee of a")
    assert {u.verdict for u in found.structures} == {"unused"}
    assert found.status == "optimal"


def test_without_a_design_nothing_is_costed() -> None:
    found = solved(template(MENUS, {"C1": "a > 200"}, "1024/a + b + c"), "rank by b")
    assert found.status == "infeasible"
    assert found.conflict == ("C1",)
