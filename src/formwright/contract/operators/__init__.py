"""The operator families: one file each, one :class:`Operator` for each formula."""

from collections.abc import Mapping
from typing import Final

from formwright.base.diagnostics import fail, nearest
from formwright.contract.operators.attention import DECODE, PREFILL
from formwright.contract.operators.batched import GEMM_BATCHED
from formwright.contract.operators.epilogues import (
    GEMM_BIAS,
    GEMM_RELU,
    GEMM_RESIDUAL,
    GEMM_SILU,
)
from formwright.contract.operators.family import Operator
from formwright.contract.operators.gated_mlp import GATED_MLP
from formwright.contract.operators.gemm import GEMM
from formwright.contract.operators.gemv import GEMV
from formwright.contract.operators.layernorm import LAYERNORM
from formwright.contract.operators.quantised import GEMM_INT8, GEMV_INT8
from formwright.contract.operators.rmsnorm import RMSNORM
from formwright.contract.operators.rope import ROPE
from formwright.contract.operators.softmax import SOFTMAX

_ALL: Final = (
    GEMM,
    GEMV,
    SOFTMAX,
    RMSNORM,
    DECODE,
    GATED_MLP,
    PREFILL,
    LAYERNORM,
    ROPE,
    GEMM_BATCHED,
    GEMM_BIAS,
    GEMM_RESIDUAL,
    GEMM_RELU,
    GEMM_SILU,
    GEMV_INT8,
    GEMM_INT8,
)

OPERATORS: Final[Mapping[str, Operator]] = {o.name: o for o in _ALL}


def operator(name: str) -> Operator:
    """The operator called ``name``. Raises ``InputError`` naming the nearest one."""
    if name not in OPERATORS:
        raise fail(
            f'no operator is called "{name}"',
            hint=nearest(name, OPERATORS) or f"known: {', '.join(OPERATORS)}",
        )
    return OPERATORS[name]
