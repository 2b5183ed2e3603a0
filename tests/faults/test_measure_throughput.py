"""Independent calls on all cores at once: the rate, and what a wrong kernel gets."""

import os
from pathlib import Path

import measure_candidates as mc
import pytest

from formwright.contract.operators.family import Negate
from formwright.measure.outcome import Mismatch
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.throughput import Throughput, throughput
from formwright.measure.workload import SymmetricWorkload

SHAPE = (24, 40, 32)
SIGNS = (Negate(((0, 0),), 0), Negate(((1, 1),), 1))
CORES = sorted(os.sched_getaffinity(0))
QUICK = Plan(rounds=3, batch_seconds=0.004, slots=8, memory_bytes=4 << 20)


def _workload() -> SymmetricWorkload:
    cases = (mc.case(1, SHAPE), mc.case(2, SHAPE))
    return SymmetricWorkload(mc.tensors(SHAPE), SHAPE, cases, SIGNS)


def test_every_core_calls_at_once(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e);", tmp_path)
    found = throughput(program, _workload(), CORES, seed=1, plan=QUICK)
    assert isinstance(found, Throughput)
    assert found.cores == len(CORES)
    assert len(found.rounds) == 3
    assert 0 < found.calls_per_second.low <= found.calls_per_second.median


def test_wrong_outputs_have_no_rate(tmp_path: Path) -> None:
    program = mc.native("right(T, st, e); C[3] += 1;", tmp_path)
    assert isinstance(throughput(program, _workload(), CORES[:1], seed=1, plan=QUICK), Mismatch)


def test_only_calls_of_one_thread(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one thread each"):
        throughput(Native(tmp_path / "none.so", 2), _workload(), CORES[:1], seed=1, plan=QUICK)
