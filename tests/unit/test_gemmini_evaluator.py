"""The walk over the loops against the formulas of the templates."""

from fractions import Fraction
from math import prod

import pytest
from gemmini_designs import HOLDS, chip_values, costs, designs, template
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from effort import examples, thinned
from formwright.base.diagnostics import InputError
from formwright.simulate.gemmini import GemminiEvaluator, nest_of, walked

ROOMY = chip_values(128, 1024, 1024)
WALK = GemminiEvaluator()


@pytest.mark.parametrize("holds", HOLDS)
@pytest.mark.parametrize(("m", "k", "n"), thinned([(4, 8, 6), (7, 5, 9), (1, 3, 2), (8, 4, 1)]))
def test_every_small_design_costs_what_the_walk_counts(holds: str, m: int, k: int, n: int) -> None:
    sizes = {"M": m, "K": k, "N": n}
    found = list(designs(template(holds), sizes))
    assert len(found) > 20
    for design in found[:: max(1, len(found) // 200)]:
        walk = WALK.evaluate(f"gemmini_hold_{holds}", sizes, design, ROOMY)
        assert (walk.time, walk.energy) == costs(template(holds), sizes, design, ROOMY), design


sizes_ = st.integers(1, 40)
few = st.sampled_from([1, 2, 3, 4, 6, 8])


@st.composite
def tile(draw: st.DrawFn) -> dict[str, int]:
    tm, sk, sn, k, n = (draw(few) for _ in range(5))
    return {"Tm": tm, "Tk": sk * k, "Tn": sn * n, "Sk": sk, "Sn": sn}


@given(
    holds=st.sampled_from(HOLDS),
    extents=st.fixed_dictionaries({"M": sizes_, "K": sizes_, "N": sizes_}),
    design=tile(),
    chip=st.tuples(st.integers(8, 128), st.integers(8, 1024), st.integers(64, 1024)),
)
@settings(max_examples=examples(100), deadline=None)
def test_any_design_costs_what_the_walk_counts(
    holds: str, extents: dict[str, int], design: dict[str, int], chip: tuple[int, int, int]
) -> None:
    """Padding may be any here: the formulas hold for designs that the constraints leave out too,
    but for a tile that stays where its loop runs once (X6), which is another template's."""
    trips = nest_of(f"gemmini_hold_{holds}", extents, design).trips
    inner = {"weights": "m", "inputs": "n", "outputs": "k"}[holds]
    assume(trips[inner] > 1 or all(count == 1 for count in trips.values()))
    values = chip_values(*chip)
    assume(4 * chip[0] * design["Tm"] * design["Tn"] // design["Sn"] <= 1024 * chip[2])
    walk = WALK.evaluate(f"gemmini_hold_{holds}", extents, design, values)
    assert (walk.time, walk.energy) == costs(template(holds), extents, design, values)
    assert all(count >= 0 for count in walk.counters.values())


@given(
    holds=st.sampled_from(HOLDS),
    extents=st.fixed_dictionaries({"M": sizes_, "K": sizes_, "N": sizes_}),
    design=tile(),
)
@settings(max_examples=examples(40), deadline=None)
def test_passes_that_stand_for_others_count_as_those_would(
    holds: str, extents: dict[str, int], design: dict[str, int]
) -> None:
    nest = nest_of(f"gemmini_hold_{holds}", extents, design)
    assume(prod(nest.trips.values()) < 4000)
    assert walked(nest) == walked(nest, every=True)


def test_what_is_read_was_written() -> None:
    """Words that come to a memory and leave it balance: the walk counts no transfer at one end."""
    nest = nest_of(
        "gemmini_hold_weights",
        {"M": 16, "N": 12, "K": 24},
        {"Tm": 4, "Tk": 8, "Tn": 6, "Sk": 4, "Sn": 2},
    )
    counts = walked(nest)
    returned = counts.accumulator_writes - counts.macs // nest.sk
    assert counts.dram_reads == counts.scratchpad_writes + returned
    assert counts.dram_writes - returned == 16 * 12
    assert counts.scratchpad_reads == counts.register_writes + counts.macs // nest.sn
    assert counts.macs == 16 * 12 * 24
    assert counts.steps * nest.sk * nest.sn == counts.macs


def test_a_design_that_has_no_room_is_refused_with_what_it_needs() -> None:
    design = {"Tm": 8, "Tk": 128, "Tn": 128, "Sk": 16, "Sn": 16}
    with pytest.raises(InputError) as told:
        WALK.evaluate(
            "gemmini_hold_outputs", {"M": 64, "N": 256, "K": 256}, design, chip_values(8, 1, 1)
        )
    messages = [d.message for d in told.value.diagnostics]
    assert messages == [
        "the design needs 16 of array, the chip has 8",
        "the design needs 17408 of scratchpad, the chip has 1024",
        "the design needs 2048 of accumulator, the chip has 1024",
    ]


def test_another_template_is_refused_with_those_it_knows() -> None:
    with pytest.raises(InputError, match="gemmini_hold_weights"):
        WALK.evaluate("gemmini_hold_weight", {}, {}, {})


def test_noise_is_none() -> None:
    assert WALK.noise == Fraction(0)
    assert WALK.evidence == "modelled"
