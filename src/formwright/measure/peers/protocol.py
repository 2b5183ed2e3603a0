"""The worker's side of the protocol of ``native/worker.c``, for a peer."""

import json
import mmap
import resource
import socket
import struct
from typing import Any

import numpy as np

from formwright.measure.peers.task import Chosen, Slot, Task

HELLO, READY, DONE, FAILED, FAULT, REFUSED = range(6)
CALL, PREPARE, EVICT, DELIVER = 1, 2, 3, 4
NOT_OFFERED = 1
"""The code of a refusal where the library has nothing for the operator, and so is not missing."""
FILE_BYTES = 1 << 20
"""The largest file that it may write; some libraries try their temporary folder."""
_KINDS = {"float32": "f4", "float64": "f8", "float16": "f2", "bfloat16": "u2", "int8": "i1"}


def answer(channel: socket.socket, kind: int, text: str = "", code: int = 0) -> None:
    """Send ``struct reply``."""
    channel.send(struct.pack("=IiQQ232s", kind, code, 0, 0, text.encode()[:231]))


def read_task(description: str, message: bytes, files: tuple[int, int]) -> Task:
    """Read ``struct setup`` of worker.c and map the slots as NumPy arrays."""
    told = json.loads(description)
    head = struct.Struct("=4IiI4Q")
    tensors, slots, mappings, extents, threads, _, _, _, memory, cpu = head.unpack_from(message)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    at = head.size
    blocks = list(struct.iter_unpack("=2I3Q", message[at : at + 32 * mappings]))
    at += 32 * mappings
    strides = struct.unpack_from(f"={tensors}q", message, at)
    at += 8 * (tensors + extents)
    pointers = struct.unpack_from(f"={slots * tensors}Q", message, at)
    views = [
        mmap.mmap(files[0], 0, mmap.MAP_SHARED, mmap.PROT_READ),
        mmap.mmap(files[1], 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
    ]
    starts = sorted((address, offset, output, size) for output, _, offset, size, address in blocks)
    arrays = []
    for number, pointer in enumerate(pointers):
        index = number % tensors
        shape, dtype = told["shapes"][index], np.dtype(_KINDS[told["dtypes"][index]])
        found = [b for b in starts[_below(starts, pointer) :][:1] if pointer < b[0] + b[3]]
        if not found:  # no elements
            arrays.append(np.zeros(shape, dtype))
            continue
        address, offset, output, _ = found[0]
        steps = _steps(shape, strides[index], dtype.itemsize)
        start = offset + pointer - address
        arrays.append(np.ndarray(shape, dtype, views[output], start, steps))
    rows = [arrays[i : i + tensors] for i in range(0, len(arrays), tensors)]
    return Task(
        told["operator"],
        tuple(told["names"]),
        tuple(told["dtypes"]),
        threads,
        tuple(Slot(tuple(row[:-1]), row[-1]) for row in rows),
        tuple(told["ahead"]),
        told["constants"],
        told["library"],
    )


def _steps(shape: list[int], stride: int, size: int) -> list[int]:
    """Bytes from one index to the next, rows ``stride`` elements apart."""
    steps = [size]
    for extent in reversed(shape[1:]):
        steps.insert(0, steps[0] * extent if len(steps) > 1 else stride * size)
    return steps


def _below(starts: list[tuple[int, int, int, int]], pointer: int) -> int:
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle][0] <= pointer:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


def serve(channel: socket.socket, task: Task, chosen: Chosen, to_numpy: Any) -> None:
    """Run what the parent asks for until it hangs up.

    An output that a library made itself is copied into its slot only when the parent asks for it,
    outside the clock: a user would not copy it. Of a batch it is that of the last call.
    """
    calls, prepares = chosen.calls, chosen.prepares
    kept, last = None, 0
    swept = np.zeros(0, np.uint64)
    while True:
        message = channel.recv(1 << 18)
        if not message:
            return
        operation, count = struct.unpack_from("=2I", message)
        if operation == CALL:
            for slot in struct.unpack_from(f"={count}I", message, 8):
                kept = calls[slot]()
                last = slot
        elif operation == PREPARE and prepares:
            for slot in struct.unpack_from(f"={count}I", message, 8):
                prepares[slot]()
        elif operation == EVICT:
            (size,) = struct.unpack_from("=I", message, 8)
            if swept.nbytes != size << 20:
                swept = np.ones(size << 17, np.uint64)
            swept += 1
        elif operation == DELIVER and kept is not None:
            task.slots[last].output[...] = to_numpy(kept)
            kept = None
        answer(channel, DONE)
