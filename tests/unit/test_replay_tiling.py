"""Listing 1 run by the interpreter: Figure 7, the 24 schedules, every small shape."""

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load
from formwright.replay import TEXTUAL, Delay, Schedule, explore, run
from formwright.replay.adversary import adversarial
from formwright.replay.runner import prepare, run_prepared

MINIATURE = {"M": 2, "N": 2, "K": 5, "W": 2, "Tm": 2, "Tn": 2, "Tk": 1}
FIGURE_7 = "C[0,1] accumulates A[0,2]*B[4,1] instead of A[0,2]*B[2,1]"


@cache
def tiling() -> Template:
    return inlined(load("shared_memory_tiling")[1])


def values(S: int, P: int, beta: int, **more: int) -> dict[str, int]:
    return {**MINIATURE, "S": S, "P": P, "beta": beta, **more}


def test_figure_7_is_the_only_defect_of_that_delay() -> None:
    """Warp 0 stands still behind barrier A2 while warp 1 goes on to A3."""
    outcome = run(tiling(), values(2, 1, 0), Schedule(delay=Delay(0, after=3)))
    assert [c.text for c in outcome.cells] == [FIGURE_7]
    assert [a.text for a in outcome.anomalies] == ["reads sB<2>[0,1] while slot 0 holds sB<4>"]


def test_with_the_trailing_barrier_no_schedule_reaches_it() -> None:
    prepared = prepare(tiling(), values(2, 1, 1))
    for schedule in adversarial(barriers=10, agents=2, asynchronous=False):
        assert run_prepared(prepared, schedule).status == "exact", schedule
    assert explore(tiling(), values(2, 1, 1)).safe


@pytest.mark.parametrize("owners", ["natural", "apart"])
def test_24_schedules_by_exhaustion(owners: str) -> None:
    for S, P, beta in product((1, 2, 3), (0, 1, 2, 3), (0, 1)):
        found = explore(tiling(), values(S, P, beta), Schedule(owners=owners))  # type: ignore[arg-type]
        assert found.complete or found.defect
        assert found.safe == (S - 2 + beta >= P), (S, P, beta, found)


@pytest.mark.slow
def test_24_schedules_by_delays() -> None:
    """A single agent that stands still is enough to break every unsafe schedule."""
    for S, P, beta in product((1, 2, 3), (0, 1, 2, 3), (0, 1)):
        prepared = prepare(tiling(), values(S, P, beta))
        delays = [Delay(rank, after) for rank in (0, 1) for after in range(11)]
        outcomes = [run_prepared(prepared, Schedule(delay=d)) for d in delays]
        exact = all(o.status == "exact" for o in outcomes)
        assert exact == (S - 2 + beta >= P), (S, P, beta)


def test_short_reductions_forgive_more() -> None:
    """Knowing K, ``KT <= S`` is safe too (the rule of the facts, reported apart)."""
    assert explore(tiling(), values(2, 1, 0, K=2)).safe
    assert not explore(tiling(), values(2, 1, 0, K=3)).safe


@st.composite
def safe_points(draw: st.DrawFn) -> dict[str, int]:
    S = draw(st.integers(1, 3))
    beta = draw(st.integers(0, 1)) if S > 1 else 1
    small = {n: draw(st.integers(1, 4)) for n in ("M", "N", "Tm", "Tn", "Tk")}
    return {
        **small,
        "K": draw(st.integers(1, 7)),
        "W": draw(st.integers(1, 3)),
        "S": S,
        "P": draw(st.integers(0, S - 2 + beta)),
        "beta": beta,
    }


schedules = st.builds(
    Schedule,
    order=st.sampled_from(["textual", "reversed", "lockstep", "random"]),
    delay=st.none()
    | st.builds(Delay, st.integers(0, 2), st.none() | st.integers(0, 8), st.booleans()),
    owners=st.sampled_from(["natural", "swapped", "columns", "apart", "random"]),
    torn=st.booleans(),
    backward=st.booleans(),
    seed=st.integers(0, 1000),
)


@settings(max_examples=examples(60), deadline=None)
@given(safe_points(), schedules)
def test_safe_designs_are_exact_under_every_schedule(
    point: dict[str, int], schedule: Schedule
) -> None:
    outcome = run(tiling(), point, schedule)
    assert outcome.status == "exact", (outcome.cells[:2], outcome.anomalies[:2], outcome.stuck)


def test_a_run_beyond_its_budget_says_nothing() -> None:
    assert run(tiling(), values(2, 1, 1), TEXTUAL, budget=50).status == "budget"
