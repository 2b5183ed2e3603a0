"""The operator families: one file each, one :class:`Operator` for each formula."""

from collections.abc import Mapping
from typing import Final

from formwright.base.diagnostics import fail, nearest
from formwright.contract.operators.attention import DECODE, PREFILL
from formwright.contract.operators.family import Operator
from formwright.contract.operators.gated_mlp import GATED_MLP
from formwright.contract.operators.gemm import GEMM
from formwright.contract.operators.gemv import GEMV
from formwright.contract.operators.layernorm import LAYERNORM
from formwright.contract.operators.rmsnorm import RMSNORM
from formwright.contract.operators.rope import ROPE
from formwright.contract.operators.softmax import SOFTMAX

OPERATORS: Final[Mapping[str, Operator]] = {
    o.name: o for o in (GEMM, GEMV, SOFTMAX, RMSNORM, DECODE, PREFILL, GATED_MLP, LAYERNORM, ROPE)
}


def operator(name: str) -> Operator:
    """The operator called ``name``. Raises ``InputError`` naming the nearest one."""
    if name not in OPERATORS:
        raise fail(
            f'no operator is called "{name}"',
            hint=nearest(name, OPERATORS) or f"known: {', '.join(OPERATORS)}",
        )
    return OPERATORS[name]
