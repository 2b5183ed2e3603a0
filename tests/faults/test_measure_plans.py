"""What a plan asks for: cold caches, tails, an early end, libraries that are judged too."""

import math
from pathlib import Path
from statistics import median

import measure_candidates as mc
import numpy as np
import pytest

from formwright.contract.operators import OPERATORS, operator
from formwright.contract.operators.family import Negate
from formwright.measure.machine import Frequency, frequency
from formwright.measure.outcome import MeasureError, Mismatch, Refused, Remembered
from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, Program
from formwright.measure.session import Batch, Session
from formwright.measure.statistics import (
    Distribution,
    Interval,
    clear,
    tail_of,
    tail_ratio,
    verdict,
)
from formwright.measure.tensors import Tensor
from formwright.measure.timing import measure_interleaved
from formwright.measure.workload import SymmetricWorkload
from formwright.qualify import timing
from formwright.qualify.timing import notes, operator_workload, time_programs

SHAPE = (24, 40, 32)
SPIN = """
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
                          return t.tv_sec + 1e-9 * t.tv_nsec; }
static void spin(double seconds) { double end = now() + seconds; while (now() < end) ; }
"""
QUICK = Plan(rounds=3, batch_seconds=0.002, slots=4, memory_bytes=4 << 20)
EXTENTS = {
    "M": 4,
    "N": 5,
    "K": 6,
    "R": 3,
    "C": 7,
    "T": 4,
    "H": 2,
    "G": 2,
    "S": 5,
    "D": 4,
    "F": 6,
    "B": 3,
}


def workload() -> SymmetricWorkload:
    cases = (mc.case(1, SHAPE), mc.case(2, SHAPE))
    signs = (Negate(((0, 0),), 0), Negate(((1, 1),), 1))
    return SymmetricWorkload(mc.tensors(SHAPE), SHAPE, cases, signs)


def native(tmp_path: Path, name: str, body: str, globals: str = SPIN) -> Program:
    (tmp_path / name).mkdir()
    return mc.native(body, tmp_path / name, globals)


def test_a_sweep_leaves_nothing_in_the_caches(tmp_path: Path) -> None:
    """A kernel that walks through a buffer of its own: quick when it is still in the caches."""
    walk = """
    static volatile char kept[1 << 18]; static int at = 0;
    for (int n = 0; n < 4096; n++) at = (at + 64 * 1027 + (kept[at] ^= 0)) % (1 << 18);
    right(T, st, e);
    """
    given = workload()
    with Session(native(tmp_path, "walk", walk), given.tensors, given.extents) as session:
        session.load(given.cases[0].inputs)
        seconds: dict[int, list[float]] = {0: [], 64: []}
        # In turn, since other work comes and goes.
        for size in (0, 0, 64) * 15:
            if size:
                assert isinstance(session.evict(size), Batch)
            batch = session.run((0,))
            assert isinstance(batch, Batch)
            seconds[size].append(batch.wall_seconds)
    # What follows a sweep at once finds the caches cold too: only the second of each two counts.
    assert median(seconds[64]) > 1.3 * median(seconds[0][1::2])


def test_cold_calls_are_timed_one_by_one() -> None:
    plan = Plan(rounds=3, slots=4, caches="cold")
    found = measure_interleaved({"numpy": Baseline("numpy")}, workload(), seed=1, plan=plan)
    assert isinstance(found["numpy"], Distribution)
    assert [s.calls for s in found["numpy"].samples] == [1, 1, 1]


def test_rounds_end_when_the_answer_is_clear(tmp_path: Path) -> None:
    programs = {
        "ours": native(tmp_path, "ours", "right(T, st, e); spin(1e-4);"),
        "slow": native(tmp_path, "slow", "right(T, st, e); spin(5e-3);"),
    }
    plan = Plan(rounds=40, least_rounds=4, batch_seconds=0.001, slots=4, target=1.0)
    found = measure_interleaved(programs, workload(), seed=1, plan=plan)["ours"]
    assert isinstance(found, Distribution)
    assert 4 <= len(found.samples) < 40


@pytest.mark.slow
def test_a_hopeless_program_is_not_run_on(tmp_path: Path) -> None:
    programs = {
        "ours": native(tmp_path, "ours", "right(T, st, e);"),
        "slow": native(tmp_path, "slow", "right(T, st, e); spin(2e-2);"),
    }
    plan = Plan(rounds=6, batch_seconds=0.001, slots=4, hopeless=4.0)
    found = measure_interleaved(programs, workload(), seed=1, plan=plan)
    ours, slow = found["ours"], found["slow"]
    assert isinstance(ours, Distribution)
    assert isinstance(slow, Distribution)
    assert (len(ours.samples), len(slow.samples)) == (6, 2)


@pytest.mark.slow
def test_tails_show_the_calls_that_take_long_now_and_then(tmp_path: Path) -> None:
    stutter = "static int n; right(T, st, e); spin(++n % 7 ? 1.5e-3 : 6e-3);"
    programs = {
        "steady": native(tmp_path, "steady", "right(T, st, e); spin(1.5e-3);"),
        "stutter": native(tmp_path, "stutter", stutter),
    }
    plan = Plan(rounds=3, batch_seconds=0.003, slots=4, tails=40)
    found = measure_interleaved(programs, workload(), seed=1, plan=plan)
    steady, late = found["steady"], found["stutter"]
    assert isinstance(steady, Distribution)
    assert isinstance(late, Distribution)
    assert late.tail is not None
    assert late.tail.batches == 40
    assert late.tail.p95 > 2 * late.tail.p50
    compared = tail_ratio(steady, late, limit=1.25)
    assert compared is not None
    assert compared.regression


STARTS = {"gemm", "decode_attention", "gated_mlp"}
"""A child for each takes a while: these in the default run, all of them in the slow one."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in STARTS else pytest.mark.slow) for n in sorted(OPERATORS)],
)
def test_numpy_does_every_operator_and_is_judged(name: str) -> None:
    contract = operator(name).contract()
    extents = {n: EXTENTS[n] for n in contract.names}
    given = operator_workload(contract, extents, seed=1)
    program = Baseline("numpy", operator=name)
    found = measure_interleaved({"numpy": program}, given, seed=1, plan=QUICK)["numpy"]
    assert isinstance(found, Distribution), found.message
    assert found.way == "numpy"


def test_a_library_that_computes_something_else_is_found_out() -> None:
    contract = operator("gemm").contract()
    given = operator_workload(contract, {"M": 6, "N": 6, "K": 6}, seed=1)
    cases = tuple(
        type(c)(c.inputs, np.ascontiguousarray(c.expected.T), c.tolerance) for c in given.cases
    )
    other = SymmetricWorkload(given.tensors, given.extents, cases, ())
    found = measure_interleaved({"numpy": Baseline("numpy")}, other, seed=1, plan=QUICK)["numpy"]
    assert isinstance(found, Mismatch)


def test_what_a_library_has_nothing_for_is_told_from_one_that_is_missing() -> None:
    tensors = (Tensor("X", (4, 4), dtype="bfloat16"), Tensor("Y", (4, 4), True, "bfloat16"))
    with pytest.raises(MeasureError, match="no arithmetic in bfloat16") as caught:
        Session(Baseline("numpy", operator="softmax"), tensors, (4, 4))
    assert caught.value.outcome == Refused(
        "numpy: NumPy has no arithmetic in bfloat16", offered=False
    )


def test_a_record_of_a_timing_says_what_was_inside_and_how_the_machine_did(tmp_path: Path) -> None:
    programs = {
        "kernel": native(tmp_path, "kernel", "right(T, st, e);"),
        "numpy": Baseline("numpy"),
    }
    contract = operator("gemm").contract(caches="cold")
    extents = dict(zip("MNK", SHAPE, strict=True))
    plan = Plan(rounds=3, batch_seconds=0.001, slots=4, tails=3)
    shown = time_programs(programs, contract, extents, seed=1, plan=plan)
    assert shown["caches"] == "cold"
    assert set(shown["ratios"]) == set(shown["verdicts"]) == {"numpy"}
    # On a busy machine an empty batch may take longer than a short one: such a tail is not shown.
    tails = [shown["programs"][name]["tail"] for name in programs]
    taken = all(t["p95"] and t["p99"] for t in tails)
    assert set(shown["tails"]) == ({"numpy"} if taken else set())
    assert shown["programs"]["kernel"]["prepare_seconds"] is None
    assert shown["queue_share"] >= 0


@pytest.mark.parametrize(("slow", "held"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_timing_that_other_work_came_into_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: int, held: bool
) -> None:
    """Refused is what is slow on new inputs each time; what is once was timed beside other work."""
    answers = [Remembered(1.6)] * slow + [None] * 3
    monkeypatch.setattr(timing, "remembered", lambda *_, **__: answers.pop(0))
    programs = {"kernel": native(tmp_path, "kernel", "right(T, st, e);")}
    extents = dict(zip("MNK", SHAPE, strict=True))
    plan = Plan(rounds=3, batch_seconds=0.001, slots=4)
    shown = time_programs(programs, operator("gemm").contract(), extents, seed=1, plan=plan)
    assert ("failure" not in shown["programs"]["kernel"]) == held
    assert shown["timings"] == min(slow + 1, 3)
    assert bool(notes(shown)) == (shown["timings"] > 1)


def test_verdicts() -> None:
    assert verdict(Interval(1.2, 1.1, 1.3), 0.02) == "faster"
    assert verdict(Interval(0.8, 0.7, 0.9), 0.02) == "slower"
    assert verdict(Interval(1.0, 0.99, 1.01), 0.02) == "no difference"
    assert verdict(Interval(1.1, 0.9, 1.3), 0.02) == "too noisy"
    assert clear(Interval(1.5, 1.4, 1.6), 1.3, 0.02)
    assert not clear(Interval(1.5, 1.31, 1.6), 1.3, 0.02)
    assert clear(Interval(1.1, 1.0, 1.2), 1.3, 0.02)
    tail = tail_of([float(n) for n in range(1, 101)], 1)
    assert math.isclose(tail.p50, 50.5)
    assert math.isclose(tail.p99, 99.01)


def test_the_frequency_is_read_where_the_system_says_it(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    proc.mkdir()
    text = "processor\t: 0\ncpu MHz\t\t: 2000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 2500.0\n"
    (proc / "cpuinfo").write_text(text, encoding="utf-8")
    sys = tmp_path / "sys"
    assert frequency((0, 1), sys, proc) == Frequency(2000.5, 2500.0, "cpuinfo")
    place = sys / "devices/system/cpu/cpu1/cpufreq"
    place.mkdir(parents=True)
    (place / "scaling_cur_freq").write_text("3100000\n", encoding="utf-8")
    assert frequency((1,), sys, proc) == Frequency(3100.0, 3100.0, "cpufreq")
    assert frequency((7,), tmp_path, tmp_path) is None


def test_notes_say_where_a_speed_up_does_not_count() -> None:
    interval = {"median": 1.02, "low": 0.9, "high": 1.2}
    timing = {
        "ratios": {"torch": interval, "numpy": {"median": 3.0, "low": 2.9, "high": 3.1}},
        "verdicts": {"torch": "too noisy", "numpy": "faster"},
        "tails": {"torch": {"p95": 0.5, "p99": 0.5, "limit": 1.25, "regression": True}},
        "programs": {"kernel": {"prepare_seconds": 0.002}, "torch": {"failure": "hung"}},
    }
    assert notes(timing) == (
        "no improvement over torch counts (too noisy): the interval is [0.900, 1.200]",
        "p95 is 2.00 times that of torch; the limit is 1.25",
        "kernel: packing ahead 2.000 ms, outside the time of a call",
    )
