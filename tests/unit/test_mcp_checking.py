"""What a call of a tool may not say is told before a child is asked, with what to do."""

from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.contract.operators import operator
from formwright.contract.problem import Budget, Problem, Workload
from formwright.mcp.checking import Call, settled
from formwright.mcp.fixed import Fixed, FixedProblem

GEMV = Problem(
    name="p",
    contract=operator("gemv").contract(),
    templates=(),
    chip="local",
    threads=1,
    workloads=(Workload("one", {"N": 4, "K": 4}),),
    baselines=(),
    budget=Budget(),
)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call("solve", "gemv_rows", extents={"N": 5}), "extents without a chip"),
        (Call("solve", "gemv_rows", chip="../chip"), "no chip of that name"),
        (Call("solve", "gemv_rows", "p", chip="local"), "a problem has its own chip"),
        (Call("solve", "gemv_rows", seconds=float("nan")), "seconds are from 1"),
        (Call("check", "gemv_rows", assignments=({"Rr": 10**30},)), "no number is beyond"),
        (Call("build", "gemv_rows", "zzz"), "no such problem"),
    ],
)
def test_faults_of_a_call(tmp_path: Path, call: Call, told: str) -> None:
    fixed = Fixed({"p": FixedProblem(GEMV)}, "", tmp_path)
    with pytest.raises(InputError) as caught:
        settled(call, fixed)
    assert told in caught.value.diagnostics[0].message
    assert settled(Call("solve", "gemv_rows"), fixed).problem is not None
