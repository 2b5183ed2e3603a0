"""Operators in oneDNN: its primitives with post-operations, composed where it has no single one."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from formwright.measure.peers.onednn_api import (
    ADD,
    DST,
    INFERENCE,
    LINEAR,
    MEAN,
    MULTIPLY,
    POST_OP,
    RELU,
    SCALE,
    SHIFT,
    SRC,
    SRC_1,
    SWISH,
    USE_SCALE,
    USE_SHIFT,
    VARIANCE,
    WEIGHTS,
    Handle,
    OneDnn,
)
from formwright.measure.peers.task import Call, NotOfferedError, Slot, Task, Way

_Calls = tuple[Call, Call | None]


def ways(task: Task) -> list[Way]:
    """Raises ``NotOfferedError`` where oneDNN has no primitive, or only its reference."""
    if task.operator not in _WAYS:
        raise NotOfferedError(f"oneDNN has no primitive for {task.operator}")
    dnn = OneDnn(task.library)

    def way(name: str, make: Callable[[OneDnn, Task, Slot], _Calls]) -> Way:
        def calls(slot: Slot) -> _Calls:
            return make(dnn, task, slot)

        return Way(name, calls)

    return [way(name, make) for name, make in _WAYS[task.operator].items()]


def _plain(dnn: OneDnn, array: Any, dtype: str) -> Handle:
    steps: list[int] = []
    for extent, step in zip(reversed(array.shape), reversed(array.strides), strict=True):
        # NumPy gives an axis of one element the step 0, for which oneDNN has no fast kernels.
        least = max((s * e for s, e in zip(steps, reversed(array.shape), strict=False)), default=1)
        steps.append(step // array.itemsize if extent > 1 else least)
    return dnn.plain(array.shape, dtype, steps[::-1])


def _type(task: Task, number: int) -> str:
    return task.dtypes[number]


def _weights(
    dnn: OneDnn, array: Any, dtype: str, ahead: bool
) -> tuple[Handle, Callable[[Handle], tuple[Handle, Call | None]]]:
    """The descriptor to ask for a product with, and what gives its memory once that is made."""
    given = _plain(dnn, array, dtype)

    def held(wanted: Handle) -> tuple[Handle, Call | None]:
        plain = dnn.memory(given, array)
        if not ahead:
            return plain, None
        packed = dnn.memory(wanted)
        return packed, dnn.runner((dnn.reorder(given, wanted), {SRC: plain, DST: packed}))

    return dnn.free(array.shape, dtype) if ahead else given, held


def _gemm(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    (a, b), c = slot.inputs, slot.output
    return _product(dnn, task, (a, 0), (b, 1), c)


def _gemv_column(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    (w, x), y = slot.inputs, slot.output
    return _product(dnn, task, (w, 0), (x[:, None], 1), y[:, None])


def _gemv_row(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    (w, x), y = slot.inputs, slot.output
    return _product(dnn, task, (x[None], 1), (w.T, 0), y[None])


def _product(
    dnn: OneDnn, task: Task, left: tuple[Any, int], right: tuple[Any, int], out: Any
) -> _Calls:
    """A product of two inputs, each with its number; the second one packed when the task says."""
    (a, first), (b, second) = left, right
    source, target = _plain(dnn, a, _type(task, first)), _plain(dnn, out, _type(task, -1))
    ahead = task.names[second] in task.ahead
    asked, held = _weights(dnn, b, _type(task, second), ahead)
    product, wanted = dnn.matmul(source, asked, target)
    weights, prepare = held(wanted)
    arguments = {SRC: dnn.memory(source, a), WEIGHTS: weights, DST: dnn.memory(target, out)}
    return dnn.runner((product, arguments)), prepare


def _gemm_then(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    """A product with a post-operation on each cell."""
    (a, b, *third), c = slot.inputs, slot.output
    source, target = _plain(dnn, a, _type(task, 0)), _plain(dnn, c, _type(task, -1))
    ahead = task.names[1] in task.ahead
    asked, held = _weights(dnn, b, _type(task, 1), ahead)
    arguments: dict[int, Handle] = {}
    if third:
        operand = third[0] if third[0].ndim == 2 else third[0][None]
        described = _plain(dnn, operand, _type(task, 2))
        operation: Any = (ADD, described)
        arguments[POST_OP | SRC_1] = dnn.memory(described, operand)
    else:
        operation = (RELU, 0.0) if task.operator == "gemm_relu" else (SWISH, 1.0)
    product, wanted = dnn.matmul(source, asked, target, dnn.attributes(operation))
    weights, prepare = held(wanted)
    arguments |= {SRC: dnn.memory(source, a), WEIGHTS: weights, DST: dnn.memory(target, c)}
    return dnn.runner((product, arguments)), prepare


def _softmax(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    (x,), y = slot.inputs, slot.output
    source, target = _plain(dnn, x, _type(task, 0)), _plain(dnn, y, _type(task, -1))
    step = dnn.softmax(source, target, x.ndim - 1)
    return dnn.runner((step, {SRC: dnn.memory(source, x), DST: dnn.memory(target, y)})), None


def _layernorm(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    (x, g, b), y = slot.inputs, slot.output
    source, target = _plain(dnn, x, _type(task, 0)), _plain(dnn, y, _type(task, -1))
    gain, bias = _plain(dnn, g, "float32"), _plain(dnn, b, "float32")
    if {_type(task, 1), _type(task, 2)} != {"float32"}:
        raise NotOfferedError("layer normalisation takes gain and bias in float32 only")
    statistics = dnn.plain(x.shape[:-1], "float32", [1])
    design = dnn.make(
        "dnnl_layer_normalization_forward_primitive_desc_create",
        dnn.engine,
        INFERENCE,
        source,
        target,
        statistics,
        ctypes.c_float(task.constants.get("epsilon", 1e-5)),
        USE_SCALE | USE_SHIFT,
        None,
    )
    arguments = {SRC: dnn.memory(source, x), DST: dnn.memory(target, y)}
    arguments |= {MEAN: dnn.memory(statistics), VARIANCE: dnn.memory(statistics)}
    arguments |= {SCALE: dnn.memory(gain, g), SHIFT: dnn.memory(bias, b)}
    return dnn.runner((dnn.primitive(design), arguments)), None


def _attention(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    """Scores, softmax and their product with the values: three primitives, one buffer."""
    (q, k, v), o = slot.inputs, slot.output
    if q.ndim == 4:  # the queries of a group, one below the other
        q, o = (a.reshape(a.shape[0], -1, a.shape[-1]) for a in (q, o))
    types = [_type(task, n) for n in range(4)]
    shape = (*q.shape[:-1], k.shape[-2])
    scores = dnn.plain(shape, types[0], (shape[1] * shape[2], shape[2], 1))
    query, key, value = (
        _plain(dnn, a, d) for a, d in zip((q, k.swapaxes(-1, -2), v), types[:3], strict=True)
    )
    target = _plain(dnn, o, types[3])
    scaled = dnn.attributes((LINEAR, float(q.shape[-1] ** -0.5)))
    buffer = dnn.memory(scores)
    masking = []
    if task.operator == "prefill_attention":
        length = shape[-1]
        mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
        mask = np.tile(mask, (shape[1] // length, 1))[None]
        described = _plain(dnn, mask, "float32")
        held = dnn.memory(described, dnn.keep(mask))
        added = dnn.binary(ADD, scores, described)
        masking = [(added, {SRC: buffer, SRC_1: held, DST: buffer})]
    first, _ = dnn.matmul(query, key, scores, scaled)
    second = dnn.softmax(scores, scores, len(shape) - 1)
    third, _ = dnn.matmul(scores, value, target)
    steps = [(first, {SRC: dnn.memory(query, q), WEIGHTS: dnn.memory(key, k), DST: buffer})]
    steps += [*masking, (second, {SRC: buffer, DST: buffer})]
    last = {SRC: buffer, WEIGHTS: dnn.memory(value, v), DST: dnn.memory(target, o)}
    return dnn.runner(*steps, (third, last)), None


def _gated_mlp(dnn: OneDnn, task: Task, slot: Slot) -> _Calls:
    """The gate's product through swish, the up product times that, and the down product."""
    (x, *matrices), y = slot.inputs, slot.output
    kind, rows, inner = _type(task, 0), x.shape[0], matrices[0].shape[0]
    hidden = dnn.plain((rows, inner), kind, (inner, 1))
    source, target = _plain(dnn, x, kind), _plain(dnn, y, _type(task, -1))
    described = [
        _weights(dnn, w.T, _type(task, n), task.names[n] in task.ahead)
        for n, w in enumerate(matrices, 1)
    ]
    (gate, gate_held), (up, up_held), (down, down_held) = described
    first, gate_wanted = dnn.matmul(source, gate, hidden, dnn.attributes((SWISH, 1.0)))
    second, up_wanted = dnn.matmul(source, up, hidden, dnn.attributes((MULTIPLY, hidden)))
    third, down_wanted = dnn.matmul(hidden, down, target)
    held = [gate_held(gate_wanted), up_held(up_wanted), down_held(down_wanted)]
    given, gated, product = dnn.memory(source, x), dnn.memory(hidden), dnn.memory(hidden)
    call = dnn.runner(
        (first, {SRC: given, WEIGHTS: held[0][0], DST: gated}),
        (second, {SRC: given, WEIGHTS: held[1][0], DST: product, POST_OP | SRC_1: gated}),
        (third, {SRC: product, WEIGHTS: held[2][0], DST: dnn.memory(target, y)}),
    )
    packs = [prepare for _, prepare in held if prepare]

    def prepare() -> None:
        for pack in packs:
            pack()

    return call, prepare if packs else None


_WAYS: dict[str, dict[str, Callable[[OneDnn, Task, Slot], _Calls]]] = {
    "gemm": {"matmul": _gemm},
    "gemv": {"matmul, row": _gemv_row, "matmul, column": _gemv_column},
    "softmax": {"softmax": _softmax},
    "layernorm": {"layer_normalization": _layernorm},
    "decode_attention": {"matmul, softmax, matmul": _attention},
    "prefill_attention": {"matmul, softmax, matmul": _attention},
    "gated_mlp": {"matmul with post-operations": _gated_mlp},
    "gemm_bias": {"matmul with a post-operation": _gemm_then},
    "gemm_residual": {"matmul with a post-operation": _gemm_then},
    "gemm_relu": {"matmul with a post-operation": _gemm_then},
    "gemm_silu": {"matmul with a post-operation": _gemm_then},
}
