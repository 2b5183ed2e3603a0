"""Operators in ONNX Runtime: small models, inputs and outputs bound to the slots (no copies)."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formwright.measure.peers.task import Call, NotOfferedError, Slot, Task, Way

OPSET = 23
IR_VERSION = 10
"""Attention and RMSNormalization came with operator set 23; the format of the file is older."""


@dataclass(frozen=True, slots=True)
class Model:
    """``shapes`` of the inputs and then of the output, where they differ from the slots'.

    ``nodes`` are made by ``onnx.helper``; ``constants`` are initializers.
    """

    nodes: Sequence[Any]
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)


_TYPES = {"float32": "FLOAT", "int8": "INT8"}
"""What its CPU provider computes these operators in, by the names of ONNX."""

_Make = Callable[[Any, Task, Slot], Model]
"""``onnx.helper.make_node``, the task and the first slot."""


def ways(task: Task) -> list[Way]:
    """Raises ``NotOfferedError`` and ``ImportError``."""
    onnx = importlib.import_module("onnx")  # only in the child that was asked for it
    runtime = importlib.import_module("onnxruntime")
    if not set(task.dtypes) <= set(_TYPES):
        raise NotOfferedError("its CPU provider has no kernels in " + _others(task))
    if task.operator not in _WAYS:
        raise NotOfferedError(f"no way to do {task.operator}")
    return [_Way(onnx, runtime, task, n, m).way() for n, m in _WAYS[task.operator].items()]


def _others(task: Task) -> str:
    return ", ".join(sorted(set(task.dtypes) - set(_TYPES)))


@dataclass(frozen=True, slots=True)
class _Way:
    onnx: Any
    runtime: Any
    task: Task
    name: str
    make: _Make

    def way(self) -> Way:
        model: list[bytes] = []
        shared: list[Any] = []

        def calls(slot: Slot) -> tuple[Call, Call | None]:
            if not model:
                model.append(self._serialised(slot))
            packed = {n: a for n, a in self._inputs(slot).items() if n in self.task.ahead}
            if not packed:
                if not shared:
                    shared.append(self._session(model[0], {}))
                return self._bound(shared[0], slot), None
            held: list[Call] = []

            def prepare() -> None:
                held[:] = [self._bound(self._session(model[0], packed), slot)]

            return lambda: held[0](), prepare

        return Way(self.name, calls)

    def _inputs(self, slot: Slot) -> dict[str, Any]:
        return dict(zip(self.task.names[:-1], slot.inputs, strict=True))

    def _session(self, model: bytes, packed: Mapping[str, Any]) -> Any:
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.task.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if packed:
            values = [self.runtime.OrtValue.ortvalue_from_numpy(a) for a in packed.values()]
            options.add_external_initializers(list(packed), values)
        return self.runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def _bound(self, session: Any, slot: Slot) -> Call:
        binding = session.io_binding()
        asked = {i.name: i.shape for i in session.get_inputs()}
        for name, array in self._inputs(slot).items():
            if name in asked:
                shape, place = asked[name], array.ctypes.data
                binding.bind_input(name, "cpu", 0, array.dtype, shape, place)
        (out,) = session.get_outputs()
        binding.bind_output(out.name, "cpu", 0, np.float32, out.shape, slot.output.ctypes.data)
        run = session.run_with_iobinding

        def call() -> None:
            run(binding)

        return call

    def _serialised(self, slot: Slot) -> bytes:
        helper = self.onnx.helper
        model = self.make(helper.make_node, self.task, slot)
        arrays = {**self._inputs(slot), self.task.names[-1]: slot.output}
        values = {
            n: helper.make_tensor_value_info(n, self._kind(n), model.shapes.get(n, a.shape))
            for n, a in arrays.items()
        }
        constants = [
            self.onnx.numpy_helper.from_array(np.asarray(value), name)
            for name, value in model.constants.items()
        ]
        inputs = [v for n, v in values.items() if n != self.task.names[-1]]
        inputs = [v for v in inputs if v.name not in self.task.ahead]
        for name in self.task.ahead:
            if name not in model.constants:
                constants.append(self._external(name, arrays[name]))
        graph = helper.make_graph(
            list(model.nodes), "operator", inputs, [values[self.task.names[-1]]], constants
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)
        text: bytes = made.SerializeToString()
        return text

    def _kind(self, name: str) -> Any:
        dtype = self.task.dtypes[self.task.names.index(name)]
        return getattr(self.onnx.TensorProto, _TYPES[dtype])

    def _external(self, name: str, array: Any) -> Any:
        """An initializer whose data is given when the session is made."""
        tensor = self.onnx.TensorProto()
        tensor.name, tensor.data_type = name, self._kind(name)
        tensor.dims.extend(array.shape)
        tensor.data_location = self.onnx.TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "given"
        return tensor


def _gemm(node: Any, task: Task, slot: Slot) -> Model:
    return Model([node("MatMul", task.names[:2], task.names[2:])])


def _gemv_row(node: Any, task: Task, slot: Slot) -> Model:
    w, x, y = task.names
    rows, columns = slot.inputs[0].shape
    return Model([node("Gemm", [x, w], [y], transB=1)], {x: (1, columns), y: (1, rows)})


def _softmax(node: Any, task: Task, slot: Slot) -> Model:
    return Model([node("Softmax", task.names[:1], task.names[1:], axis=-1)])


def _rmsnorm(node: Any, task: Task, slot: Slot) -> Model:
    epsilon = task.constants.get("epsilon", 1e-6)
    names = (task.names[:2], task.names[2:])
    return Model([node("RMSNormalization", *names, axis=-1, epsilon=epsilon, stash_type=1)])


def _rmsnorm_simplified(node: Any, task: Task, slot: Slot) -> Model:
    epsilon = task.constants.get("epsilon", 1e-6)
    names = (task.names[:2], task.names[2:])
    return Model([node("SimplifiedLayerNormalization", *names, axis=-1, epsilon=epsilon)])


def _layernorm(node: Any, task: Task, slot: Slot) -> Model:
    epsilon = task.constants.get("epsilon", 1e-5)
    names = (task.names[:3], task.names[3:])
    return Model([node("LayerNormalization", *names, axis=-1, epsilon=epsilon)])


def _decode_heads(node: Any, task: Task, slot: Slot) -> Model:
    """Key heads as a batch, the queries of a group as a sequence."""
    step = node(
        "MultiHeadAttention", task.names[:3], task.names[3:], domain="com.microsoft", num_heads=1
    )
    return Model([step])


def _decode_attention(node: Any, task: Task, slot: Slot) -> Model:
    heads, group, width = slot.inputs[0].shape
    length = slot.inputs[1].shape[1]
    q, k, v, o = task.names
    shapes = {q: (1, heads * group, 1, width), o: (1, heads * group, 1, width)}
    shapes |= {k: (1, heads, length, width), v: (1, heads, length, width)}
    return Model([node("Attention", [q, k, v], [o])], shapes)


def _prefill_attention(node: Any, task: Task, slot: Slot) -> Model:
    heads, group, length, width = slot.inputs[0].shape
    q, k, v, o = task.names
    shapes = {q: (1, heads * group, length, width), o: (1, heads * group, length, width)}
    shapes |= {k: (1, heads, length, width), v: (1, heads, length, width)}
    return Model([node("Attention", [q, k, v], [o], is_causal=1)], shapes)


def _attention_products(node: Any, task: Task, slot: Slot) -> Model:
    """Scores, mask, softmax, product: what exporters write without an attention operator."""
    q, k, v, o = task.names
    query = slot.inputs[0]
    constants: dict[str, Any] = {"scale": np.float32(query.shape[-1] ** -0.5)}
    axes = [*range(query.ndim - 2), query.ndim - 1, query.ndim - 2]
    nodes = [node("Mul", [q, "scale"], ["scaled"])]
    shapes = {}
    if query.ndim == 4:
        for name, array in ((k, slot.inputs[1]), (v, slot.inputs[2])):
            shapes[name] = (array.shape[0], 1, *array.shape[1:])
    nodes += [node("Transpose", [k], ["turned"], perm=axes)]
    nodes += [node("MatMul", ["scaled", "turned"], ["scores"])]
    scores = "scores"
    if task.operator == "prefill_attention":
        length = query.shape[2]
        constants["mask"] = np.triu(np.full((length, length), -np.inf, np.float32), 1)
        nodes += [node("Add", ["scores", "mask"], ["masked"])]
        scores = "masked"
    nodes += [node("Softmax", [scores], ["weights"], axis=-1)]
    nodes += [node("MatMul", ["weights", v], [o])]
    return Model(nodes, shapes, constants)


def _gated_mlp(node: Any, task: Task, slot: Slot) -> Model:
    x, gate, up, down, y = task.names
    return Model(
        [
            node("Gemm", [x, gate], ["a"], transB=1),
            node("Gemm", [x, up], ["u"], transB=1),
            node("Sigmoid", ["a"], ["s"]),
            node("Mul", ["a", "s"], ["swish"]),
            node("Mul", ["swish", "u"], ["h"]),
            node("Gemm", ["h", down], [y], transB=1),
        ]
    )


def _rope(node: Any, task: Task, slot: Slot) -> Model:
    x, c, s, y = task.names
    tokens, _, width = slot.inputs[0].shape
    half = width // 2
    nodes = [
        node("Split", [x, "sizes"], ["low", "high"], axis=-1),
        node("Concat", ["high", "low"], ["turned"], axis=-1),
        node("Mul", [x, c], ["straight"]),
        node("Mul", ["turned", s], ["crossed"]),
        node("Add", ["straight", "crossed"], [y]),
    ]
    sizes = {"sizes": np.array([half, width - half], np.int64)}
    return Model(nodes, {c: (tokens, 1, width), s: (tokens, 1, width)}, sizes)


def _gemm_third(node: Any, task: Task, slot: Slot) -> Model:
    return Model([node("Gemm", task.names[:3], task.names[3:])])


def _gemm_relu(node: Any, task: Task, slot: Slot) -> Model:
    a, b, c = task.names
    return Model([node("Gemm", [a, b], ["p"]), node("Relu", ["p"], [c])])


def _gemm_silu(node: Any, task: Task, slot: Slot) -> Model:
    a, b, c = task.names
    gate = [node("Sigmoid", ["p"], ["g"]), node("Mul", ["p", "g"], [c])]
    return Model([node("Gemm", [a, b], ["p"]), *gate])


def _gemv_int8(node: Any, task: Task, slot: Slot) -> Model:
    w, x, scale, y = task.names
    rows, columns = slot.inputs[0].shape
    nodes = [node("DequantizeLinear", [w, scale], ["f"], axis=0)]
    nodes += [node("Gemm", [x, "f"], [y], transB=1)]
    return Model(nodes, {x: (1, columns), y: (1, rows)})


def _gemm_int8(node: Any, task: Task, slot: Slot) -> Model:
    a, b, scale, c = task.names
    nodes = [node("DequantizeLinear", [b, scale], ["f"], axis=1)]
    return Model([*nodes, node("MatMul", [a, "f"], [c])])


_WAYS: dict[str, dict[str, _Make]] = {
    "gemm": {"MatMul": _gemm},
    "gemm_batched": {"MatMul": _gemm},
    "gemv": {"MatMul": _gemm, "Gemm": _gemv_row},
    "softmax": {"Softmax": _softmax},
    "rmsnorm": {
        "RMSNormalization": _rmsnorm,
        "SimplifiedLayerNormalization": _rmsnorm_simplified,
    },
    "layernorm": {"LayerNormalization": _layernorm},
    "decode_attention": {
        "MultiHeadAttention": _decode_heads,
        "Attention": _decode_attention,
        "MatMul, Softmax, MatMul": _attention_products,
    },
    "prefill_attention": {
        "Attention": _prefill_attention,
        "MatMul, Softmax, MatMul": _attention_products,
    },
    "gated_mlp": {"Gemm, Sigmoid, Mul": _gated_mlp},
    "rope": {"Split, Concat, Mul, Add": _rope},
    "gemm_bias": {"Gemm": _gemm_third},
    "gemm_residual": {"Gemm": _gemm_third},
    "gemm_relu": {"Gemm, Relu": _gemm_relu},
    "gemm_silu": {"Gemm, Sigmoid, Mul": _gemm_silu},
    "gemv_int8": {"DequantizeLinear, Gemm": _gemv_int8},
    "gemm_int8": {"DequantizeLinear, MatMul": _gemm_int8},
}
