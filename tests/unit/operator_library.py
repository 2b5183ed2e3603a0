"""Operators built from templates and called through the ABI; arrays that end at a guard page."""

import ctypes
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from formwright.codegen import build, detect_target, emit_c, target_named
from formwright.ir.template import Template
from formwright.ir.types import with_dtypes

Array = npt.NDArray[Any]
NUMPY = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i8": np.int8}


class Operator:
    """One built library; ``dtypes`` by tensor, f32 where none is given."""

    def __init__(
        self,
        template: Template,
        assignment: Mapping[str, int],
        folder: Path,
        dtypes: Mapping[str, str] | None = None,
        target: str | None = None,
    ) -> None:
        typed = with_dtypes(template, dtypes or {})
        isa = detect_target() if target is None else target_named(target)
        self.emitted = emit_c(typed, assignment, isa)
        self.handle = ctypes.CDLL(str(build(self.emitted, folder).library))
        self.handle.fw_scratch_bytes.restype = ctypes.c_int64

    def call(self, extents: Sequence[int], arrays: Sequence[Array], threads: int = 1) -> int:
        """The code of ``fw_call``; ``arrays`` are the inputs and the output, row-major."""
        given = (ctypes.c_int64 * len(extents))(*extents)
        tensors = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        rows = (a.strides[-2] // a.itemsize if a.ndim > 1 else a.shape[0] for a in arrays)
        strides = (ctypes.c_int64 * len(arrays))(*rows)
        size = int(self.handle.fw_scratch_bytes(given, threads))
        scratch = np.full(max(size, 1), 0xFF, np.uint8)
        where = ctypes.c_void_p(scratch.ctypes.data)
        rest = (where, ctypes.c_int64(size), ctypes.c_int32(threads))
        return int(self.handle.fw_call(tensors, strides, given, *rest))


class Guarded:
    """Memory whose last byte is followed by a page that may not be touched."""

    def __init__(self) -> None:
        self.kept: list[mmap.mmap] = []
        self.protect = ctypes.CDLL(None).mprotect
        self.protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def copy(self, array: Array) -> Array:
        """``array``, moved so that it ends where the guard begins."""
        page = mmap.PAGESIZE
        size = -(-max(1, array.nbytes) // page) * page
        memory = mmap.mmap(-1, size + page)
        self.kept.append(memory)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert self.protect(start + size, page, 0) == 0
        raw = np.frombuffer(memory, np.uint8, array.nbytes, size - array.nbytes)
        moved = raw.view(array.dtype).reshape(array.shape)
        moved[...] = array
        return moved


def survives(body: Callable[[], bool]) -> bool:
    """Whether ``body`` is true in a child process, which a touched guard page ends."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if body() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0
