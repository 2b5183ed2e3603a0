"""``formwright.load(folder)``: a qualified kernel as a callable on NumPy arrays.

The callable keeps the caller inside the contract: what the library was not qualified for
goes to NumPy instead, and it says so once for each kind of reason.
"""

import os
import warnings
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formwright.contract.contract import Contract, outside
from formwright.qualify.artifact import Artifact, read_artifact
from formwright.qualify.library import Failure, Library, Packed, library

F32 = NDArray[np.float32]


class FallbackWarning(UserWarning):
    """A call was computed by NumPy, because the kernel's domain does not cover it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call is outside the domain: ``kind`` is warned about once, ``text`` says it."""

    kind: str
    text: str


def load(folder: str | Path) -> "Kernel":
    """Load the artifact that ``formwright run`` wrote.

    Every file is compared with its hash first, and the library that is loaded is the very
    bytes that were hashed. Raises ``ArtifactError`` (an ``InputError``).
    """
    return Kernel(read_artifact(folder))


class Prepared:
    """A right operand that stays the same from call to call: a copy, and its packed form."""

    def __init__(self, b: F32) -> None:
        self.array = np.array(b, np.float32, order="C")
        self.array.flags.writeable = False
        self._packed: tuple[Library, int, Packed] | None = None

    def packed(self, library: Library, threads: int, a: F32, c: F32) -> Packed | Failure:
        """The packed form for this many rows of A; packed again when their number changes."""
        # Without a lock: two threads may both pack, and get the same; each keeps what it uses.
        known = self._packed
        if known is not None and known[:2] == (library, a.shape[0]):
            return known[2]
        done = library.prepare(*_call_of((a, self.array, c)), threads)
        if isinstance(done, Packed):
            self._packed = (library, a.shape[0], done)
        return done


class Kernel:
    """``kernel(a, b)`` and ``kernel(a, b, out=c)``: ``a @ b`` for f32 matrices.

    With a contract that lets B be prepared ahead: ``w = kernel.prepare(b)``, ``kernel(a, w)``.
    Safe to call from several threads (calls take turns) and after a fork. ``threads`` is
    the number that was qualified, or fewer if this process may use fewer cores.
    """

    def __init__(self, artifact: Artifact) -> None:
        self.folder = artifact.folder
        self.contract: Contract = artifact.contract
        self.record: dict[str, Any] = artifact.record
        self.assignment = artifact.assignment
        self.threads = max(1, min(int(artifact.record["threads"]), _cores()))
        self._bytes = artifact.library
        self._key = sha256(artifact.library).hexdigest()
        self._warned: set[str] = set()
        self._unfit: Reason | None = None
        if not self._library().fits_cpu:
            self._unfit = Reason("cpu", "this CPU lacks instructions that the library uses")

    def __call__(self, a: F32, b: F32 | Prepared, out: F32 | None = None) -> F32:
        """``a @ b`` [M,N]. Raises ``ValueError`` where NumPy would: no matrices, or K differs."""
        right = b.array if isinstance(b, Prepared) else b
        m, n, _ = _extents(a, right)
        if out is not None and out.shape != (m, n):
            raise ValueError(f"out has shape {out.shape}, the product ({m}, {n})")
        reason = self.reason(a, right, out)
        if reason is None:
            c = np.empty((m, n), np.float32) if out is None else out
            prepared = b if isinstance(b, Prepared) else None
            reason = self._call(a, right, c, prepared) if m and n else None
            if reason is None:
                return c
        self._warn(reason)
        return _numpy(a, right, out)

    def prepare(self, b: F32) -> Prepared:
        """``b`` for many calls. Raises ``ValueError`` when the contract prepares no B ahead."""
        if "B" not in self.contract.ahead:
            raise ValueError(f"the contract of {self.folder.name} prepares no input ahead")
        return Prepared(b)

    def reason(self, a: F32, b: F32, out: F32 | None = None) -> Reason | None:
        """Why ``kernel(a, b, out)`` would be computed by NumPy; ``None`` if it would not."""
        if self._unfit is not None:
            return self._unfit
        m, n, k = _extents(a, b)
        if m and n:
            fault = outside(self.contract, {"M": m, "N": n, "K": k})
            if fault is not None:
                return Reason("extents", fault)
        for name, array in (("A", a), ("B", b), ("out", out)):
            if array is not None:
                unlike = _layout(name, array, array.itemsize)
                if unlike is not None:
                    return unlike
        if out is not None:
            if not out.flags.writeable:
                return Reason("writeable", "out is read-only")
            for name, array in (("A", a), ("B", b)):
                if _overlap(array, out):
                    return Reason("aliasing", f"out shares memory with {name}")
        return None

    def _library(self) -> Library:
        return library(self._key, self._bytes, self.folder.name)

    def _call(self, a: F32, b: F32, c: F32, prepared: Prepared | None) -> Reason | None:
        library = self._library()
        packed: Packed | Failure | None = None
        if prepared is not None:
            packed = prepared.packed(library, self.threads, a, c)
        if isinstance(packed, Failure):
            failure: Failure | None = packed
        else:
            address = None if packed is None else packed.address
            failure = library.call(*_call_of((a, b, c)), self.threads, address)
        if failure is None:
            return None
        reason = Reason(failure.kind, failure.text)
        if failure.permanent:
            self._unfit = reason
        return reason

    def _warn(self, reason: Reason) -> None:
        if reason.kind in self._warned:
            return
        self._warned.add(reason.kind)
        warnings.warn(
            f"{self.folder.name}: NumPy computes this call, and others like it: {reason.text}",
            FallbackWarning,
            stacklevel=3,
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _call_of(tensors: tuple[F32, F32, F32]) -> tuple[list[int], list[int], list[int]]:
    """Addresses, row strides and extents as the library takes them."""
    a, b, _ = tensors
    addresses = [int(t.ctypes.data) for t in tensors]
    return addresses, [_row_stride(t) for t in tensors], [a.shape[0], b.shape[1], a.shape[1]]


def _extents(a: F32, b: F32) -> tuple[int, int, int]:
    for name, array in (("A", a), ("B", b)):
        if not isinstance(array, np.ndarray) or array.ndim != 2:
            raise ValueError(f"{name} is not a matrix")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"A has {a.shape[1]} columns, B {b.shape[0]} rows")
    return a.shape[0], b.shape[1], a.shape[1]


def _layout(name: str, array: F32, alignment: int) -> Reason | None:
    if array.dtype != np.float32 or not array.dtype.isnative:
        return Reason("dtype", f"{name} holds {array.dtype}, not float32")
    rows, columns = array.shape
    if rows == 0 or columns == 0:
        return None
    if array.ctypes.data % alignment:
        return Reason("alignment", f"{name} is not aligned to {alignment} bytes")
    if columns > 1 and array.strides[1] != 4:
        return Reason("layout", f"the rows of {name} are not contiguous")
    if rows > 1 and (array.strides[0] % 4 or array.strides[0] < 4 * columns):
        return Reason("layout", f"the rows of {name} overlap or run backwards")
    return None


def _row_stride(array: F32) -> int:
    """In elements; a matrix of one row, or an empty one, has no stride that means anything."""
    rows, columns = array.shape
    if rows <= 1 or columns == 0:
        return max(1, int(columns))
    return int(array.strides[0] // 4)


def _overlap(array: F32, out: F32) -> bool:
    """May the two share a byte? Exact for column ranges of one base, else by their bounds."""
    if not np.may_share_memory(array, out):
        return False
    stride = out.strides[0]
    if out.shape[0] < 2 or array.shape[0] < 2 or array.strides[0] != stride or stride <= 0:
        return True
    apart = (int(out.ctypes.data) - int(array.ctypes.data)) % stride
    return bool(apart < 4 * array.shape[1] or apart + 4 * out.shape[1] > stride)


def _numpy(a: F32, b: F32, out: F32 | None) -> F32:
    if out is None:
        return np.asarray(np.matmul(a, b))
    if _overlap(a, out) or _overlap(b, out):
        out[...] = np.matmul(a, b)
        return out
    return np.asarray(np.matmul(a, b, out=out))
