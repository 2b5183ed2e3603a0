"""What ``benchmarks/operators.py`` fails for: floors, missing peers, missing templates."""

import argparse
import importlib
import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from formwright.base.quantities import Quantity
from formwright.chip import Chip, load_chip
from formwright.contract.operators import OPERATORS, operator
from formwright.measure.outcome import Hung, Refused
from formwright.measure.statistics import Distribution, Interval, Sample

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("operators")


def timed(seconds: float) -> Distribution:
    samples = tuple(Sample(n, seconds * (1 + n / 1000), 4, 1.0, 4 * seconds, 0.0) for n in range(5))
    return Distribution(samples, Interval(seconds, seconds, seconds), 0.0, 0, 1, 4, "plain")


def judged(bench: Any, peers: dict[str, Any], seconds: float = 1e-3, dtype: str = "f32") -> Any:
    shape = bench.Shape("softmax", "small", {"R": 64, "C": 128})
    run = bench.Bench(argparse.Namespace(json=None, seed=1))
    design = bench.Design("softmax rows=4", seconds, Path("kernel.so"))
    contract = operator("softmax").contract(dtypes=dtype)
    run._compare(bench.Row(shape, dtype, 1), contract, design, {"ours": timed(seconds), **peers})
    return run


def test_a_row_that_reaches_its_floor_is_no_fault(bench: Any) -> None:
    run = judged(bench, {"torch": timed(1.4e-3), "numpy": timed(9e-3)})
    assert run.faults == []
    assert [r["peer"] for r in run.rows] == ["torch", "numpy"]
    fields = {"operator", "dtype", "threads", "shape", "peer", "ratio", "low", "high", "roof"}
    assert all(fields <= set(r) for r in run.rows)
    assert json.dumps(run.rows)


def test_the_fastest_peer_decides(bench: Any) -> None:
    run = judged(bench, {"torch": timed(1.4e-3), "onednn": timed(1.2e-3)})
    assert len(run.faults) == 1
    assert "1.20 (1.20-1.20) of onednn, not 1.3" in run.faults[0]


def test_a_peer_that_fails_or_is_missing_is_a_fault(bench: Any) -> None:
    for outcome in (Hung(3.0), Refused("torch is not installed")):
        run = judged(bench, {"torch": outcome, "numpy": timed(9e-3)})
        assert [f for f in run.faults if "torch failed" in f]


def test_a_peer_that_has_nothing_for_it_is_none(bench: Any) -> None:
    run = judged(bench, {"numpy": Refused("no bfloat16", offered=False), "torch": timed(9e-3)})
    assert run.faults == []


def test_a_row_without_any_peer_is_a_fault(bench: Any) -> None:
    run = judged(bench, {"numpy": Refused("no bfloat16", offered=False)})
    assert "no peer was timed" in run.faults[0]


def test_at_the_roof_no_floor_is_asked(bench: Any) -> None:
    contract = operator("softmax").contract()
    row = bench.Row(bench.Shape("softmax", "small", {"R": 64, "C": 128}), "f32", 1)
    roof = bench.roof_seconds(contract, row, 4)
    assert judged(bench, {"torch": timed(roof * 1.04)}, seconds=roof * 1.02).faults == []
    assert judged(bench, {"torch": timed(roof * 1.2)}, seconds=roof * 1.02).faults != []


@pytest.mark.parametrize(
    ("name", "extents", "units"),
    [
        ("prefill_attention", {"H": 8, "G": 2, "T": 4096, "D": 128}, True),
        ("gated_mlp", {"T": 4096, "D": 1024, "F": 4096}, True),
        ("gated_mlp", {"T": 1, "D": 1024, "F": 4096}, False),
        ("softmax", {"R": 4096, "C": 512}, False),
    ],
)
def test_the_roof_of_bf16_products_is_that_of_matrix_units(
    bench: Any, name: str, extents: dict[str, int], units: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of one token is bound by memory with and without them."""
    fields = dict(load_chip("local").fields)
    fields |= {n: replace(fields[n], quantity=q) for n, q in CPU.items()}

    def roof(dtype: str, rate: int) -> float:
        field = replace(fields["flops"], quantity=Quantity(Fraction(rate), "compute"))
        chip = Chip("test", {**fields, "core_matrix_flops": field})
        monkeypatch.setattr(bench, "load_chip", lambda _: chip)
        row = bench.Row(bench.Shape(name, "a shape", extents), dtype, 2)
        return float(bench.roof_seconds(bench.contract_of(row), row, 1))

    assert (roof("bf16", 2 * 10**12) < roof("bf16", 0)) == units
    assert roof("f32", 2 * 10**12) == roof("f32", 0)


CPU = {
    "flops": Quantity(Fraction(200 * 10**9), "compute"),
    "core_flops": Quantity(Fraction(100 * 10**9), "compute"),
    "l3_bytes": Quantity(Fraction(1 << 20), "bytes"),
    "dram_bandwidth": Quantity(Fraction(20 * 10**9), "bandwidth"),
}


def test_an_operator_without_a_template_is_a_fault(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "shipped", lambda _: ())
    given = ["--operators", "softmax", "--shape", "R=4,C=8", "--threads", "1", "--dtypes", "f32"]
    assert bench.main(given) == 1


def test_quick_covers_every_operator_once(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = importlib.import_module("operator_rows")
    assert set(rows.REQUIRED) <= set(OPERATORS)
    found = [shape for shape, _ in rows.quick_shapes(rows.REQUIRED)]
    assert [s.operator for s in found] == list(rows.REQUIRED)
    for shape in [*found, *(s for m in rows.MODELS for s in rows.shapes(m))]:
        family = OPERATORS[shape.operator]
        assert set(shape.extents) == {e.name for e in family.extents}
    assert sys.path[0] == str(BENCHMARKS)
