"""The methods beside wall relaxation, on problems small enough to know the answer."""

from fractions import Fraction

import pytest

from formwright.chip.library import AreaTerm, Library, MenuField, Rule
from formwright.ir.expr import Arith, Compare, Var, num
from formwright.walls import blackbox
from formwright.walls.baselines import (
    fixed_hardware,
    hardware_only,
    random_search,
    sequential,
    software_only,
)
from formwright.walls.blackbox import optuna_search
from formwright.walls.bounds import Until, branch_and_bound
from formwright.walls.counting import Counted, Shared
from formwright.walls.exact import enumerate_chips
from formwright.walls.finite import FiniteInner, FiniteScenario, Program
from formwright.walls.front import pareto_front
from formwright.walls.outcome import outcome_from_json


def library(size: int = 8, rules: tuple[Rule, ...] = ()) -> Library:
    """Two capacities and a count of cores; a capacity unit is 1 mm2, a core 3 mm2."""
    fields = tuple(
        MenuField(name, "count", tuple(range(1, size + 1)), role, 0, "made up")
        for name, role in (("tile", "capacity"), ("bank", "capacity"), ("cores", "throughput"))
    )
    terms = tuple(
        AreaTerm(name, Arith("*", num(each), Var(f"chip.{name}")), "made up")
        for name, each in (("tile", 1), ("bank", 1), ("cores", 3))
    )
    return Library("small", "", fields, (), rules, terms, {})


def inner(of: Library | None = None) -> FiniteInner:
    """A small tile that is slow, and a large one that needs both capacities."""
    cores = Var("chip.cores")
    programs = (
        Program("small", {"tile": 1}, Arith("/", num(40), cores)),
        Program("large", {"tile": 4, "bank": 3}, Arith("/", num(20), cores)),
    )
    return FiniteInner(library() if of is None else of, (FiniteScenario("only", programs),))


START = (0, 0, 0)


def test_joint_trades_cores_against_the_large_tile() -> None:
    """At 16 mm2: 4 + 3 for the large tile leave 3 cores, 20/3; without it 4 cores, 10."""
    outcome = branch_and_bound(Counted(inner()), Fraction(16))
    assert outcome.objective == Fraction(20, 3)
    assert outcome.point == (3, 2, 2)
    assert outcome.gap is not None
    assert outcome.gap <= 1e-9
    assert enumerate_chips(Counted(inner()), Fraction(16)).objective == Fraction(20, 3)


def test_one_sided_methods_miss_it() -> None:
    problem = inner()
    reference = problem.solve(START)
    budget = Fraction(16)
    assert fixed_hardware(Counted(problem), START, reference).objective == 40
    assert software_only(Counted(problem), START).objective == 40
    assert hardware_only(Counted(problem), START, reference, budget).objective == 10
    outcome = sequential(Counted(problem), START, budget)
    assert (outcome.objective, outcome.solves) == (10, 1)
    assert outcome.evaluations >= 1


def test_an_inner_problem_that_cannot_be_cut_down_is_searched_chip_by_chip() -> None:
    class Plain:
        """Without ``only``."""

        def __init__(self, of: FiniteInner) -> None:
            self.library, self.walls = of.library, of.walls
            self.solve, self.keep, self.lower = of.solve, of.keep, of.lower

    problem = inner()
    outcome = sequential(Counted(Plain(problem)), START, Fraction(16))
    assert outcome.objective == 10
    within = [p for p in _places(8) if problem.library.area(p) <= 16]
    assert outcome.evaluations == len(within)
    large = inner(library(60))
    refused = hardware_only(Counted(Plain(large)), START, large.solve(START), None)
    assert "216000 chips are more than" in refused.note


def _places(size: int) -> list[tuple[int, int, int]]:
    return [(a, b, c) for a in range(size) for b in range(size) for c in range(size)]


def test_limits_leave_a_bound_that_still_holds() -> None:
    exact = branch_and_bound(Counted(inner()), Fraction(16))
    cut_off = branch_and_bound(Counted(inner()), Fraction(16), until=Until(relaxations=3))
    assert "stopped after 3 bounds" in cut_off.note
    assert exact.objective is not None
    assert cut_off.bound is not None
    assert cut_off.bound <= exact.objective
    wide = branch_and_bound(Counted(inner()), Fraction(16), until=Until(gap=0.5))
    assert wide.gap is not None
    assert wide.gap <= 0.5
    assert wide.relaxations < exact.relaxations


def test_a_known_chip_is_the_first_of_the_trajectory() -> None:
    outcome = branch_and_bound(Counted(inner()), Fraction(16), known=(3, 2, 2))
    assert outcome.trajectory[0].objective == Fraction(20, 3)
    over = branch_and_bound(Counted(inner()), Fraction(16), known=(7, 7, 7))
    assert over.objective == Fraction(20, 3)


def test_no_chip_and_no_program_are_told_apart() -> None:
    nothing = branch_and_bound(Counted(inner()), Fraction(1))
    assert nothing.objective is None
    assert "no chip within the budget" in nothing.note
    assert enumerate_chips(Counted(inner()), Fraction(1)).objective is None
    greedy = FiniteInner(
        library(), (FiniteScenario("only", (Program("huge", {"tile": 9}, num(1)),)),)
    )
    outcome = software_only(Counted(greedy), START)
    assert outcome.point is None
    assert "no program of scenario only" in outcome.note
    assert "has a program" in branch_and_bound(Counted(greedy)).note


def test_enumeration_refuses_what_is_too_large_for_it() -> None:
    outcome = enumerate_chips(Counted(inner()), None, most=100)
    assert (outcome.point, outcome.solves) == (None, 0)
    assert "512 chips are more than 100" in outcome.note


def test_rules_keep_chips_out_of_every_method() -> None:
    ruled = Rule("cores", Compare("<=", Var("chip.cores"), num(2)))
    problem = inner(library(rules=(ruled,)))
    assert branch_and_bound(Counted(problem)).objective == 10
    assert enumerate_chips(Counted(problem)).objective == 10
    found = random_search(Counted(problem), None, 40, seed=1)
    assert all(r.point[2] <= 1 for r in found.trajectory)


def test_random_draws_distinct_chips_and_repeats_by_its_seed() -> None:
    first = random_search(Counted(inner()), Fraction(16), 25, seed=3)
    again = random_search(Counted(inner()), Fraction(16), 25, seed=3)
    other = random_search(Counted(inner()), Fraction(16), 25, seed=4)
    assert first.solves == 25
    assert [(r.solves, r.objective) for r in first.trajectory] == [
        (r.solves, r.objective) for r in again.trajectory
    ]
    assert [r.point for r in first.trajectory] != [r.point for r in other.trajectory]


def test_random_draws_from_libraries_too_large_to_list() -> None:
    outcome = random_search(Counted(inner(library(200))), Fraction(600), 20, seed=0)
    assert outcome.solves == 20
    assert outcome.area is not None
    assert outcome.area <= 600


def test_random_says_when_there_are_fewer_chips() -> None:
    outcome = random_search(Counted(inner()), Fraction(6), 50, seed=0)
    assert outcome.solves == 3
    assert "3 chips were found, not 50" in outcome.note


def test_optuna_stays_within_budget_and_counts_distinct_chips() -> None:
    pytest.importorskip("optuna")
    outcome = optuna_search(Counted(inner()), Fraction(16), 15, seed=0)
    assert outcome.solves <= 15
    assert outcome.area is not None
    assert outcome.area <= 16
    again = optuna_search(Counted(inner()), Fraction(16), 15, seed=0)
    assert [r.point for r in again.trajectory] == [r.point for r in outcome.trajectory]


def test_without_optuna_its_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackbox, "find_spec", lambda name: None)
    outcome = optuna_search(Counted(inner()), Fraction(16), 15, seed=0)
    assert (outcome.point, outcome.solves) == (None, 0)
    assert "Optuna is not installed" in outcome.note


def test_the_front_shows_what_beats_a_chip() -> None:
    front = pareto_front(Counted(inner()), Fraction(16))
    assert [(p.area, p.objective) for p in front.points] == [
        (5, 40),
        (8, 20),
        (11, Fraction(40, 3)),
        (13, 10),
        (16, Fraction(20, 3)),
    ]
    beaten = front.beating(Fraction(20), Fraction(9))
    assert beaten is not None
    assert (beaten.area, beaten.objective) == (8, 20)
    assert front.beating(Fraction(20), Fraction(8)) is None
    assert front.complete_to is None


def test_a_front_cut_off_says_up_to_where_it_holds() -> None:
    full = pareto_front(Counted(inner()), Fraction(16))
    front = pareto_front(Counted(inner()), Fraction(16), Until(relaxations=40))
    assert front.complete_to is not None
    expected = [p for p in full.points if p.area < front.complete_to]
    assert [p for p in front.points if p.area < front.complete_to] == expected


def test_answers_of_another_method_are_charged_as_if_they_were_new() -> None:
    shared = Shared()
    first = enumerate_chips(Counted(inner(), shared), Fraction(16))
    counted = Counted(inner(), shared)
    second = enumerate_chips(counted, Fraction(16))
    assert first.solves == second.solves
    assert counted.spent == 0
    assert counted.seconds == pytest.approx(sum(seconds for _, seconds in shared.solved.values()))


def test_a_query_asked_twice_is_counted_once_and_removed_walls_count_apart() -> None:
    counted = Counted(inner())
    counted.solve(START)
    counted.solve(START)
    counted.solve(START, frozenset({"tile"}))
    software = counted.solve(START)
    counted.keep(START, software)
    counted.keep(START, software)
    counted.lower(counted.library.whole)
    counted.lower(counted.library.whole)
    assert (counted.solves, counted.evaluations, counted.relaxations) == (2, 1, 1)
    restored = Counted(inner())
    restored.restore(counted.asked(), 1, 1, counted.seconds)
    restored.solve(START)
    restored.solve((1, 0, 0))
    assert (restored.solves, restored.evaluations) == (3, 1)


def test_an_outcome_comes_back_from_json() -> None:
    outcome = random_search(Counted(inner()), Fraction(16), 5, seed=3)
    assert outcome_from_json(outcome.as_json(), outcome.answer) == outcome
    assert outcome.solves_to(Fraction(1, 1000)) is None
    assert outcome.objective is not None
    assert outcome.solves_to(outcome.objective) == outcome.trajectory[-1].solves


def test_the_best_chip_has_no_more_than_its_objective_needs() -> None:
    outcome = branch_and_bound(Counted(inner()))
    assert outcome.point == (3, 2, 7)
    assert outcome.objective == Fraction(20, 8)
    assert outcome.solves < 10


def test_known_chips_are_on_a_front_that_was_cut_off() -> None:
    known = [(3, 2, 2), (0, 0, 7), (7, 7, 7)]
    front = pareto_front(Counted(inner()), Fraction(30), Until(relaxations=1), known=known)
    assert front.complete_to is not None
    assert [(p.area, p.objective) for p in front.points][-2:] == [
        (16, Fraction(20, 3)),
        (26, 5),
    ]
    full = pareto_front(Counted(inner()), Fraction(16), known=known)
    assert full.points == pareto_front(Counted(inner()), Fraction(16)).points
