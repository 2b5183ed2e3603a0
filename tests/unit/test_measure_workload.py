"""Inputs that change in place: what the workload says of the output is what the reference gives."""

import numpy as np
import pytest

from formwright.contract.inputs import inputs
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.reference import expected
from formwright.measure.judge import judge
from formwright.measure.outcome import Ok
from formwright.measure.tensors import widened
from formwright.measure.workload import SymmetricWorkload, Variant
from formwright.qualify import timing
from formwright.qualify.timing import operator_workload

SMALL = {"M": 5, "N": 6, "K": 7, "R": 4, "C": 9, "T": 4, "H": 3, "G": 2, "S": 8, "D": 6, "F": 5}


def made(name: str, dtype: str, ahead: tuple[str, ...] = ()) -> SymmetricWorkload:
    contract = operator(name).contract(dtypes=dtype, ahead=ahead)
    return operator_workload(contract, {n: SMALL.get(n, 4) for n in contract.names}, seed=3)


def changed(workload: SymmetricWorkload, times: int) -> tuple[list[np.ndarray], Variant]:
    arrays, variant = workload.load(1)
    views = [a.copy() for a in arrays]
    for seed in range(times):
        variant = workload.vary(views, variant, range(len(views)), seed)
    return views, variant


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_what_is_expected_after_changes_is_what_the_reference_gives(name: str, dtype: str) -> None:
    workload = made(name, dtype)
    contract = operator(name).contract(dtypes=dtype)
    views, variant = changed(workload, times=5)
    assert any((v != a).any() for v, a in zip(views, workload.cases[1].inputs, strict=True))
    fresh = expected(contract, "normal", tuple(views))
    value, tolerance = workload.expected(variant)
    assert (np.abs(value - fresh.value) <= 1e-3 * tolerance).all()
    assert np.allclose(tolerance, fresh.bound, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", ["gemm", "softmax"])
def test_the_cheap_judgement_agrees_with_the_exact_one(name: str, dtype: str) -> None:
    workload = made(name, dtype)
    _, variant = changed(workload, times=3)
    value, tolerance = workload.expected(variant)
    kind = np.dtype(workload.tensors[-1].dtype)
    draw = np.random.default_rng(0)
    seen = set()
    for size in (0.0, 0.5, 0.9, 1.1, 2.0, 50.0):
        for _ in range(20):
            output = value.copy()
            cell = tuple(int(draw.integers(n)) for n in output.shape)
            output[cell] += size * tolerance[cell] * draw.choice([-1.0, 1.0])
            rounded = output.astype(kind)
            cheap = workload.right(variant, rounded)
            assert cheap == isinstance(judge(rounded, value, tolerance), Ok)
            seen.add(cheap)
    assert seen == {True, False}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_cell_that_is_no_number_is_not_right(value: float) -> None:
    workload = made("gemm", "f32")
    _, variant = changed(workload, times=2)
    output = workload.expected(variant)[0].astype(np.float32)
    assert workload.right(variant, output)
    output[2, 3] = value
    assert not workload.right(variant, output)
    assert not workload.right(variant, output, slack=1.0)


def test_inputs_packed_ahead_are_shared_and_the_others_exchanged() -> None:
    workload = made("gemv", "f32", ahead=("W",))
    contract = operator("gemv").contract(ahead=("W",))
    arrays, variant = workload.load(0)
    views = [a.copy() for a in arrays]
    variant = workload.vary(views, variant, (0,), 1)
    packed = views[0].copy()
    for seed in range(3):
        before = views[1].copy()
        variant = workload.vary(views, variant, (1,), seed)
        assert (views[0] == packed).all()
        assert (views[1] != before).any()
        fresh = expected(contract, "normal", tuple(views))
        assert np.abs(workload.expected(variant)[0] - fresh.value).max() < 1e-9


def test_bfloat16_is_widened_exactly() -> None:
    contract = operator("softmax").contract(dtypes="bf16")
    (array,) = inputs(contract, "normal", {"R": 3, "C": 5}, 1)
    assert (widened(array) == array.astype(np.float32)).all()


def test_inputs_that_are_not_packed_move_too_where_their_axis_is_their_own() -> None:
    workload = made("gemm", "f32", ahead=("B",))
    contract = operator("gemm").contract(ahead=("B",))
    arrays, variant = workload.load(0)
    views = [a.copy() for a in arrays]
    for seed in range(6):
        variant = workload.vary(views, variant, (1,) if seed % 2 else (0,), seed)
        fresh = expected(contract, "normal", tuple(views))
        value, tolerance = workload.expected(variant)
        assert np.abs(value - fresh.value).max() < 1e-9
        assert np.allclose(tolerance, fresh.bound)
    assert {a.axis for a in variant.axes} == {1}
    assert {a.axis for a in variant.late} == {0}


def test_of_a_large_output_some_rows_are_held_against_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "REFERENCE_FLOPS", 1)
    contract = operator("gemm").contract()
    workload = operator_workload(contract, {"M": 64, "N": 6, "K": 5}, seed=3)
    views, variant = changed(workload, times=4)
    fresh = expected(contract, "normal", tuple(views))
    value, tolerance = workload.expected(variant)
    held = np.isfinite(tolerance)
    assert held.all(axis=1).sum() == held.any(axis=1).sum() == timing.LEAST_SLICES
    assert np.abs(value - fresh.value)[held].max() < 1e-9
    right = fresh.value.astype(np.float32)
    assert workload.right(variant, right)
    row = int(np.argmax(held[:, 0]))
    right[row, 2] += 1
    assert not workload.right(variant, right)
    lost = fresh.value.astype(np.float32)
    lost[int(np.argmin(held[:, 0]))] = np.nan
    assert not workload.right(variant, lost)
    assert not isinstance(judge(lost, value, tolerance), Ok)
