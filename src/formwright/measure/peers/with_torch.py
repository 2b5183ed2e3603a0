"""Operators in torch on the CPU: the functions of ``torch`` and ``torch.nn.functional``."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from formwright.measure.peers.task import Call, NotOfferedError, Slot, Task, Way

_Make = Callable[[Any, Any, list[Any], Any, Task], Call]
"""torch, torch.nn.functional, the inputs and the output as tensors, the task."""


def ways(task: Task) -> list[Way]:
    """Raises ``NotOfferedError`` and ``ImportError``."""
    torch = importlib.import_module("torch")  # only in the child that was asked for it
    torch.set_num_threads(task.threads)
    torch.set_grad_enabled(False)
    functional = torch.nn.functional
    if task.operator not in _WAYS:
        raise NotOfferedError(f"no way to do {task.operator}")

    def way(name: str, make: _Make) -> Way:
        def calls(slot: Slot) -> tuple[Call, None]:
            arrays = [*slot.inputs, slot.output]
            pairs = zip(arrays, task.dtypes, strict=True)
            *inputs, output = (_tensor(torch, a, dtype) for a, dtype in pairs)
            return make(torch, functional, inputs, output, task), None

        return Way(name, calls)

    return [way(name, make) for name, make in _WAYS[task.operator].items()]


def to_numpy(made: Any) -> Any:
    """A tensor as an array; bfloat16 as uint16."""
    torch = importlib.import_module("torch")
    return (made.view(torch.uint16) if made.dtype == torch.bfloat16 else made).numpy()


def _tensor(torch: Any, array: Any, dtype: str) -> Any:
    # torch has no read-only tensors; the pages stay read-only all the same.
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("Holder", (), {"__array_interface__": interface, "base": array})()
    made = torch.from_numpy(np.asarray(holder))
    return made.view(torch.bfloat16) if dtype == "bfloat16" else made


def _in_place(step: Callable[[], Any]) -> Call:
    """What writes to the slot itself has nothing to deliver."""

    def call() -> None:
        step()

    return call


def _mm(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, b = x
    return _in_place(lambda: t.mm(a, b, out=y))


def _bmm(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, b = x
    return _in_place(lambda: t.bmm(a, b, out=y))


def _mv(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    weights, vector = x
    return _in_place(lambda: t.mv(weights, vector, out=y))


def _linear(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    weights, row = x[0], x[1][None]
    return lambda: f.linear(row, weights)[0]


def _row(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    weights, row, out = x[0].T, x[1][None], y[None]
    return _in_place(lambda: t.mm(row, weights, out=out))


def _softmax(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    (given,) = x
    return lambda: f.softmax(given, -1)


def _softmax_out(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    (given,) = x
    return _in_place(lambda: t.softmax(given, -1, out=y))


def _rms_norm(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, gain = x
    epsilon, width = task.constants.get("epsilon", 1e-6), (given.shape[-1],)
    return lambda: f.rms_norm(given, width, gain, epsilon)


def _layer_norm(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, gain, bias = x
    epsilon, width = task.constants.get("epsilon", 1e-5), (given.shape[-1],)
    return lambda: f.layer_norm(given, width, gain, bias, epsilon)


def _decode_rows(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    """The queries of a group as rows of one head."""
    q, k, v = (a[None] for a in x)
    return lambda: f.scaled_dot_product_attention(q, k, v)[0]


def _decode_batch(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    """The heads as a batch."""
    q, k, v = (a[:, None] for a in x)
    return lambda: f.scaled_dot_product_attention(q, k, v)[:, 0]


def _decode_grouped(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    """As models call it: all query heads, fewer key heads."""
    heads, group, width = x[0].shape
    q, k, v = x[0].reshape(1, heads * group, 1, width), x[1][None], x[2][None]
    attention = f.scaled_dot_product_attention
    return lambda: attention(q, k, v, enable_gqa=True).view(heads, group, width)


def _decode_products(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    q, k, v = x[0], x[1].mT, x[2]
    scale = q.shape[-1] ** -0.5
    return _in_place(lambda: t.bmm(t.softmax(t.bmm(q * scale, k), -1), v, out=y))


def _prefill_grouped(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    heads, group, length, width = x[0].shape
    q, k, v = x[0].reshape(1, heads * group, length, width), x[1][None], x[2][None]
    shape, attention = x[0].shape, f.scaled_dot_product_attention
    return lambda: attention(q, k, v, is_causal=True, enable_gqa=True).reshape(shape)


def _prefill_expanded(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    """Keys and values repeated for each query of the group, without a copy."""
    q = x[0]
    k, v = (a[:, None].expand(q.shape) for a in x[1:])
    return lambda: f.scaled_dot_product_attention(q, k, v, is_causal=True)


def _gated_mlp(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, gate, up, down = x
    return lambda: f.linear(f.silu(f.linear(given, gate)).mul_(f.linear(given, up)), down)


def _gated_mlp_products(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, gate, up, down = x[0], x[1].T, x[2].T, x[3].T
    silu = f.silu
    return _in_place(
        lambda: t.mm(silu(t.mm(given, gate), inplace=True).mul_(t.mm(given, up)), down, out=y)
    )


def _rope(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, c, s = x[0], x[1][:, None], x[2][:, None]
    half = given.shape[-1] // 2
    return _in_place(lambda: t.addcmul(given * c, t.roll(given, -half, -1), s, out=y))


def _rope_halves(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    given, c, s = x[0], x[1][:, None], x[2][:, None]
    half = given.shape[-1] // 2
    return lambda: given * c + t.cat((given[..., half:], given[..., :half]), -1) * s


def _addmm(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, b, third = x
    return _in_place(lambda: t.addmm(third, a, b, out=y))


def _mm_relu(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, b = x
    return _in_place(lambda: t.mm(a, b, out=y).relu_())


def _mm_silu(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, b = x
    return _in_place(lambda: f.silu(t.mm(a, b, out=y), inplace=True))


def _int8_row(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    """The product that libraries for quantised models call: weights [N,K], a scale a row."""
    weights, row, scale = x[0], x[1][None], x[2]
    return lambda: t._weight_int8pack_mm(row, weights, scale)[0]


def _int8_converted(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    weights, vector, scale = x
    return lambda: t.mv(weights.to(vector.dtype), vector) * scale


def _int8_columns(t: Any, f: Any, x: list[Any], y: Any, task: Task) -> Call:
    a, weights, scale = x
    return lambda: t.mm(a, weights.to(a.dtype)) * scale


_WAYS: dict[str, dict[str, _Make]] = {
    "gemm": {"mm": _mm},
    "gemm_batched": {"bmm": _bmm},
    "gemv": {"mv": _mv, "linear": _linear, "mm": _row},
    "softmax": {"softmax": _softmax, "softmax out": _softmax_out},
    "rmsnorm": {"rms_norm": _rms_norm},
    "layernorm": {"layer_norm": _layer_norm},
    "decode_attention": {
        "attention, queries as rows": _decode_rows,
        "attention, heads as batch": _decode_batch,
        "attention, grouped": _decode_grouped,
        "bmm and softmax": _decode_products,
    },
    "prefill_attention": {
        "attention, grouped": _prefill_grouped,
        "attention, expanded": _prefill_expanded,
    },
    "gated_mlp": {"linear": _gated_mlp, "mm": _gated_mlp_products},
    "rope": {"roll and addcmul": _rope, "halves": _rope_halves},
    "gemm_bias": {"addmm": _addmm},
    "gemm_residual": {"addmm": _addmm},
    "gemm_relu": {"mm and relu": _mm_relu},
    "gemm_silu": {"mm and silu": _mm_silu},
    "gemv_int8": {"_weight_int8pack_mm": _int8_row, "converted": _int8_converted},
    "gemm_int8": {"converted": _int8_columns},
}
