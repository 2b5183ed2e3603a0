"""The templates of the operators: they match their contracts, and what is emitted is right."""

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from formwright.codegen import build, detect_target, emit_c
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.matching import matches, typed_for
from formwright.contract.numbers import Array, format_of
from formwright.contract.operators import operator
from formwright.lang import load
from formwright.smt import prove

Values = Mapping[str, int]

PANELS = {"Mr": 2, "Nr": 8, "Kc": 128, "Jb": 2, "Ib": 4}
CASES = {
    # Its operator, a small design, and extents that leave tails everywhere.
    "gemv_rows": ("gemv", {"Rr": 2, "L": 8, "Pf": 1}, {"N": 5, "K": 21}),
    "gemv_rows_apart": ("gemv", {"Rr": 4, "L": 16}, {"N": 11, "K": 37}),
    "softmax_rows": ("softmax", {"Rr": 2, "L": 8, "St": 0}, {"R": 3, "C": 13}),
    "rmsnorm_rows": ("rmsnorm", {"Rr": 2, "L": 8, "St": 1}, {"T": 3, "H": 29}),
    "decode_attention_heads": (
        "decode_attention",
        {"Gr": 2, "L": 8, "Lv": 8, "Ls": 8},
        {"H": 2, "G": 3, "S": 11, "D": 10},
    ),
    "decode_attention_stream": (
        "decode_attention",
        {"Gr": 2, "L": 8, "Lv": 8, "Ls": 8, "Bs": 32, "Pf": 4},
        {"H": 2, "G": 3, "S": 43, "D": 10},
    ),
    "gated_mlp_direct": (
        "gated_mlp",
        {"Fr": 2, "Dr": 1, "L": 8, "Pf": 1},
        {"T": 2, "D": 11, "F": 9},
    ),
    "gated_mlp_panels_ahead": (
        "gated_mlp",
        {"Mr": 2, "Nr": 8, "Ns": 8, "Kc": 128, "Jb": 1, "Tb": 4, "Pf": 1},
        {"T": 9, "D": 135, "F": 13},
    ),
    "layernorm_rows": ("layernorm", {"Rr": 2, "L": 8, "St": 1}, {"T": 3, "H": 21}),
    "rope_heads": ("rope", {"Nb": 2}, {"T": 2, "N": 3, "H": 23}),
    "gemv_int8_rows": ("gemv_int8", {"Rr": 2, "L": 8, "Pf": 0}, {"N": 5, "K": 21}),
    "gemm_batched_tiles": (
        "gemm_batched",
        {"Mr": 2, "Nr": 8, "Jb": 1},
        {"B": 2, "M": 3, "N": 11, "K": 7},
    ),
    **{
        f"gemm_{what}_panels_ahead": (f"gemm_{what}", PANELS, {"M": 9, "N": 21, "K": 131})
        for what in ("bias", "residual", "relu", "silu", "int8")
    },
    "prefill_attention_blocks": (
        "prefill_attention",
        {"Mr": 4, "Nr": 8, "Bq": 2, "L": 8},
        {"H": 2, "G": 2, "T": 19, "D": 10},
    ),
    "gemm_matrix_ahead": (
        "gemm",
        {"Mr": 16, "Jb": 1, "Tb": 2, "Kb": 16},
        {"M": 37, "N": 41, "K": 530},
    ),
    **{
        f"gemm_{what}_matrix_ahead": (
            f"gemm_{what}",
            {"Mr": 32, "Jb": 2, "Tb": 1, "Kb": 16},
            {"M": 37, "N": 41, "K": 530},
        )
        for what in ("bias", "residual", "relu", "silu")
    },
    "gated_mlp_matrix_ahead": (
        "gated_mlp",
        {"Mr": 32, "Jb": 2, "Tb": 1, "Kb": 16},
        {"T": 37, "D": 41, "F": 67},
    ),
    "prefill_attention_matrix": (
        "prefill_attention",
        {"Rr": 4},
        {"H": 2, "G": 2, "T": 67, "D": 41},
    ),
}
NARROW = ("gated_mlp", "prefill_attention")
"""Templates for matrix units that ask for ``stages = "bf16"``."""


def contract_of(name: str, dtype: str) -> Contract:
    asked = operator(CASES[name][0])
    if "_matrix" not in name:
        return asked.contract(dtypes=dtype)
    # Inputs are bf16 whatever the output is.
    types = {o.name: "bf16" for o in asked.operands} | {asked.operands[-1].name: dtype}
    return asked.contract(dtypes=types, stages="bf16" if asked.name in NARROW else "f32")


def call(path: Path, contract: Contract, values: Values, arrays: tuple[Array, ...]) -> Array:
    """The output of the library at ``path``; it was filled with NaN before."""
    library = ctypes.CDLL(str(path))
    library.fw_scratch_bytes.restype = ctypes.c_int64
    kind = format_of(contract.output.dtype).numpy
    output = np.full(contract.shape(contract.output, values), np.nan, kind)
    tensors = [*arrays, output]
    extents = (ctypes.c_int64 * len(contract.extents))(*(values[e.name] for e in contract.extents))
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


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_template_computes_what_its_contract_asks(name: str, dtype: str) -> None:
    assert matches(load(name)[1], contract_of(name, dtype)) == ()


SOON = (
    ("softmax_rows", "bf16"),
    ("decode_attention_stream", "f32"),
    ("prefill_attention_blocks", "f32"),
)
"""Compilers take a second or two for each; the others are tested with the slow ones."""
LATER = [(n, d) for n in CASES for d in ("f32", "bf16") if (n, d) not in SOON]


@pytest.mark.parametrize(
    ("name", "dtype"), [*SOON, *(pytest.param(*c, marks=pytest.mark.slow) for c in LATER)]
)
def test_emitted_code_is_right_at_ragged_extents(name: str, dtype: str, tmp_path: Path) -> None:
    contract = contract_of(name, dtype)
    _, design, values = CASES[name]
    emitted = emit_c(typed_for(load(name)[1], contract), design, detect_target())
    library = build(emitted, tmp_path).library
    for kind in operator(contract.operator).kinds(contract):
        arrays = inputs(contract, kind, values, seed=5)
        assert judge(contract, kind, arrays, call(library, contract, values, arrays)) is None, kind


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_template_is_proved_for_every_extent_and_design(name: str) -> None:
    proof = prove(load(name)[1])
    assert [o.name for o in proof.obligations if o.verdict != "proved"] == []
    assert proof.verdict == "proved"
