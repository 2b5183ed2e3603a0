"""From a contract to a plain template: it says the contract, is proved, and computes it."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from effort import thinned
from formwright.agent.protocol import Proposal
from formwright.agent.screening import screen
from formwright.agent.specification import plain_template, plain_templates
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.codegen import build, detect_target, emit_c
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.matching import matches, typed_for
from formwright.contract.numbers import Array, format_of
from formwright.contract.operators import OPERATORS, operator
from formwright.ir.program import For, Par
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.lang.format import format_template
from formwright.smt import prove
from made_contracts import MADE, made

CONTRACTS = {name: o.contract() for name, o in OPERATORS.items()} | MADE
SIZES = {"M": 5, "N": 7, "K": 11, "R": 3, "C": 13, "T": 6, "H": 3, "G": 2, "S": 11, "D": 10}
SIZES |= {"F": 9, "B": 2}


@pytest.mark.parametrize("name", CONTRACTS)
def test_it_says_what_the_contract_says(name: str) -> None:
    contract = CONTRACTS[name]
    for template in plain_templates(contract, f"{name}_plain"):
        assert matches(template, contract) == ()
        text = format_template(template)
        assert parse(Source("plain.fw", text)) == template
        assert screen(Proposal(text, "fw", "specification"), contract) == ()
    assert plain_template(contract, "again") == plain_template(contract, "again")


@pytest.mark.parametrize("name", thinned(list(CONTRACTS), 3))
@pytest.mark.slow
def test_it_is_proved_for_all_extents(name: str) -> None:
    for template in plain_templates(CONTRACTS[name], f"{name}_plain"):
        proof = prove(template)
        assert [o.name for o in proof.obligations if o.verdict != "proved"] == []
        assert proof.verdict == "proved"


def call(path: Path, contract: Contract, values: dict[str, int], arrays: list[Array]) -> Array:
    """The output of the library at ``path``; it was filled with NaN before."""
    library = ctypes.CDLL(str(path))
    library.fw_scratch_bytes.restype = ctypes.c_int64
    kind = format_of(contract.output.dtype).numpy
    output = np.full(contract.shape(contract.output, values), np.nan, kind)
    tensors = [*arrays, output]
    extents = (ctypes.c_int64 * len(contract.extents))(*(values[n] for n in contract.names))
    size = int(library.fw_scratch_bytes(extents, 1))
    scratch = np.full(size + 64, 0xFF, np.uint8)
    code = library.fw_call(
        (ctypes.c_void_p * len(tensors))(*(t.ctypes.data for t in tensors)),
        (ctypes.c_int64 * len(tensors))(*(t.shape[-1] for t in tensors)),
        extents,
        ctypes.c_void_p((scratch.ctypes.data + 63) // 64 * 64),
        ctypes.c_int64(size),
        ctypes.c_int32(1),
    )
    assert code == 0
    return output


SOON = ("gemm_int8",)
LATER = [pytest.param(n, marks=pytest.mark.slow) for n in OPERATORS if n not in SOON]


@pytest.mark.parametrize("name", [*SOON, *LATER])
def test_what_is_emitted_is_right(name: str, tmp_path: Path) -> None:
    dtype = "bf16" if name == "prefill_attention" else "f32"
    contract = operator(name).contract(dtypes=dtype)
    values = {n: SIZES[n] for n in contract.names}
    for number, template in enumerate(plain_templates(contract, f"{name}_plain")):
        emitted = emit_c(typed_for(template, contract), {}, detect_target())
        library = build(emitted, tmp_path / str(number)).library
        for kind in operator(name).kinds(contract):
            arrays = inputs(contract, kind, values, seed=5)
            output = call(library, contract, values, list(arrays))
            assert judge(contract, kind, arrays, output) is None, kind


def _grids(template: Template) -> list[tuple[str, ...]]:
    return [s.vars for s in template.program if isinstance(s, Par)]


def test_agents_are_over_what_all_lines_share() -> None:
    together = plain_template(operator("decode_attention").contract(), "plain")
    assert _grids(together) == [("h", "g")]
    # A row that is stored and read along n stays in the agent; a row that is summed does not.
    assert _grids(plain_template(operator("gemm").contract(), "plain")) == [("m",)]
    assert _grids(plain_template(operator("gemv").contract(), "plain")) == [("n",)]


def test_lines_that_read_a_whole_matrix_are_apart() -> None:
    first, second = plain_templates(operator("gated_mlp").contract(), "mlp")
    assert (first.name, second.name) == ("mlp", "mlp_together")
    assert _grids(first) == [("t", "f"), ("t", "d")]
    assert _grids(second) == [("t",)]
    # exp(-a) is computed once for a cell, not again for each cell of the output
    assert "w_of[t,f] = " in format_template(first)


def test_a_causal_mask_is_a_shorter_loop() -> None:
    template = plain_template(operator("prefill_attention").contract(), "plain")
    text = format_template(template)
    assert "select" not in text.partition("program")[2]
    assert text.count("for j in 0 .. t + 1:") == 3
    other = format_template(plain_template(MADE["largest_or_own"], "plain"))
    assert "max= select(j <= t," in other


def test_stages_with_no_index_are_registers_and_rows_are_scratch() -> None:
    text = format_template(plain_template(operator("softmax").contract(), "plain"))
    assert "alloc m_of[1], z_of[1] register" in text
    assert "scratch" not in text.partition("program")[2].partition("realise")[0]


def test_element_types_are_those_that_the_operator_may_have() -> None:
    template = plain_template(operator("gemv_int8").contract(dtypes="bf16"), "plain")
    assert "dtypes    W i8, x f32 | bf16 | f16" in format_template(template)


def test_a_maximum_of_nothing_is_refused() -> None:
    contract = made(["y[R] = max(c < C) X[R,c]"], [("R", 1), ("C", 0)], [("X", ("R", "C"))], "y")
    with pytest.raises(InputError, match=r"maximum over C, which may be 0"):
        plain_template(contract, "plain")


def test_a_name_that_is_a_word_of_the_language_is_told() -> None:
    with pytest.raises(InputError, match="word of the language"):
        plain_template(operator("gemm").contract(), "shared")


def test_narrowed_extents_are_the_scope() -> None:
    contract = operator("gemm").contract(extents={"K": (8, 64)})
    template = plain_template(contract, "plain")
    assert matches(template, contract) == ()
    assert "K >= 8" in format_template(template)
    assert any(isinstance(s, For) for p in template.program if isinstance(p, Par) for s in p.body)
