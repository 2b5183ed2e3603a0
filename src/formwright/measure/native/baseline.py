"""The child that runs a matrix product of a library that people use now, for comparison.

A script of its own, started as ``python -I baseline.py NAME SOCKET INPUTS OUTPUTS [LIBRARY]``: it
imports nothing of ours, and speaks the protocol of ``worker.c`` so that baselines are timed exactly
as candidates are.
"""

import ctypes
import importlib
import mmap
import resource
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HELLO, READY, DONE, FAILED, FAULT, REFUSED = range(6)
PREPARE = 2
AHEAD = 2
FILE_BYTES = 1 << 20
"""The largest file that it may write; some libraries try their temporary folder."""

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Setup:
    """What the parent's message says: extents, threads and the arrays of each slot."""

    threads: int
    ahead: bool
    slots: list[tuple[Any, Any, Any]]


def answer(channel: socket.socket, kind: int, text: str = "") -> None:
    channel.send(struct.pack("=IiQQ232s", kind, 0, 0, 0, text.encode()[:231]))


def read_setup(message: bytes, files: tuple[int, int]) -> Setup:
    """Read ``struct setup`` of worker.c and map the slots as NumPy arrays."""
    head = struct.Struct("=4IiI4Q")
    tensors, slots, mappings, extents, threads, flags, _, _, memory, cpu = head.unpack_from(message)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    at = head.size
    blocks = list(struct.iter_unpack("=2I3Q", message[at : at + 32 * mappings]))
    at += 32 * mappings
    strides = struct.unpack_from(f"={tensors}q", message, at)
    at += 8 * tensors
    m, n, k = struct.unpack_from(f"={extents}q", message, at)
    at += 8 * extents
    pointers = struct.unpack_from(f"={slots * tensors}Q", message, at)
    views = [
        mmap.mmap(files[0], 0, mmap.MAP_SHARED, mmap.PROT_READ),
        mmap.mmap(files[1], 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
    ]
    starts = sorted((address, offset, output, size) for output, _, offset, size, address in blocks)
    shapes = ((m, k), (k, n), (m, n))
    arrays = []
    for number, pointer in enumerate(pointers):
        index = number % tensors
        found = [b for b in starts[_below(starts, pointer) :][:1] if pointer < b[0] + b[3]]
        if not found:  # no elements
            arrays.append(np.zeros(shapes[index], np.float32))
            continue
        address, offset, output, _ = found[0]
        arrays.append(
            np.ndarray(
                shapes[index],
                np.float32,
                views[output],
                offset + pointer - address,
                (4 * strides[index], 4),
            )
        )
    rows = [(arrays[i], arrays[i + 1], arrays[i + 2]) for i in range(0, len(arrays), tensors)]
    return Setup(threads, bool(flags & AHEAD), rows)


def _below(starts: list[tuple[int, int, int, int]], pointer: int) -> int:
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle][0] <= pointer:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


def numpy_calls(setup: Setup) -> tuple[list[Call], list[Call]]:
    """``np.matmul`` into the output, one call for each slot."""

    def call(a: Any, b: Any, c: Any) -> Call:
        return lambda: np.matmul(a, b, out=c)

    return [call(*slot) for slot in setup.slots], []


def torch_calls(setup: Setup) -> tuple[list[Call], list[Call]]:
    """``torch.mm`` into the output."""
    torch = importlib.import_module("torch")  # only in the child that was asked for it
    torch.set_num_threads(setup.threads)
    torch.set_grad_enabled(False)

    def call(a: Any, b: Any, c: Any) -> Call:
        # torch has no read-only tensors; the pages stay read-only all the same.
        x, y, z = (torch.from_numpy(_writable(t)) for t in (a, b, c))
        return lambda: torch.mm(x, y, out=z)

    return [call(*slot) for slot in setup.slots], []


def _writable(array: Any) -> Any:
    """The same memory as an array that is marked writable."""
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("Holder", (), {"__array_interface__": interface, "base": array})()
    return np.asarray(holder)


class OneDnn:
    """The few calls of oneDNN's C interface (version 3) that a matrix product needs."""

    SRC, DST, WEIGHTS = 1, 17, 33
    WEIGHTS_QUERY = 131
    F32 = 3
    ANY = 1
    ALLOCATE = ctypes.c_void_p(-1)

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine = self.make("dnnl_engine_create", ctypes.c_int(1), ctypes.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, ctypes.c_uint(1))

    def make(self, name: str, *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        status = getattr(self.library, name)(ctypes.byref(made), *arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")
        return made

    def plain(self, array: Any) -> ctypes.c_void_p:
        """The descriptor of an array as it stands in memory."""
        dims = (ctypes.c_int64 * 12)(*array.shape)
        steps = (ctypes.c_int64 * 12)(*(s // 4 for s in array.strides))
        return self.make("dnnl_memory_desc_create_with_strides", 2, dims, self.F32, steps)

    def free(self, shape: tuple[int, int]) -> ctypes.c_void_p:
        """A descriptor whose layout the library may choose."""
        dims = (ctypes.c_int64 * 12)(*shape)
        return self.make("dnnl_memory_desc_create_with_tag", 2, dims, self.F32, self.ANY)

    def memory(self, descriptor: ctypes.c_void_p, array: Any = None) -> ctypes.c_void_p:
        place = self.ALLOCATE if array is None else ctypes.c_void_p(array.ctypes.data)
        return self.make("dnnl_memory_create", descriptor, self.engine, place)

    def runner(self, primitive: ctypes.c_void_p, arguments: dict[int, ctypes.c_void_p]) -> Call:
        """A call that executes the primitive and waits for it."""

        class Argument(ctypes.Structure):
            _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))

        packed = (Argument * len(arguments))(*(Argument(k, v) for k, v in arguments.items()))
        count = ctypes.c_int(len(arguments))
        execute, wait = self.library.dnnl_primitive_execute, self.library.dnnl_stream_wait
        stream = self.stream

        def run() -> None:
            if execute(primitive, stream, count, packed) or wait(stream):
                raise RuntimeError("dnnl_primitive_execute failed")

        return run


def onednn_calls(setup: Setup, path: str) -> tuple[list[Call], list[Call]]:
    """oneDNN's matmul primitive; ahead, the second input is reordered once for each slot."""
    dnn = OneDnn(path)
    a0, b0, c0 = setup.slots[0]
    source, target, given = dnn.plain(a0), dnn.plain(c0), dnn.plain(b0)
    weights = dnn.free(b0.shape) if setup.ahead else given
    design = dnn.make(
        "dnnl_matmul_primitive_desc_create", dnn.engine, source, weights, None, target, None
    )
    product = dnn.make("dnnl_primitive_create", design)
    query = dnn.library.dnnl_primitive_desc_query_md
    chosen = ctypes.c_void_p(query(design, dnn.WEIGHTS_QUERY, 0))
    calls, prepares = [], []
    for a, b, c in setup.slots:
        plain = dnn.memory(given, b)
        held = plain
        if setup.ahead:
            held = dnn.memory(chosen)
            order = dnn.make(
                "dnnl_reorder_primitive_desc_create", given, dnn.engine, chosen, dnn.engine, None
            )
            reorder = dnn.make("dnnl_primitive_create", order)
            prepares.append(dnn.runner(reorder, {dnn.SRC: plain, dnn.DST: held}))
        arguments = {dnn.SRC: dnn.memory(source, a), dnn.WEIGHTS: held}
        calls.append(dnn.runner(product, arguments | {dnn.DST: dnn.memory(target, c)}))
    return calls, prepares


def serve(channel: socket.socket, calls: list[Call], prepares: list[Call]) -> None:
    """Run what the parent asks for until it hangs up."""
    while True:
        message = channel.recv(1 << 18)
        if not message:
            return
        operation, count = struct.unpack_from("=2I", message)
        chosen = prepares if operation == PREPARE else calls
        if chosen:
            for slot in struct.unpack_from(f"={count}I", message, 8):
                chosen[slot]()
        answer(channel, DONE)


def main() -> None:
    name, *numbers = sys.argv[1:5]
    descriptor, *files = (int(number) for number in numbers)
    channel = socket.socket(fileno=descriptor)
    answer(channel, HELLO)
    try:
        setup = read_setup(channel.recv(1 << 18), (files[0], files[1]))
        match name:
            case "numpy":
                calls, prepares = numpy_calls(setup)
            case "torch":
                calls, prepares = torch_calls(setup)
            case "onednn":
                calls, prepares = onednn_calls(setup, sys.argv[5])
            case _:
                raise ValueError(f"no baseline {name}")
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        answer(channel, REFUSED, f"{name}: {error}")
        return
    answer(channel, READY)
    try:
        serve(channel, calls, prepares)
    except (RuntimeError, ValueError) as error:
        answer(channel, REFUSED, f"{name}: {error}")


if __name__ == "__main__":
    main()
