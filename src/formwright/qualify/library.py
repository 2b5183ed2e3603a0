"""A qualified library inside this process: loaded from its very bytes, and again after a fork."""

import ctypes
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

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


class Packed:
    """``size`` bytes that start at a page: scratch, or inputs prepared ahead."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._bytes = np.empty(size + _PAGE, np.uint8)
        start = int(self._bytes.ctypes.data)
        self.address = start + -start % _PAGE


class Library:
    """The functions of one loaded library. Calls take turns; scratch is kept between them."""

    def __init__(self, data: bytes, name: str) -> None:
        self._handle = _open(data, name)
        self._turn = threading.Lock()
        self._scratch = Packed(0)
        self.fits_cpu = bool(self._handle.fw_cpu_ok())

    def call(
        self,
        addresses: Sequence[int],
        strides: Sequence[int],
        extents: Sequence[int],
        threads: int,
        prepared: int | None = None,
    ) -> Failure | None:
        """One ``fw_call``: addresses in the order A, B, C, row strides in elements, M, N, K.

        ``prepared`` is the address that :meth:`prepare` filled, for ``fw_call_ahead``.
        """
        function = self._handle.fw_call if prepared is None else self._handle.fw_call_ahead
        return self._run(function, addresses, strides, extents, threads, prepared)

    def prepare(
        self,
        addresses: Sequence[int],
        strides: Sequence[int],
        extents: Sequence[int],
        threads: int,
    ) -> "Packed | Failure":
        """Pack the inputs that the contract names ahead, for calls with these extents."""
        sizes = (ctypes.c_int64 * len(extents))(*extents)
        needed = int(self._handle.fw_ahead_bytes(sizes))
        if needed < 0:
            return Failure("ahead", "the library cannot prepare inputs of these extents")
        packed = Packed(needed)
        function = self._handle.fw_prepare
        failure = self._run(function, addresses, strides, extents, threads, packed.address)
        return packed if failure is None else failure

    def _run(
        self,
        function: Any,
        addresses: Sequence[int],
        strides: Sequence[int],
        extents: Sequence[int],
        threads: int,
        packed: int | None,
    ) -> Failure | None:
        tensors = (ctypes.c_void_p * len(addresses))(*addresses)
        rows = (ctypes.c_int64 * len(strides))(*strides)
        sizes = (ctypes.c_int64 * len(extents))(*extents)
        with self._turn:
            needed = int(self._handle.fw_scratch_bytes(sizes, threads))
            if needed < 0:
                return Failure("scratch", "the library has no scratch size for these extents")
            last = () if packed is None else (packed,)
            code = function(tensors, rows, sizes, self._room(needed), needed, threads, *last)
        if flushes_to_zero():
            _restore()
            return Failure("environment", "the library changed the rounding environment", True)
        return None if code == 0 else Failure("error", f"the library returned error {code}")

    def _room(self, size: int) -> int:
        """The address of at least ``size`` bytes of scratch, page aligned."""
        if self._scratch.size < size:
            self._scratch = Packed(size)
        return self._scratch.address


_loaded: dict[str, Library] = {}
_guard = threading.Lock()


def library(key: str, data: bytes, name: str) -> Library:
    """The library with these bytes, loaded once in each process; ``key`` is their SHA-256.

    Raises ``ArtifactError`` when it does not load, has another interface, or turns on
    flush-to-zero.
    """
    found = _loaded.get(key)
    if found is not None:
        return found
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
    call: list[Any] = [pointers, sizes, sizes, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32]
    handle.fw_call.argtypes = call
    if hasattr(handle, "fw_prepare"):
        handle.fw_ahead_bytes.restype = ctypes.c_int64
        handle.fw_ahead_bytes.argtypes = [sizes]
        for packed in (handle.fw_prepare, handle.fw_call_ahead):
            packed.restype = ctypes.c_int32
            packed.argtypes = [*call, ctypes.c_void_p]
    return handle


_TINY: Final = 2.2250738585072014e-308
"""The smallest normal float64: half of it is 0 only where flush-to-zero is on."""


def flushes_to_zero() -> bool:
    """Has something turned on flush-to-zero in this thread?"""
    return _TINY * 0.5 == 0.0


def _restore() -> None:
    """The floating-point environment that a process starts with (``FE_DFL_ENV``)."""
    ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))
