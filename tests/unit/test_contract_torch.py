"""A second reference: torch in float64 and our own agree, where torch is installed."""

import numpy as np
import pytest

from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.reference import expected

torch = pytest.importorskip("torch")
F = torch.nn.functional

SHAPES = {
    "gemm": {"M": 5, "N": 7, "K": 65},
    "gemm_batched": {"B": 3, "M": 5, "N": 7, "K": 65},
    "gemv": {"N": 7, "K": 65},
    "softmax": {"R": 5, "C": 65},
    "rmsnorm": {"T": 5, "H": 65},
    "layernorm": {"T": 5, "H": 65},
    "rope": {"T": 5, "N": 3, "H": 8},
    "gated_mlp": {"T": 3, "D": 17, "F": 65},
    "decode_attention": {"H": 2, "G": 3, "S": 65, "D": 16},
    "prefill_attention": {"H": 2, "G": 3, "T": 17, "D": 16},
}


def computed(name: str, tensors: list) -> object:
    """The operator by torch's own functions, in float64."""
    first, *others = tensors
    match name.removesuffix("_int8"):
        case "gemv" | "gemm" | "gemm_batched":
            product = first @ others[0]
            return product * others[1] if len(others) > 1 else product
        case "gemm_bias" | "gemm_residual":
            return first @ others[0] + others[1]
        case "gemm_relu":
            return F.relu(first @ others[0])
        case "gemm_silu":
            return F.silu(first @ others[0])
        case "softmax":
            return F.softmax(first, dim=1)
        case "rmsnorm":
            return F.rms_norm(first, (first.shape[1],), others[0], 1e-6)
        case "layernorm":
            return F.layer_norm(first, (first.shape[1],), others[0], others[1], 1e-5)
        case "rope":
            half = first.shape[-1] // 2
            turned = torch.cat([first[..., half:], first[..., :half]], dim=-1)
            return first * others[0][:, None] + turned * others[1][:, None]
        case "gated_mlp":
            gate, up, down = others
            return F.linear(F.silu(F.linear(first, gate)) * F.linear(first, up), down)
        case "decode_attention":
            k, v = (t[:, None].expand(-1, first.shape[1], -1, -1) for t in others)
            return F.scaled_dot_product_attention(first[:, :, None], k, v)[:, :, 0]
        case "prefill_attention":
            k, v = (t[:, None].expand(-1, first.shape[1], -1, -1) for t in others)
            return F.scaled_dot_product_attention(first, k, v, is_causal=True)
    raise AssertionError(name)


def shape_of(contract: Contract) -> dict[str, int]:
    family = contract.operator.removesuffix("_int8")
    return SHAPES.get(family, SHAPES["gemm"])


@pytest.mark.parametrize("name", OPERATORS)
def test_torch_agrees_with_the_reference(name):
    contract = operator(name).contract()
    for kind in ("normal", "few", "cancellation", "last"):
        if kind not in operator(name).kinds(contract):
            continue
        arrays = inputs(contract, kind, shape_of(contract), 3)
        other = computed(name, [torch.from_numpy(a.astype(np.float64)) for a in arrays]).numpy()
        want = expected(contract, kind, arrays)
        assert np.allclose(other, want.value, rtol=1e-9, atol=1e-12), kind
        assert (np.abs(other - want.value) <= want.bound).all(), kind
