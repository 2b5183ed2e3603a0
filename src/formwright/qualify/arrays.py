"""Arrays as callers have them: of NumPy, or CPU tensors of torch, which share their memory."""

import sys
from typing import Any

import ml_dtypes
import numpy as np

from formwright.contract.numbers import Array

Given = Any
"""A NumPy array, or a torch tensor on the CPU."""

_BF16 = np.dtype(ml_dtypes.bfloat16)


def given(value: Given) -> Array:
    """The array of ``value``, without a copy. Raises ``ValueError`` for anything else."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError("a masked array is given: its mask would be lost; fill it first")
    if isinstance(value, np.ndarray):
        return value
    torch = _torch()
    if torch is None or not isinstance(value, torch.Tensor):
        raise ValueError(f"{type(value).__name__} is not an array")
    if value.device.type != "cpu":
        raise ValueError(f"the tensor is on {value.device}, the kernel runs on the CPU")
    plain = value.detach()
    if plain.dtype == torch.bfloat16:
        return np.asarray(plain.view(torch.int16).numpy().view(_BF16))
    return np.asarray(plain.numpy())


def returned(result: Array, inputs: tuple[Given, ...], out: Given | None) -> Given:
    """``result`` as callers gave their inputs; ``out`` itself where there is one."""
    if out is not None:
        return out
    torch = _torch()
    if torch is None or not any(isinstance(value, torch.Tensor) for value in inputs):
        return result
    if result.dtype == _BF16:
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


def _torch() -> Any:
    """The module, where the caller has imported it: we never do."""
    return sys.modules.get("torch")
