"""A qualified library inside this process: loaded from its very bytes, and again after a fork."""

import ctypes
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np

from formwright.qualify.artifact import ArtifactError

ABI: Final = 1

_PAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that the library did not do. ``permanent``: no later call will do better."""

    kind: str
    text: str
    permanent: bool = False


class Library:
    """The functions of one loaded library. Calls take turns; scratch is kept between them."""

    def __init__(self, data: bytes, name: str) -> None:
        self._handle = _open(data, name)
        self._turn = threading.Lock()
        self._scratch = np.empty(0, np.uint8)
        self.fits_cpu = bool(self._handle.fw_cpu_ok())

    def call(
        self, addresses: Sequence[int], strides: Sequence[int], extents: Sequence[int], threads: int
    ) -> Failure | None:
        """One ``fw_call``: addresses in the order A, B, C, row strides in elements, M, N, K."""
        tensors = (ctypes.c_void_p * len(addresses))(*addresses)
        rows = (ctypes.c_int64 * len(strides))(*strides)
        sizes = (ctypes.c_int64 * len(extents))(*extents)
        with self._turn:
            needed = int(self._handle.fw_scratch_bytes(sizes, threads))
            if needed < 0:
                return Failure("scratch", "the library has no scratch size for these extents")
            code = self._handle.fw_call(tensors, rows, sizes, self._room(needed), needed, threads)
        if flushes_to_zero():
            _restore()
            return Failure("environment", "the library changed the rounding environment", True)
        return None if code == 0 else Failure("error", f"the library returned error {code}")

    def _room(self, size: int) -> int:
        """The address of at least ``size`` bytes of scratch, page aligned."""
        if self._scratch.size < size + _PAGE:
            self._scratch = np.empty(size + _PAGE, np.uint8)
        address = int(self._scratch.ctypes.data)
        return address + -address % _PAGE


_loaded: dict[str, Library] = {}
_guard = threading.Lock()


def library(data: bytes, name: str) -> Library:
    """The library with these bytes, loaded once in each process.

    Raises ``ArtifactError`` when it does not load, has another interface, or turns on
    flush-to-zero.
    """
    key = sha256(data).hexdigest()
    with _guard:
        if key not in _loaded:
            _loaded[key] = Library(data, name)
        return _loaded[key]


def _after_fork() -> None:
    """A child has neither the parent's worker threads nor the holders of its locks."""
    global _guard
    _guard = threading.Lock()
    _loaded.clear()


os.register_at_fork(after_in_child=_after_fork)


def _open(data: bytes, name: str) -> ctypes.CDLL:
    """Load exactly these bytes: from memory, so that no file can be put in their place.

    The descriptor stays open for good: the loader knows libraries by their path, and a
    number that is used again would be answered with the older library.
    """
    descriptor = os.memfd_create(name[:200] or "kernel", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(data)
    try:
        handle = ctypes.CDLL(f"/proc/self/fd/{descriptor}", mode=os.RTLD_LOCAL | os.RTLD_NOW)
        for function in ("fw_abi", "fw_cpu_ok", "fw_call"):
            getattr(handle, function).restype = ctypes.c_int32
        handle.fw_scratch_bytes.restype = ctypes.c_int64
    except (OSError, AttributeError) as error:
        raise ArtifactError(f"{name}: the library does not load: {error}") from None
    if flushes_to_zero():
        _restore()
        raise ArtifactError(
            f"{name}: the library turns on flush-to-zero for the whole process",
            "build it without -ffast-math",
        )
    abi = int(handle.fw_abi())
    if abi != ABI:
        raise ArtifactError(f"{name}: the library has call interface {abi}, not {ABI}")
    sizes = ctypes.POINTER(ctypes.c_int64)
    handle.fw_scratch_bytes.argtypes = [sizes, ctypes.c_int32]
    pointers = ctypes.POINTER(ctypes.c_void_p)
    handle.fw_call.argtypes = [
        pointers,
        sizes,
        sizes,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int32,
    ]
    return handle


_TINY: Final = 2.2250738585072014e-308
"""The smallest normal float64: half of it is 0 only where flush-to-zero is on."""


def flushes_to_zero() -> bool:
    """Has something turned on flush-to-zero in this thread?"""
    return _TINY * 0.5 == 0.0


def _restore() -> None:
    """The floating-point environment that a process starts with (``FE_DFL_ENV``)."""
    ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))
