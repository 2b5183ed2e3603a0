"""A chain solved step by step is as good as all its decisions at once."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain_texts import edited
from effort import examples, thinned
from formwright.flow.chain_solving import SolvedChain, solve_chain
from formwright.ir.template import Constraint, Cost, CostBound, Decision, Template
from formwright.lang import parse_expression
from formwright.lang.chains import load_chain
from formwright.milp.progressive import ChainSolution, solve_at_once, solve_progressively

SMALL = {
    "1": {"Tk     in {16, 32, 64}": "Tk     in {16, 32}"},
    "2": {
        "Tm    in {32, 64, 128}": "Tm    in {32, 64}",
        "Tn    in {32, 64, 128}": "Tn    in {64, 128}",
        "room  in {32, 48, 64, 96}": "room  in {32, 64}",
    },
    "4": {"S    in {1, 2, 3}": "S    in {1, 2}", "P    in {0, 1, 2}": "P    in {0, 1}"},
    "5": {"banks in {1, 2, 4, 8}": "banks in {2, 4}", "depth in {1, 2, 4, 8}": "depth in {2, 8}"},
}
"""Shorter menus."""

SIZES = "M=256,N=256,K=512"


def small(folder: Path, more: str = "") -> SolvedChain:
    path = edited(folder, SMALL)
    return solve_chain(str(path), "chain", SIZES + more, monolithic=True)


@pytest.mark.parametrize(
    "more",
    thinned(
        [
            "",
            ",chip.area=0.3 mm2",
            ",chip.controller_area=0.3 mm2",
            ",chip.dram_bandwidth=200 GB/s",
            ",chip.barrier_cycles=400 cycles",
        ],
        2,
    ),
)
def test_the_answer_is_that_of_all_decisions_at_once(more: str, tmp_path: Path) -> None:
    solved = small(tmp_path, more)
    assert solved.held
    assert solved.monolithic is not None
    assert solved.chain.last.objective == solved.monolithic.objective
    assert solved.chain.last.assignment == solved.monolithic.assignment


@pytest.mark.parametrize(
    ("areas", "mechanism"),
    [
        ("", 2),
        pytest.param(",chip.controller_area=0.1 mm2", 1, marks=pytest.mark.slow),
        pytest.param(
            ",chip.controller_area=0.3 mm2,chip.instruction_area=0.2 mm2", 0, marks=pytest.mark.slow
        ),
    ],
)
def test_the_mechanism_changes_with_its_area(areas: str, mechanism: int) -> None:
    solved = solve_chain("gemm", "chain", "M=1024,N=1024,K=1024" + areas)
    assert solved.held
    assert solved.chain.last.assignment["mechanism"] == mechanism


@pytest.mark.slow
def test_each_step_says_what_it_did() -> None:
    steps = solve_chain("gemm", "chain", "M=1024,N=1024,K=1024").chain.steps
    assert [s.name for s in steps] == [
        "reduction_partition",
        "physical_storage",
        "asynchronous_transfer",
        "double_buffering",
        "shared_resources",
    ]
    for step in steps[1:]:
        kept = {n for r in step.reopened for n in r.group} | set(step.carried) | set(step.fixed)
        above = {n for s in steps[: steps.index(step)] for n in s.added}
        assert kept == above
        assert step.fixed["cyclic"] == 0
    assert all({"room", "mechanism"} <= set(s.carried) for s in steps[3:])
    assert steps[3].carried["mechanism"][0] == "C4"
    (group,) = [r.group for r in steps[3].reopened]
    assert {"lX", "tY"} < set(group)


def test_a_fixed_decision_that_a_lower_step_reads_is_reopened_with_its_group() -> None:
    top = step("top", {"a": (0, 1), "b": (0, 1)}, {"tie": "a + b = 1"}, "1 + 2*a + b")
    middle = step("middle", {"c": (0, 1)}, {}, "1 + c")
    bottom = step("bottom", {"d": (0, 1)}, {}, "10 - 3*a + d")
    solved = agreeing(top, middle, bottom)
    assert solved.steps[0].solution.assignment == {"a": 0, "b": 1}
    assert solved.steps[1].fixed == {"a": 0, "b": 1}
    (reopened,) = solved.steps[2].reopened
    assert reopened.group == ("a", "b")
    assert reopened.why == "bottom mentions a in cost T"
    assert solved.last.assignment == {"a": 1, "b": 0, "c": 0, "d": 0}


def test_a_fixed_decision_in_the_way_of_a_better_design_is_reopened() -> None:
    top = step("top", {"a": (0, 1), "b": (0, 1)}, {"tie": "b <= a"}, "1 + a")
    bottom = step("bottom", {"c": (0, 1)}, {"use": "c <= b"}, "10 - 3*c")
    solved = agreeing(top, bottom)
    (reopened,) = solved.steps[1].reopened
    assert reopened.group == ("a",)
    assert reopened.why == "top.tie would keep out a better design with b = 1"


def test_no_design_is_said_with_what_cannot_hold_together() -> None:
    top = step("top", {"a": (1, 2)}, {}, "a")
    bottom = step("bottom", {"b": (1, 2)}, {"none": "a + b <= 1"}, "b")
    solved = solve_progressively((top, bottom), {"M": 1, "N": 1, "K": 1})
    assert solved.last.status == "infeasible"
    assert solved.last.conflict == ("bottom.none",)
    assert solved.steps[-1].name == "bottom"


def test_a_design_that_breaks_what_should_be_implied_is_not_given(tmp_path: Path) -> None:
    edits = {"1": {"Tk     in {16, 32, 64}": "Tk     in {16, 32, 128}"}, **{"2": SMALL["2"]}}
    path = edited(tmp_path, edits, last=2)
    solved = solve_chain(str(path), "chain", "M=64,N=64,K=4096,chip.dram_bandwidth=10 TB/s")
    assert not solved.held
    assert "the chain is not proved" in solved.chain.last.note


NAMES = ("a", "b", "c", "d", "e", "f")


@st.composite
def chains(draw: st.DrawFn) -> tuple[Template, ...]:
    """Three steps of two decisions each, with constraints and costs over what is there."""
    steps = []
    for depth in (1, 2, 3):
        known = NAMES[: 2 * depth]
        names = st.sampled_from(known)
        number = st.integers(-3, 3)
        limits = {}
        for place in range(draw(st.integers(0, 2))):
            left, right = draw(names), draw(names)
            text = f"{left} + ({draw(number)})*{right} <= {draw(st.integers(0, 6))}"
            limits[f"C{place}"] = text
        terms = [f"({draw(number)})*{n}" for n in draw(st.lists(names, max_size=3))]
        product = f"({draw(number)})*{draw(names)}*{draw(names)}"
        cost = " + ".join(["50", *terms, product])
        new = dict.fromkeys(known[-2:], (0, 1, 2))
        steps.append(step(f"step{depth}", new, limits, cost, draw(names)))
    return tuple(steps)


@settings(max_examples=examples(60), deadline=None)
@given(chains())
def test_random_chains_lose_nothing(steps: tuple[Template, ...]) -> None:
    whole = solve_at_once(steps, {"M": 1, "N": 1, "K": 1})
    found = solve_progressively(steps, {"M": 1, "N": 1, "K": 1})
    if whole.status == "infeasible":
        assert found.last.status == "infeasible"
    else:
        assert found.whole
        assert found.last.objective == whole.objective


def agreeing(*steps: Template) -> ChainSolution:
    parameters = {"M": 1, "N": 1, "K": 1}
    found = solve_progressively(steps, parameters)
    assert found.last.objective == solve_at_once(steps, parameters).objective
    return found


_STEP = load_chain("gemm").steps[0]


def step(
    name: str,
    menus: dict[str, tuple[int, ...]],
    constraints: dict[str, str],
    cost: str,
    prefer: str = "",
) -> Template:
    """A step of which only decisions, constraints and cost are looked at."""
    bound = CostBound(parse_expression(cost))
    wanted = (parse_expression(prefer),) if prefer else ()
    return replace(
        _STEP,
        name=name,
        scope=replace(_STEP.scope, chip=()),
        decisions=tuple(Decision(n, m) for n, m in menus.items()),
        definitions=(),
        constraints=tuple(Constraint(n, parse_expression(c)) for n, c in constraints.items()),
        requires=(),
        cost=Cost("T", "seconds", (), (), (bound,), wanted),
        refinement=None,
    )


def test_costs_are_exact() -> None:
    solved = agreeing(step("one", {"a": (3, 7)}, {}, "1/a"))
    assert solved.last.objective == Fraction(1, 7)
