"""Builds over integers mod 2^64: right nests hold, wrong terms are refuted, the rest says why."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formwright.codegen import emit_c, target_named
from formwright.codegen.build import FLAGS, LINK, find_compiler
from formwright.codegen.ring import RingError, check_ring, ring_source
from formwright.codegen.words import NumbersError
from formwright.contract.contract import Contract
from formwright.contract.operators import OPERATORS, operator
from formwright.lang import load
from formwright.qualify.exact import NotExactError, exact_output
from formwright.qualify.numbers import run_numbers
from formwright.qualify.ring import Ring
from formwright.qualify.sanitized import Outcome

GEMM = operator("gemm").contract()
PICKED = {"Mr": 2, "Nr": 4, "Kc": 64, "Mc": 48, "Nb": 48, "Ib": 1}
SHAPES = ({"M": 3, "N": 5, "K": 7}, {"M": 50, "N": 49, "K": 66})


@pytest.fixture(scope="module")
def source() -> str:
    return ring_source(emit_c(load("packed_gemm")[1], PICKED, target_named("plain")))


def _run(
    source: str | RingError,
    folder: Path,
    contract: Contract = GEMM,
    shapes: Sequence[dict[str, int]] = SHAPES,
) -> Outcome:
    command = (*find_compiler(), *FLAGS, "-o", "kernel.so", "kernel.c", *LINK)
    return run_numbers(Ring(), source, command, contract, shapes, 3, 2, folder)


def test_a_right_loop_nest_is_exact(source: str, tmp_path: Path) -> None:
    found = _run(source, tmp_path)
    assert (found.verdict, found.runs) == ("held", 2), found.detail


def test_a_block_of_terms_left_out_is_refuted(source: str, tmp_path: Path) -> None:
    wrong = source.replace("(i_pc > 0)", "(i_pc > 1)")
    assert wrong != source
    found = _run(wrong, tmp_path)
    assert found.verdict == "refuted"
    assert found.detail == (
        "2450 of 2450 cells are not the exact value, the first at [0, 0] (at M=50, N=49, K=66)"
    )


def test_rows_that_are_added_up_at_once_are_exact_and_apart(tmp_path: Path) -> None:
    emitted = emit_c(load("gemv_rows_apart")[1], {"Rr": 4, "L": 8}, target_named("plain"))
    gemv, shapes = operator("gemv").contract(), ({"N": 9, "K": 37}, {"N": 16, "K": 64})
    right = ring_source(emitted)
    assert "const fw_four sums" in right
    found = _run(right, tmp_path / "right", gemv, shapes)
    assert (found.verdict, found.runs) == ("held", 2), found.detail
    wrong = right.replace("sums[1]", "sums[2]")
    assert wrong != right
    assert _run(wrong, tmp_path / "wrong", gemv, shapes).verdict == "refuted"


def test_what_is_no_ring_is_unresolved(tmp_path: Path) -> None:
    found = _run(RingError("0.5f is no integer"), tmp_path / "a")
    assert (found.verdict, found.detail) == ("unresolved", "0.5f is no integer")
    found = _run("no C at all", tmp_path / "b")
    assert found.verdict == "unresolved"
    assert found.detail.startswith("no build: ")


def test_literals_that_are_no_integers_have_no_ring() -> None:
    emitted = emit_c(load("direct_gemm")[1], {"Mr": 1, "Nr": 4, "Jb": 1}, target_named("plain"))
    source = emitted.source.replace("n_K", "0.5f + n_K", 1)
    with pytest.raises(NumbersError, match=r"0.5f is no integer"):
        ring_source(replace(emitted, source=source))


def test_the_exact_output() -> None:
    a = np.array([[2**63, 3], [5, 2**64 - 1]], object)
    b = np.array([[2, 7], [11, 13]], object)
    want = (a @ b) % 2**64
    found = exact_output(GEMM, {"M": 2, "N": 2, "K": 2}, {"A": a, "B": b}, 64)
    assert (found == want).all()
    empty = np.zeros((2, 0), object)
    none = exact_output(GEMM, {"M": 2, "N": 2, "K": 0}, {"A": empty, "B": empty.T}, 64)
    assert (none == 0).all()


@pytest.mark.parametrize("name", ["softmax", "rmsnorm"])
def test_formulas_with_functions_are_not_exact(name: str) -> None:
    contract = OPERATORS[name].contract()
    values = dict.fromkeys(contract.names, 3)
    inputs = {o.name: np.ones(contract.shape(o, values), object) for o in contract.inputs}
    with pytest.raises(NotExactError):
        exact_output(contract, values, inputs, 64)


def test_what_is_no_polynomial_is_not_built(tmp_path: Path) -> None:
    contract = OPERATORS["softmax"].contract()
    shape = dict.fromkeys(contract.names, 3)
    found = run_numbers(Ring(), "no C at all", ("cc",), contract, (shape,), 1, 2, tmp_path)
    assert (found.verdict, found.runs) == ("unresolved", 0)
    assert found.detail.startswith("the formula is no polynomial: ")


@pytest.mark.parametrize(
    ("name", "said"),
    [("softmax_rows", "maximum|exp"), ("rmsnorm_rows", r"the program has .*rsqrt")],
)
def test_programs_that_divide_have_no_ring(name: str, said: str) -> None:
    with pytest.raises(RingError, match=said):
        check_ring(load(name)[1].program)
