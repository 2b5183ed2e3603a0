"""Wall relaxation where the answer is known: the example of section 3.1 and ones like it."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest

from formwright.base.diagnostics import InputError
from formwright.chip.library import AreaTerm, Library, MenuField, Rule
from formwright.ir.expr import Arith, Compare, Expr, Var, num
from formwright.walls.finite import FiniteInner, FiniteScenario, Program
from formwright.walls.generated import example, generate
from formwright.walls.relax import begin, front, outcome, run, step
from formwright.walls.state import Options, State, Variant, state_from_json
from formwright.walls.verdict import Agrees, Repaired, Unexplained, Verdict, Visit


def chip(name: str) -> Expr:
    return Var(f"chip.{name}")


def library(areas: dict[str, int], size: int = 4, roles: dict[str, str] | None = None) -> Library:
    """Fields with menus 1 .. size, each step of so many mm2."""
    fields = tuple(
        MenuField(
            n, "count", tuple(range(1, size + 1)), (roles or {}).get(n, "capacity"), 0, "test"
        )  # type: ignore[arg-type]
        for n in areas
    )
    terms = tuple(AreaTerm(n, Arith("*", num(a), chip(n)), "test") for n, a in areas.items())
    return Library("test", "", fields, (), (), terms, {})


def one(name: str, programs: list[Program]) -> FiniteScenario:
    return FiniteScenario(name, tuple(programs), reference=Fraction(100))


def test_the_example_of_section_3_1() -> None:
    planted = example()
    ends = {}
    for variant in ("paper", "coupled", "sets"):
        options = Options(variant=variant, budget=planted.budget)
        ends[variant] = run(planted.inner, options, planted.start)
    assert ends["paper"].objective == 1
    assert ends["paper"].rounds[0]["screen"] == {"wall1": "1", "wall2": "1"}
    assert ends["paper"].spent.solves == 3
    assert ends["paper"].done == "no purchase helps"
    assert ends["coupled"].objective == ends["sets"].objective == Fraction(1, 10)
    (bought,) = ends["sets"].purchases
    assert bought["fields"] == {"wall1": [1, 2], "wall2": [1, 2]}
    assert bought["together"] is True
    assert bought["area_added"] == "2"
    assert bought["drop"] == "9/10"
    assert bought["gain"] == "9/20"
    assert ends["sets"].certificate is not None
    assert ends["sets"].certificate["exchange"]["closed"]


@pytest.mark.parametrize("hidden", [2, 3])
def test_hidden_sets_are_found_with_fewer_solves_than_there_are_sets(hidden: int) -> None:
    for seed in range(50):
        planted = generate(seed, 12, hidden)
        options = Options(variant="sets", budget=planted.budget)
        state = run(planted.inner, options, planted.start)
        assert state.objective == planted.best, seed
        assert state.spent.solves < comb(12, hidden), seed
        assert state.certificate is not None
        assert state.certificate["exchange"]["closed"], seed
        bought = set().union(*(set(p["fields"]) for p in state.purchases))
        assert planted.hidden[0] <= bought, seed


@pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 50), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_algorithm_1_misses_hidden_sets_and_the_coupled_variant_finds_pairs(seeds: range) -> None:
    for seed in seeds:
        for hidden in (2, 3):
            planted = generate(seed, 12, hidden)
            paper = run(planted.inner, Options("paper", budget=planted.budget), planted.start)
            coupled = run(planted.inner, Options("coupled", budget=planted.budget), planted.start)
            assert paper.objective is not None
            assert paper.objective > planted.best
            assert (coupled.objective == planted.best) == (hidden == 2)


def count_bound(state: State, walls: int, look_ahead: int) -> int:
    """``1 + T (2 n + b k + C(b, 2))`` with the rounds priced and the most walls that passed."""
    screens = [r["screen"] for r in state.rounds]
    befores = [v.objective for v in state.visited]
    passed = max(
        (
            sum(value is not None and Fraction(value) < before for value in screen.values())
            for screen, before in zip(screens, befores, strict=False)
            if before is not None
        ),
        default=0,
    )
    return 1 + state.round * (2 * walls + passed * look_ahead + comb(passed, 2))


@pytest.mark.parametrize("seed", range(8))
def test_the_count_of_solves_stays_under_the_bound_and_the_objective_never_rises(seed: int) -> None:
    for hidden, look_ahead in ((2, 2), (3, 3)):
        planted = generate(seed, 12, hidden, 2)
        options = Options("paper", look_ahead=look_ahead, budget=planted.budget)
        state = run(planted.inner, options, planted.start)
        assert state.spent.solves <= count_bound(state, 12, look_ahead)
        objectives = [v.objective for v in state.visited if v.objective is not None]
        assert objectives == sorted(objectives, reverse=True)
        assert all(v.area <= planted.budget for v in state.visited)


def test_a_set_too_dear_does_not_hide_a_cheaper_one() -> None:
    areas = {"a": 10, "b": 10, "c": 1, "d": 1}
    programs = [
        Program("base", {}, num(100)),
        Program("dear", {"a": 4, "b": 4}, num(1)),
        Program("cheap", {"c": 3, "d": 2}, num(40)),
        Program("overlapping", {"a": 2, "c": 2, "d": 2}, num(60)),
    ]
    inner = FiniteInner(library(areas), (one("all", programs),))
    start = inner.library.start
    budget = inner.library.area(start) + 35
    state = run(inner, Options("sets", budget=budget), start)
    assert state.objective == Fraction(40, 100)
    assert state.certificate is not None
    excluded = state.certificate["exchange"]["searched"][0]["excluded"]
    assert [e["walls"] for e in excluded] == [["a", "b"]]
    assert Fraction(excluded[0]["area"]) > budget
    assert state.certificate["all_removed"] == "1/100"


def test_a_set_of_scenarios_takes_only_the_walls_that_the_worst_needs() -> None:
    """The second scenario would use wall b, but the objective does not hang on it."""
    first = one("slow", [Program("s0", {}, num(100)), Program("s1", {"a": 3}, num(50))])
    second = one("quick", [Program("q0", {}, num(30)), Program("q1", {"b": 4}, num(10))])
    inner = FiniteInner(library({"a": 1, "b": 1}), (first, second))
    state = run(inner, Options("sets"), inner.library.start)
    assert state.objective == Fraction(1, 2)
    assert state.point == (2, 0)


def throughput_problem() -> FiniteInner:
    """Units halve the time; with two of them the program that needs wall a pays as well."""
    roles = {"units": "throughput"}
    programs = [
        Program("plain", {}, Arith("/", num(80), chip("units"))),
        Program("wide", {"a": 2}, Arith("-", num(90), Arith("*", num(20), chip("units")))),
    ]
    return FiniteInner(library({"units": 2, "a": 1}, roles=roles), (one("all", programs),))


def test_throughput_is_priced_past_the_paper_only() -> None:
    inner = throughput_problem()
    paper = run(inner, Options("paper"), inner.library.start)
    assert paper.point[0] == 0
    sets = run(inner, Options("sets"), inner.library.start)
    assert sets.objective == Fraction(10, 100)
    assert sets.point == (3, 1)
    least = min(Fraction(inner.solve((u, a)).objective or 0) for u in range(4) for a in range(4))
    assert sets.objective == least


def costly_walls() -> FiniteInner:
    """Two walls whose capacity costs a little in every program; one program needs both."""
    size = Arith("+", chip("a"), chip("b"))
    programs = [
        Program("plain", {}, Arith("+", num(100), size)),
        Program("large", {"a": 6, "b": 5}, Arith("+", num(40), size)),
    ]
    roles = {"a": "both", "b": "both"}
    return FiniteInner(library({"a": 1, "b": 1}, 8, roles), (one("all", programs),))


def test_walls_that_costs_read_are_moved_together_and_back() -> None:
    inner = costly_walls()
    state = run(inner, Options("sets"), (0, 0))
    assert state.point == (5, 4)
    (bought,) = state.purchases
    assert bought["fields"] == {"a": [1, 6], "b": [1, 5]}
    assert "large in place of plain" in bought["mechanism"][0]
    back = run(inner, Options("sets"), (7, 7))
    assert back.point == (5, 4)
    least = min(Fraction(inner.solve((a, b)).objective or 0) for a in range(8) for b in range(8))
    assert state.objective == back.objective == least
    held = run(inner, Options("sets", budget=Fraction(8)), (0, 0))
    assert held.point == (0, 0)
    assert held.purchases == ()


def test_a_capacity_that_costs_read_is_not_taken_for_one() -> None:
    """The library calls both fields capacities; what the costs read decides."""
    plain = costly_walls()
    fields = tuple(replace(f, role="capacity") for f in plain.library.fields)
    wrong = FiniteInner(replace(plain.library, fields=fields), plain.scenarios)
    assert wrong.reads == ("a", "b")
    state = run(wrong, Options("sets"), (7, 7))
    assert state.point == (5, 4)


def test_exchanges_leave_a_purchase_that_blocks_a_better_one() -> None:
    """Wall a pays most by area and is bought; only without it can c and d be paid for."""
    areas = {"a": 2, "c": 2, "d": 1}
    programs = [
        Program("base", {}, num(100)),
        Program("quick", {"a": 2}, num(70)),
        Program("best", {"c": 2, "d": 2}, num(60)),
    ]
    inner = FiniteInner(library(areas), (one("all", programs),))
    start = inner.library.start
    options = Options("sets", budget=inner.library.area(start) + 4, reach=Fraction(1))
    state = run(inner, options, start)
    assert state.objective == Fraction(60, 100)
    assert [p["way"] for p in state.purchases] == ["step", "exchange"]
    without = run(inner, replace(options, exchange=False), start)
    assert without.objective == Fraction(70, 100)
    far = run(inner, replace(options, reach=Fraction(1, 2)), start)
    assert [p["way"] for p in far.purchases] == ["set"]
    assert far.objective == Fraction(60, 100)


def test_slack_is_given_back() -> None:
    """Two steps of a are bought at once; b's program makes a's first step enough."""
    programs = [
        Program("base", {"b": 2}, num(100)),
        Program("two", {"a": 3}, num(50)),
    ]
    inner = FiniteInner(library({"a": 1, "b": 1}), (one("all", programs),))
    for variant in ("paper", "sets"):
        state = run(inner, Options(variant), (0, 3))
        assert state.objective == Fraction(1, 2)
        assert state.purchases[0]["reclaimed"]["b"][0] == 4
        assert state.point[0] == 2
    assert state.point == (2, 0)


def test_rules_are_kept() -> None:
    plain = library({"a": 1, "b": 1})
    rule = Rule("small", Compare("<=", Arith("+", chip("a"), chip("b")), num(4)))
    programs = [
        Program("base", {}, num(100)),
        Program("broken", {"a": 3, "b": 3}, num(1)),
        Program("lawful", {"a": 2, "b": 2}, num(50)),
    ]
    inner = FiniteInner(replace(plain, rules=(rule,)), (one("all", programs),))
    for variant in ("coupled", "sets"):
        state = run(inner, Options(variant), (0, 0))
        assert state.objective == Fraction(1, 2)
        assert state.point == (1, 1)


def test_a_start_without_a_program_is_left_by_the_smallest_chip_that_has_one() -> None:
    programs = [Program("small", {"a": 2, "b": 2}, num(100)), Program("large", {"a": 4}, num(90))]
    inner = FiniteInner(library({"a": 1, "b": 1}), (one("all", programs),))
    state = run(inner, Options("sets"), (0, 0))
    assert state.purchases[0]["before"] is None
    assert state.objective == Fraction(9, 10)
    assert "a program exists now" in state.purchases[0]["mechanism"][0]


def test_a_start_over_the_ceiling_or_against_a_rule_is_refused() -> None:
    planted = example()
    with pytest.raises(InputError, match="over the ceiling of 1 mm2"):
        begin(planted.inner, Options(budget=Fraction(1)), planted.start)
    rule = Rule("small", Compare("<=", chip("wall1"), num(0)))
    ruled = replace(planted.inner.library, rules=(rule,))
    inner = FiniteInner(ruled, planted.inner.scenarios)
    with pytest.raises(InputError, match="breaks small"):
        begin(inner, Options(), planted.start)


def timeless(state: State) -> str:
    """The state as text, the seconds left out."""

    def without(data: object) -> object:
        if isinstance(data, dict):
            return {k: without(v) for k, v in data.items() if k != "seconds"}
        return [without(v) for v in data] if isinstance(data, list) else data

    return json.dumps(without(state.as_json()))


def small() -> FiniteInner:
    return generate(3, 6, 2, 2).inner


@pytest.mark.parametrize("variant", ["paper", "coupled", "sets"])
@pytest.mark.parametrize("problem", [small, throughput_problem, costly_walls])
def test_a_run_goes_on_from_any_round_to_the_same_end(
    variant: Variant, problem: Callable[[], FiniteInner]
) -> None:
    start = problem().library.start
    undisturbed = run(problem(), Options(variant), start)
    state = begin(problem(), Options(variant), start)
    while not state.done:
        state = state_from_json(json.loads(json.dumps(state.as_json())))
        state = step(problem(), Options(variant), state).state
    assert timeless(state) == timeless(undisturbed)
    assert step(problem(), Options(variant), state).state == state


def test_a_miss_repairs_the_model_before_anything_is_bought() -> None:
    """The first model thinks wall a pays; the repaired one knows that wall b does."""

    def model(with_a: int, with_b: int) -> FiniteInner:
        programs = [
            Program("base", {}, num(100)),
            Program("a", {"a": 2}, num(with_a)),
            Program("b", {"b": 2}, num(with_b)),
        ]
        return FiniteInner(library({"a": 1, "b": 1}), (one("all", programs),))

    wrong, right = model(20, 80), model(90, 80)
    judged: list[Fraction | None] = []

    def judge(before: Visit, after: Visit) -> Verdict:
        judged.append(after.answer.objective)
        if after.answer.objective == Fraction(20, 100):
            return Repaired(right, {"coefficient": "a"})
        return Agrees({"evaluated": "1/5"})

    state = run(wrong, Options("paper"), (0, 0), judge)
    assert judged == [Fraction(20, 100), Fraction(80, 100)]
    assert state.repairs == ({"coefficient": "a"},)
    assert state.model == 1
    assert [p["fields"] for p in state.purchases] == [{"b": [1, 2]}]
    assert state.purchases[0]["verdict"] == {"verdict": "agrees", "evaluated": "1/5"}
    honest = run(right, Options("paper"), (0, 0))
    assert (state.point, state.objective) == (honest.point, honest.objective)
    assert state.earlier.solves > 0
    ended = outcome(right, Options("paper"), state)
    assert ended.solves == state.earlier.solves + state.spent.solves
    assert [r.objective for r in ended.trajectory] == [1, Fraction(80, 100)]
    unexplained = run(wrong, Options("paper"), (0, 0), lambda b, a: Unexplained({"why": "none"}))
    assert unexplained.purchases[0]["verdict"] == {"verdict": "unexplained", "why": "none"}


def test_mechanisms_name_the_program_the_wall_and_what_it_lacked() -> None:
    state = run(example().inner, Options("coupled"), (0, 0))
    (sentence,) = state.purchases[0]["mechanism"]
    assert "B in place of A" in sentence
    assert "10 times as fast" in sentence
    assert "wall1 was in the way (it needs 2, there was 1)" in sentence
    units = run(throughput_problem(), Options("sets", reach=Fraction(1)), (0, 0))
    told = [line for p in units.purchases for line in p["mechanism"]]
    assert any("keeps its design" in line and "by units" in line for line in told)


def test_the_visited_chips_and_their_front() -> None:
    planted = generate(1, 12, 2)
    state = run(planted.inner, Options("sets", budget=planted.budget), planted.start)
    kept = front(state)
    assert kept[-1].objective == state.objective
    areas = [v.area for v in kept]
    assert areas == sorted(areas)
    ended = outcome(planted.inner, Options("sets", budget=planted.budget), state)
    assert ended.objective == planted.best
    assert ended.solves == state.spent.solves == len(state.queries)
    assert ended.solves_to(planted.best) is not None
