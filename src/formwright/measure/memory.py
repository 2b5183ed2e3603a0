"""The shared memory of slots: files without names, views of tensors in them, patterns."""

import mmap
import os
import secrets

import numpy as np

from formwright.measure.layout import Block
from formwright.measure.tensors import Array, Tensor


class InputMemory:
    """Shared memory of the inputs of all slots; ``file`` is its descriptor."""

    def __init__(self, size: int) -> None:
        self.file = memory_file(size)
        self.bytes: Array = np.frombuffer(mapped(self.file), np.uint8)

    def close(self) -> None:
        """Give the memory back, once no view of it is held."""
        self.bytes = np.zeros(0, np.uint8)
        if self.file >= 0:
            os.close(self.file)
        self.file = -1


def memory_file(size: int) -> int:
    """A descriptor of memory that has no name."""
    file = os.memfd_create("formwright", os.MFD_CLOEXEC)
    os.ftruncate(file, max(size, 1))
    return file


def mapped(file: int) -> mmap.mmap:
    """All of it, to read and write."""
    return mmap.mmap(file, os.fstat(file).st_size)


def view_of(buffer: Array, block: Block, origin: int = 0) -> Array:
    """The tensor of a block in the bytes of its file, of which ``origin`` were left out."""
    tensor = block.tensor
    strides = [tensor.itemsize]
    for extent in reversed(tensor.shape[1:]):
        strides.insert(0, strides[0] * (extent if len(strides) > 1 else tensor.stride))
    if not tensor.elements:
        return np.empty(tensor.shape, tensor.dtype)
    start = block.file_offset - origin + block.data
    return np.ndarray(tensor.shape, tensor.dtype, buffer.data, start, strides)


def poison_of(tensor: Tensor) -> Array:
    """A secret signalling NaN (for integers, a secret number) as one unsigned element.

    Arithmetic on it sets its quiet bit, so a cell that was computed from what stood there differs
    from one that was never written.
    """
    noise = secrets.randbits(64)
    match tensor.dtype:
        case "float32":
            return np.array([0x7F800001 | noise & 0x3FFFFE], np.uint32)
        case "float64":
            return np.array([0x7FF0 << 48 | 1 | noise & (1 << 51) - 2], np.uint64)
        case "float16":
            return np.array([0x7C01 | noise & 0x1FE], np.uint16)
        case "bfloat16":
            return np.array([0x7F81 | noise & 0x3E], np.uint16)
        case _:
            size = tensor.itemsize
            return np.array([noise & (1 << 8 * size) - 1], f"u{size}")
