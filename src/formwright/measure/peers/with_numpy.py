"""Operators in NumPy, as a user would write them: products through its BLAS, the rest in place."""

from collections.abc import Callable
from typing import Any

import numpy as np

from formwright.measure.peers.task import Call, NotOfferedError, Slot, Task, Way


def ways(task: Task) -> list[Way]:
    """The one way of NumPy. Raises ``NotOfferedError`` for what is not float32."""
    if not set(task.dtypes) <= {"float32", "int8"}:
        raise NotOfferedError("NumPy has no arithmetic in " + ", ".join(sorted(set(task.dtypes))))
    if task.operator not in _CALLS:
        raise NotOfferedError(f"no way to do {task.operator}")
    make = _CALLS[task.operator]

    def call(slot: Slot) -> tuple[Call, None]:
        return make(task, slot), None

    return [Way("numpy", call)]


def _product(task: Task, slot: Slot) -> Call:
    (a, b), c = slot.inputs, slot.output

    def call() -> None:
        np.matmul(a, b, out=c)

    return call


def _softmax(task: Task, slot: Slot) -> Call:
    (x,), y = slot.inputs, slot.output
    return lambda: _normalise(x, y)


def _normalise(x: Any, y: Any) -> None:
    """Softmax of the last axis into ``y``, which may be ``x``."""
    np.subtract(x, x.max(-1, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(-1, keepdims=True), out=y)


def _rmsnorm(task: Task, slot: Slot) -> Call:
    (x, g), y = slot.inputs, slot.output
    epsilon = np.float32(task.constants.get("epsilon", 1e-6))

    def call() -> None:
        mean = np.einsum("th,th->t", x, x)[:, None] / np.float32(x.shape[1])
        np.multiply(x, 1 / np.sqrt(mean + epsilon), out=y)
        np.multiply(y, g, out=y)

    return call


def _layernorm(task: Task, slot: Slot) -> Call:
    (x, g, b), y = slot.inputs, slot.output
    epsilon = np.float32(task.constants.get("epsilon", 1e-5))

    def call() -> None:
        np.subtract(x, x.mean(-1, keepdims=True), out=y)
        mean = np.einsum("th,th->t", y, y)[:, None] / np.float32(x.shape[1])
        np.multiply(y, 1 / np.sqrt(mean + epsilon), out=y)
        np.multiply(y, g, out=y)
        np.add(y, b, out=y)

    return call


def _decode(task: Task, slot: Slot) -> Call:
    (q, k, v), o = slot.inputs, slot.output
    scale = np.float32(q.shape[-1] ** -0.5)

    def call() -> None:
        scores = np.matmul(q * scale, k.swapaxes(-1, -2))
        _normalise(scores, scores)
        np.matmul(scores, v, out=o)

    return call


def _prefill(task: Task, slot: Slot) -> Call:
    (q, k, v), o = slot.inputs, slot.output
    scale, length = np.float32(q.shape[-1] ** -0.5), q.shape[2]
    mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)

    def call() -> None:
        scores = np.matmul(q * scale, k[:, None].swapaxes(-1, -2))
        scores += mask
        _normalise(scores, scores)
        np.matmul(scores, v[:, None], out=o)

    return call


def _gated_mlp(task: Task, slot: Slot) -> Call:
    (x, gate, up, down), y = slot.inputs, slot.output

    def call() -> None:
        a = np.matmul(x, gate.T)
        shrunk = np.exp(-a)
        shrunk += 1
        np.divide(a, shrunk, out=a)
        a *= np.matmul(x, up.T)
        np.matmul(a, down.T, out=y)

    return call


def _rope(task: Task, slot: Slot) -> Call:
    (x, c, s), y = slot.inputs, slot.output
    half = x.shape[-1] // 2

    def call() -> None:
        turned = np.roll(x, -half, -1)
        np.multiply(x, c[:, None], out=y)
        turned *= s[:, None]
        np.add(y, turned, out=y)

    return call


def _gemm_then(task: Task, slot: Slot) -> Call:
    (a, b, *third), c = slot.inputs, slot.output

    def call() -> None:
        np.matmul(a, b, out=c)
        match task.operator:
            case "gemm_bias" | "gemm_residual":
                np.add(c, third[0], out=c)
            case "gemm_relu":
                np.maximum(c, 0, out=c)
            case _:
                shrunk = np.exp(-c)
                shrunk += 1
                np.divide(c, shrunk, out=c)

    return call


def _gemv_int8(task: Task, slot: Slot) -> Call:
    (w, x, scale), y = slot.inputs, slot.output

    def call() -> None:
        np.matmul(w.astype(np.float32), x, out=y)
        np.multiply(y, scale, out=y)

    return call


def _gemm_int8(task: Task, slot: Slot) -> Call:
    (a, b, scale), c = slot.inputs, slot.output

    def call() -> None:
        np.matmul(a, b.astype(np.float32), out=c)
        np.multiply(c, scale, out=c)

    return call


_CALLS: dict[str, Callable[[Task, Slot], Call]] = {
    "gemm": _product,
    "gemm_batched": _product,
    "gemv": _product,
    "softmax": _softmax,
    "rmsnorm": _rmsnorm,
    "layernorm": _layernorm,
    "decode_attention": _decode,
    "prefill_attention": _prefill,
    "gated_mlp": _gated_mlp,
    "rope": _rope,
    "gemm_bias": _gemm_then,
    "gemm_residual": _gemm_then,
    "gemm_relu": _gemm_then,
    "gemm_silu": _gemm_then,
    "gemv_int8": _gemv_int8,
    "gemm_int8": _gemm_int8,
}
