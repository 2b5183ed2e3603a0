"""The calls of oneDNN's C interface (version 3) that the operators need, through ctypes.

Nothing that is made is freed: a child ends with its session.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from formwright.measure.peers.task import Call, NotOfferedError

SRC, SRC_1, DST, WEIGHTS, MEAN, VARIANCE, SCALE, SHIFT = 1, 2, 17, 33, 49, 50, 51, 52
POST_OP = 32768
"""The argument of post-operation ``i`` is ``POST_OP * (i + 1) | SRC_1``."""
INFERENCE = 96
SOFTMAX = 0x30000
RELU, LINEAR, SWISH = 32, 38, 44
ADD, MULTIPLY = 0x1FFF0, 0x1FFF1
USE_SCALE, USE_SHIFT = 2, 4
_IMPLEMENTATION, _WEIGHTS_QUERY = 8, 131
_ANY = 1
_UNIMPLEMENTED = 3
_TYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "int8": 5}
_ALLOCATE = ctypes.c_void_p(-1)

Handle = ctypes.c_void_p


class OneDnn:
    """An engine for the CPU and its stream."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine = self.make("dnnl_engine_create", ctypes.c_int(1), ctypes.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, ctypes.c_uint(1))
        self.kept: list[Any] = []

    def keep(self, array: Any) -> Any:
        """The array, which memory of the library refers to, for as long as there is an engine."""
        self.kept.append(array)
        return array

    def make(self, name: str, *arguments: object) -> Handle:
        """What a creating function makes.

        Raises:
            NotOfferedError: the library says that it has no implementation.
            RuntimeError: any other status.
        """
        made = Handle()
        status = getattr(self.library, name)(ctypes.byref(made), *arguments)
        if status == _UNIMPLEMENTED:
            raise NotOfferedError(f"{name}: not implemented on this CPU")
        if status:
            raise RuntimeError(f"{name} returned {status}")
        return made

    def plain(self, shape: Sequence[int], dtype: str, steps: Sequence[int]) -> Handle:
        """The descriptor of a tensor as it stands in memory; ``steps`` in elements."""
        dims = (ctypes.c_int64 * 12)(*shape)
        strides = (ctypes.c_int64 * 12)(*steps)
        name = "dnnl_memory_desc_create_with_strides"
        return self.make(name, len(shape), dims, _TYPES[dtype], strides)

    def free(self, shape: Sequence[int], dtype: str) -> Handle:
        """A descriptor whose layout the library may choose."""
        dims = (ctypes.c_int64 * 12)(*shape)
        name = "dnnl_memory_desc_create_with_tag"
        return self.make(name, len(shape), dims, _TYPES[dtype], _ANY)

    def memory(self, descriptor: Handle, array: Any = None) -> Handle:
        """Memory of the library's own, or that of an array."""
        place = _ALLOCATE if array is None else Handle(array.ctypes.data)
        return self.make("dnnl_memory_create", descriptor, self.engine, place)

    def attributes(self, *operations: tuple[int, float] | tuple[int, Handle]) -> Handle:
        """Post-operations: (an element-wise function, its alpha) or (a binary one, its operand)."""
        attributes = self.make("dnnl_primitive_attr_create")
        chain = self.make("dnnl_post_ops_create")
        for kind, value in operations:
            if isinstance(value, Handle):
                status = self.library.dnnl_post_ops_append_binary(chain, kind, value)
            else:
                alpha, beta = ctypes.c_float(value), ctypes.c_float(0)
                status = self.library.dnnl_post_ops_append_eltwise(chain, kind, alpha, beta)
            if status:
                raise RuntimeError(f"a post-operation returned {status}")
        if self.library.dnnl_primitive_attr_set_post_ops(attributes, chain):
            raise RuntimeError("dnnl_primitive_attr_set_post_ops failed")
        return attributes

    def primitive(self, design: Handle) -> Handle:
        """Raises ``NotOfferedError`` where only the reference implementation does it."""
        text = ctypes.c_char_p()
        query = self.library.dnnl_primitive_desc_query
        if query(design, _IMPLEMENTATION, 0, ctypes.byref(text)) == 0 and text.value:
            name = text.value.decode()
            if name.startswith("ref"):
                raise NotOfferedError(f"only its reference implementation ({name}) on this CPU")
        return self.make("dnnl_primitive_create", design)

    def matmul(
        self, source: Handle, weights: Handle, target: Handle, attributes: Handle | None = None
    ) -> tuple[Handle, Handle]:
        """The primitive, and the layout that it wants of its weights."""
        design = self.make(
            "dnnl_matmul_primitive_desc_create",
            self.engine,
            source,
            weights,
            None,
            target,
            attributes,
        )
        wanted = Handle(self.library.dnnl_primitive_desc_query_md(design, _WEIGHTS_QUERY, 0))
        return self.primitive(design), wanted

    def binary(self, kind: int, source: Handle, other: Handle) -> Handle:
        """The first operand changed in place by the second, which may be broadcast."""
        name = "dnnl_binary_primitive_desc_create"
        return self.primitive(self.make(name, self.engine, kind, source, other, source, None))

    def softmax(self, source: Handle, target: Handle, axis: int) -> Handle:
        """Softmax along an axis."""
        name = "dnnl_softmax_forward_primitive_desc_create"
        arguments = (self.engine, INFERENCE, SOFTMAX, source, target, axis, None)
        return self.primitive(self.make(name, *arguments))

    def reorder(self, given: Handle, wanted: Handle) -> Handle:
        """A copy from one layout to another."""
        name = "dnnl_reorder_primitive_desc_create"
        return self.make(
            "dnnl_primitive_create",
            self.make(name, given, self.engine, wanted, self.engine, None),
        )

    def runner(self, *steps: tuple[Handle, Mapping[int, Handle]]) -> Call:
        """A call that executes primitives one after the other and waits for the last."""

        class Argument(ctypes.Structure):
            _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))

        packed = []
        for primitive, arguments in steps:
            held = (Argument * len(arguments))(*(Argument(k, v) for k, v in arguments.items()))
            packed.append((primitive, ctypes.c_int(len(arguments)), held))
        execute, wait = self.library.dnnl_primitive_execute, self.library.dnnl_stream_wait
        stream, arrays = self.stream, self.kept

        def run(kept: list[Any] = arrays) -> None:
            for primitive, count, held in packed:
                if execute(primitive, stream, count, held):
                    raise RuntimeError("dnnl_primitive_execute failed")
            if wait(stream):
                raise RuntimeError("dnnl_stream_wait failed")

        return run
