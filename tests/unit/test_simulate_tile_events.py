"""The tile simulator: by hand on one block, against floors and counts, C against Python."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.simulate import tile_events, tile_native
from formwright.simulate.tile_events import Counters, Memory
from formwright.simulate.tile_machine import Launch, TileMachine, Tiles
from formwright.simulate.tiled_gpu import TiledGpu, in_groups, in_parts, step_time

MACHINE = TileMachine(
    sms=1,
    flops=1e9,
    dram_bandwidth=64e6,
    port_bandwidth=32e6,
    shared_bandwidth=128e6,
    barrier=1e-6,
    latency=5e-6,
    fma=1e-9,
    l2_bytes=1e6,
)

CHIP = {
    "chip.sms": 4,
    "chip.clock": 10**9,
    "chip.sm_flops": 64 * 10**9,
    "chip.dram_bandwidth": 64 * 10**9,
    "chip.sm_bandwidth": 32 * 10**9,
    "chip.shared_bandwidth": 128 * 10**9,
    "chip.barrier_cycles": 20,
    "chip.latency_cycles": 100,
    "chip.fma_cycles": 4,
    "chip.l2_bytes": 1 << 20,
}
TILING = {
    "Tm": 16,
    "Tn": 16,
    "Tk": 8,
    "S": 3,
    "P": 1,
    "beta": 0,
    "Rm": 2,
    "Rn": 2,
    "Gm": 2,
    "Gn": 2,
}
SPLIT = {
    "Tm": 4,
    "Tn": 32,
    "Tk": 8,
    "Q": 2,
    "S": 3,
    "P": 1,
    "beta": 0,
    "Rm": 2,
    "Rn": 2,
    "Ha": 1,
    "Hp": 1,
}


def launch_of(tiles: Tiles, **how: int | float) -> Launch:
    given = {
        "compute": 4e-6,
        "ahead": 0,
        "trailing": False,
        "keep_a": True,
        "keep_b": True,
        "keep_c": False,
    }
    return Launch(tiles, in_groups(tiles, 1, 1), **(given | how))


def time_of(launch: Launch, machine: TileMachine = MACHINE) -> tuple[float, Counters]:
    counters = Counters()
    return tile_events.follow(launch, Memory(machine, counters), 0.0), counters


def test_one_block_of_one_tile_by_hand() -> None:
    # 2*8 + 8*4 = 48 words = 192 bytes: 3 us of the channel beside 6 us of the port, 5 us latency;
    # barrier 1 us, computing 4 us; 8 words of C through the port in 1 us, the channel half of it.
    found, counters = time_of(launch_of(Tiles(2, 4, 8, 2, 4, 8)))
    assert found == pytest.approx((6 + 5 + 1 + 4 + 1) * 1e-6)
    assert (counters.tiles, counters.barriers, counters.blocks) == (1, 1, 1)
    assert counters.dram_bytes == 4 * (16 + 32 + 8)
    assert counters.waited_seconds == pytest.approx(11e-6)


def test_without_reading_ahead_loads_and_computing_take_turns() -> None:
    found, _ = time_of(launch_of(Tiles(2, 4, 24, 2, 4, 8)))
    assert found == pytest.approx((3 * (6 + 5 + 1 + 4) + 1) * 1e-6)


def test_reading_ahead_hides_what_is_shorter() -> None:
    # Each k-tile takes the longest of its port (6 us) and computing (5 us with the barrier).
    found, _ = time_of(launch_of(Tiles(2, 4, 800, 2, 4, 8), ahead=3))
    assert found == pytest.approx(100 * 6e-6, rel=0.03)
    slow, _ = time_of(launch_of(Tiles(2, 4, 800, 2, 4, 8), ahead=3, compute=9e-6))
    assert slow == pytest.approx(100 * 10e-6, rel=0.03)


def test_a_trailing_barrier_is_paid() -> None:
    found, counters = time_of(launch_of(Tiles(2, 4, 24, 2, 4, 8), trailing=True))
    assert found == pytest.approx((3 * (6 + 5 + 2 + 4) + 1) * 1e-6)
    assert counters.barriers == 6


def test_what_is_clipped_is_not_read() -> None:
    _, counters = time_of(launch_of(Tiles(3, 5, 9, 2, 4, 8)))
    everything = 4 * (3 * 9 + 9 * 5 + 3 * 5)
    assert counters.dram_bytes == everything


@pytest.mark.parametrize("l2_bytes", [0.0, 1e9])
def test_traffic_is_that_of_all_tiles_or_of_the_tensors(l2_bytes: float) -> None:
    tiles = Tiles(8, 12, 32, 2, 4, 8)
    _, counters = time_of(launch_of(tiles), replace(MACHINE, l2_bytes=l2_bytes))
    tensors = 8 * 32 + 32 * 12
    every_tile = 8 * 32 * 3 + 32 * 12 * 4
    assert counters.dram_bytes == 4 * ((tensors if l2_bytes else every_tile) + 8 * 12)
    assert counters.dram_bytes + counters.l2_bytes == 4 * (every_tile + 8 * 12)


def test_blocks_of_a_group_find_each_others_tiles_in_a_small_l2() -> None:
    tiles = Tiles(64, 64, 256, 8, 8, 8)
    machine = replace(MACHINE, sms=4, l2_bytes=3000.0)
    alone = Launch(tiles, in_groups(tiles, 1, 8), 4e-6, 1, False, True, True, False)
    group = replace(alone, blocks=in_groups(tiles, 2, 2))
    assert time_of(group, machine)[1].dram_bytes < time_of(alone, machine)[1].dram_bytes


def test_four_multiprocessors_share_one_channel() -> None:
    tiles = Tiles(8, 16, 800, 2, 4, 8)
    one, counters = time_of(launch_of(tiles, ahead=3), replace(MACHINE, l2_bytes=0.0))
    four, _ = time_of(launch_of(tiles, ahead=3), replace(MACHINE, sms=4, l2_bytes=0.0))
    channel = counters.dram_bytes / MACHINE.dram_bandwidth
    assert one == pytest.approx(1600 * 6e-6, rel=0.03)
    assert four == pytest.approx(channel, rel=0.03)


def test_the_order_of_groups_and_of_parts() -> None:
    tiles = Tiles(3, 4, 5, 1, 1, 2)
    order = in_groups(tiles, 2, 3)[:, :2].tolist()
    assert order[:7] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [0, 3]]
    assert len({tuple(x) for x in order}) == 12
    parts = in_parts(Tiles(1, 2, 5, 1, 1, 2), 2).tolist()
    assert parts == [[0, 0, 0, 2], [0, 0, 2, 3], [0, 1, 0, 2], [0, 1, 2, 3]]


def test_the_busiest_unit_sets_the_time_of_a_tile() -> None:
    tiles = Tiles(16, 16, 8, 16, 16, 8)
    # 8 * 512 operations in 4.096 us; 64 threads read four words a term: 64 us; terms 8 ns.
    assert step_time(tiles, {"Rm": 2, "Rn": 2}, MACHINE) == pytest.approx(64e-6)
    fast = replace(MACHINE, shared_bandwidth=1e12)
    assert step_time(tiles, {"Rm": 2, "Rn": 2}, fast) == pytest.approx(4.096e-6)
    assert step_time(tiles, {"Rm": 2, "Rn": 2}, replace(fast, fma=1e-6)) == pytest.approx(8e-6)


MACHINES = st.builds(
    TileMachine,
    sms=st.integers(1, 5),
    flops=st.just(1e9),
    dram_bandwidth=st.floats(1e6, 1e9),
    port_bandwidth=st.floats(1e6, 1e9),
    shared_bandwidth=st.just(1e9),
    barrier=st.floats(0, 1e-5),
    latency=st.floats(0, 1e-5),
    fma=st.just(1e-9),
    l2_bytes=st.floats(0, 5000),
)
TILES = st.builds(
    Tiles,
    m=st.integers(1, 20),
    n=st.integers(1, 20),
    k=st.integers(1, 40),
    tm=st.integers(1, 8),
    tn=st.integers(1, 8),
    tk=st.integers(1, 8),
)


@st.composite
def launches(draw: st.DrawFn) -> Launch:
    tiles = draw(TILES)
    grouped = draw(st.booleans())
    size = draw(st.integers(1, 4))
    blocks = in_groups(tiles, size, draw(st.integers(1, 4))) if grouped else in_parts(tiles, size)
    flags = {k: draw(st.booleans()) for k in ("trailing", "keep_a", "keep_b", "keep_c")}
    return Launch(tiles, blocks, draw(st.floats(1e-9, 1e-5)), draw(st.integers(0, 3)), **flags)


@settings(max_examples=examples(60), deadline=None)
@given(launches(), MACHINES, st.floats(0, 1e-4))
def test_the_compiled_events_are_those_of_the_python_text(
    launch: Launch, machine: TileMachine, start: float
) -> None:
    if tile_native._library() is None:
        pytest.skip("no C compiler")
    ours, theirs = Counters(), Counters()
    slow, fast = Memory(machine, ours), Memory(machine, theirs)
    assert tile_events.follow(launch, slow, start) == tile_native.follow(launch, fast, start)
    assert ours == theirs
    assert slow.free == fast.free


@settings(max_examples=examples(50), deadline=None)
@given(launches(), MACHINES)
def test_no_time_is_below_what_its_parts_need(launch: Launch, machine: TileMachine) -> None:
    found, counters = time_of(launch, machine)
    assert found >= counters.dram_bytes / machine.dram_bandwidth * (1 - 1e-9)
    assert found >= counters.compute_seconds / machine.sms * (1 - 1e-9)
    assert found >= counters.port_bytes / machine.port_bandwidth / machine.sms * (1 - 1e-9)
    each = np.unique(launch.blocks[:, :2], axis=0)
    assert len(each) == len(launch.tiles.rows) * len(launch.tiles.columns)
    assert counters.tiles == len(each) * len(launch.tiles.depths)


def test_designs_of_both_templates_are_followed() -> None:
    gpu = TiledGpu(Fraction(1, 20))
    extents = {"M": 16, "N": 64, "K": 64}
    whole = gpu.evaluate("tiled_gpu_gemm", extents, TILING, CHIP)
    parts = gpu.evaluate("split_reduction_gemm", extents, SPLIT, CHIP)
    assert whole.energy is None
    assert whole.counters["blocks"] == 4
    assert whole.counters["dram_bytes"] == 4 * (16 * 64 + 64 * 64 + 16 * 64)
    # 4 x 2 tiles in four parts each, then a block a tile; A is read once, B four times.
    assert parts.counters["blocks"] == 8 * 4 + 8
    assert parts.counters["dram_bytes"] == 4 * (16 * 64 + 4 * 64 * 64 + 16 * 64)
    assert (gpu.noise, gpu.evidence) == (Fraction(1, 20), "simulated")


def test_parts_that_do_not_stay_in_l2_pass_the_channel_twice() -> None:
    extents = {"M": 16, "N": 64, "K": 64}
    kept = TiledGpu().evaluate("split_reduction_gemm", extents, SPLIT, CHIP)
    sent = TiledGpu().evaluate("split_reduction_gemm", extents, SPLIT | {"Hp": 0}, CHIP)
    assert sent.counters["dram_bytes"] - kept.counters["dram_bytes"] == 2 * 4 * 4 * 16 * 64
    assert sent.time > kept.time


def test_a_template_without_events_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"shared_memory_tiling.*tiled_gpu_gemm"):
        TiledGpu().evaluate("shared_memory_tiling", {"M": 1, "N": 1, "K": 1}, TILING, CHIP)
