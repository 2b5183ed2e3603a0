"""The packed product of the CPU at tiny sizes: exactly the workload, empty sums included."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load
from formwright.replay import Schedule, run


@cache
def packed() -> Template:
    return inlined(load("packed_gemm")[1])


@st.composite
def points(draw: st.DrawFn) -> dict[str, int]:
    Mr, Nr = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return {
        "M": draw(st.integers(1, 6)),
        "N": draw(st.integers(1, 6)),
        "K": draw(st.integers(0, 5)),
        "Mr": Mr,
        "Nr": Nr,
        "Mc": Mr * draw(st.integers(1, 3)),
        "Nb": Nr * draw(st.integers(1, 3)),
        "Kc": draw(st.integers(1, 4)),
        "Ib": draw(st.integers(1, 3)),
    }


schedules = st.builds(
    Schedule,
    order=st.sampled_from(["textual", "reversed", "lockstep", "random"]),
    torn=st.booleans(),
    backward=st.booleans(),
    seed=st.integers(0, 1000),
)


@settings(max_examples=examples(50), deadline=None)
@given(points(), schedules)
def test_every_order_of_the_grids_is_exact(point: dict[str, int], schedule: Schedule) -> None:
    outcome = run(packed(), point, schedule)
    assert outcome.status == "exact", (outcome.cells[:2], outcome.anomalies[:2], outcome.error)


def test_empty_reduction_writes_zeros() -> None:
    point = {"M": 3, "N": 3, "K": 0, "Mr": 2, "Nr": 2, "Mc": 2, "Nb": 4, "Kc": 2, "Ib": 1}
    assert run(packed(), point).status == "exact"


def test_panels_that_do_not_divide_their_block_are_seen() -> None:
    """``Mr | Mc`` is a real precondition: with Mc = 3 and Mr = 2 panels overlap."""
    point = {"M": 5, "N": 2, "K": 2, "Mr": 2, "Nr": 2, "Mc": 3, "Nb": 2, "Kc": 2, "Ib": 1}
    outcome = run(packed(), point)
    assert outcome.status == "defect"
