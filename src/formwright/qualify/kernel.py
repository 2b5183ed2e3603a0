"""``formwright.load(folder)``: a qualified kernel as a callable on NumPy arrays.

The callable keeps the caller inside the contract: what the library was not qualified for
goes to another qualified kernel or to NumPy instead, and it says so once for each kind of
reason.
"""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

import numpy as np

from formwright.contract.contract import Contract, outside
from formwright.contract.numbers import Array, format_of
from formwright.qualify.arrays import Given, given, returned
from formwright.qualify.artifact import Artifact, read_artifact
from formwright.qualify.library import Failure, Library, Packed, library
from formwright.qualify.operands import (
    Reason,
    check_numbers,
    extents_of,
    layout_reason,
    overlaps,
    row_stride,
)
from formwright.qualify.reference import by_reference

Tensors = tuple[Array, ...]


class FallbackWarning(UserWarning):
    """A call was computed by NumPy, because the kernel's domain does not cover it."""


def load(folder: str | Path, *, fallback: "Sequence[Kernel]" = ()) -> "Kernel":
    """Load the artifact that ``formwright run`` or ``formwright qualify`` wrote.

    Every file is compared with its hash first, and the library that is loaded is the very
    bytes that were hashed. ``fallback`` are other loaded kernels for calls outside the
    domain; after them comes the reference, computed by NumPy. Raises ``ArtifactError`` (an
    ``InputError``).
    """
    return Kernel(read_artifact(folder), fallback)


class Together:
    """The packed form of the inputs that were prepared at once."""

    def __init__(self) -> None:
        self._packed: tuple[Library, tuple[int, ...], Packed] | None = None

    def packed(self, library: Library, call: "_Call", threads: int) -> Packed | Failure:
        """The packed form for these extents; packed again when they change."""
        # Without a lock: two threads may both pack, and get the same; each keeps what it uses.
        known = self._packed
        if known is not None and known[:2] == (library, tuple(call.extents)):
            return known[2]
        done = library.prepare(call.addresses, call.strides, call.extents, threads)
        if isinstance(done, Packed):
            self._packed = (library, tuple(call.extents), done)
        return done


class Prepared:
    """A copy of an input that stays the same from call to call; ``together``: with which others."""

    def __init__(self, name: str, array: Array, together: Together) -> None:
        self.name = name
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False
        self.together = together


@dataclass(frozen=True, slots=True)
class _Taken:
    """The arguments of a call: as arrays, and the output as the caller gave it."""

    tensors: Tensors
    prepared: Together | None
    out: Array | None
    given_out: Given | None


@dataclass(frozen=True, slots=True)
class _Call:
    """Addresses, row strides and extents as the library takes them."""

    addresses: list[int]
    strides: list[int]
    extents: list[int]


class Kernel:
    """``kernel(*inputs)`` and ``kernel(*inputs, out=array)``, inputs in the contract's order.

    Arrays of NumPy (bf16 as ``ml_dtypes.bfloat16``) or CPU tensors of torch; what comes back
    is of the kind of the first input. With a contract that lets inputs be prepared ahead:
    ``w = kernel.prepare(b)``, ``kernel(a, w)``; several are prepared at once and given together:
    ``g, u, d = kernel.prepare(wg, wu, wd)``, ``kernel(x, g, u, d)``.

    Safe to call from several threads (calls take turns) and after a fork. ``threads`` is the
    number that was qualified, or fewer if this process may use fewer cores.
    """

    def __init__(self, artifact: Artifact, fallback: "Sequence[Kernel]" = ()) -> None:
        self.folder = artifact.folder
        self.contract: Contract = artifact.contract
        self.record: dict[str, Any] = artifact.record
        self.assignment = artifact.assignment
        self.threads = max(1, min(int(artifact.record["threads"]), _cores()))
        self.fallback = tuple(fallback)
        self._bytes = artifact.library
        self._key = sha256(artifact.library).hexdigest()
        self._warned: set[str] = set()
        self._unfit: Reason | None = None
        for other in self.fallback:
            unlike = differs(self.contract, other.contract)
            if unlike is not None:
                raise ValueError(f"{other.folder.name} is no fallback: {unlike}")
        if not self._library().fits_cpu:
            self._unfit = Reason("cpu", "this CPU lacks instructions that the library uses")

    def __call__(self, *inputs: Given | Prepared, out: Given | None = None) -> Any:
        """The operator of the contract; ``out`` may also be the last positional argument.

        Raises ``ValueError`` for arrays that are no operands of it: another number of them or
        of dimensions, extents that differ, no real numbers; an ``out`` of another shape, of
        integers, or whose cells share memory.
        """
        taken = self._taken(inputs, out)
        result = self.attempt(taken.tensors, taken.out, taken.prepared)
        if isinstance(result, Reason):
            by, computed = self._elsewhere(taken.tensors, taken.out)
            self._warn(by, result)
            result = computed
        return returned(result, inputs, taken.given_out)

    def attempt(
        self, tensors: Tensors, out: Array | None = None, prepared: Together | None = None
    ) -> Array | Reason:
        """The library's own result, or why it cannot be asked for one."""
        reason = self._reason(tensors, out)
        if reason is not None:
            return reason
        output = self.contract.output
        shape = self.contract.shape(output, extents_of(self.contract, tensors, out))
        result = np.empty(shape, format_of(output.dtype).numpy) if out is None else out
        reason = self._run(tensors, result, prepared) if result.size else None
        return result if reason is None else reason

    @overload
    def prepare(self, array: Given, /) -> Prepared: ...
    @overload
    def prepare(self, first: Given, second: Given, /, *more: Given) -> tuple[Prepared, ...]: ...
    def prepare(self, *arrays: Given) -> Prepared | tuple[Prepared, ...]:
        """Inputs for many calls, in the order of the contract's ``ahead``; a tuple of several.

        Raises ``ValueError`` when the contract prepares none ahead, or another number of them.
        """
        names = self.contract.ahead
        if not names:
            raise ValueError(f"the contract of {self.folder.name} prepares no input ahead")
        if len(arrays) != len(names):
            told = f"{self.folder.name} prepares {', '.join(names)} at once"
            raise ValueError(f"{told}: {len(arrays)} were given")
        together = Together()
        found = tuple(
            Prepared(name, given(array), together)
            for name, array in zip(names, arrays, strict=True)
        )
        return found[0] if len(found) == 1 else found

    def reason(self, *inputs: Given | Prepared, out: Given | None = None) -> Reason | None:
        """Why ``kernel(*inputs, out=out)`` would be computed elsewhere; ``None`` if it is not."""
        taken = self._taken(inputs, out)
        return self._reason(taken.tensors, taken.out)

    def _taken(self, inputs: tuple[Given | Prepared, ...], out: Given | None) -> _Taken:
        operands = self.contract.inputs
        if out is None and len(inputs) == len(operands) + 1:
            last = inputs[-1]
            out, inputs = (None if isinstance(last, Prepared) else last), inputs[:-1]
        if len(inputs) != len(operands):
            names = ", ".join(o.name for o in operands)
            raise ValueError(f"{self.contract.operator} takes {names}: {len(inputs)} were given")
        for operand, value in zip(operands, inputs, strict=True):
            if isinstance(value, Prepared) and value.name != operand.name:
                raise ValueError(f"{value.name} was prepared, and is given as {operand.name}")
        prepared = self._together([i for i in inputs if isinstance(i, Prepared)])
        tensors = tuple(i.array if isinstance(i, Prepared) else given(i) for i in inputs)
        result = None if out is None else given(out)
        check_numbers(self.contract, tensors, result)
        return _Taken(tensors, prepared, result, out)

    def _together(self, prepared: Sequence[Prepared]) -> Together | None:
        """The packed form that the prepared inputs have in common."""
        forms = {id(p.together): p.together for p in prepared}
        if not forms:
            return None
        if len(forms) > 1 or len(prepared) != len(self.contract.ahead):
            names = ", ".join(self.contract.ahead)
            raise ValueError(f"{names} are prepared at once and given together")
        return next(iter(forms.values()))

    def _reason(self, tensors: Tensors, out: Array | None) -> Reason | None:
        if self._unfit is not None:
            return self._unfit
        values = extents_of(self.contract, tensors, out)
        if all(self.contract.shape(self.contract.output, values)):
            fault = outside(self.contract, values)
            if fault is not None:
                return Reason("extents", fault)
        everything = tensors if out is None else (*tensors, out)
        for operand, array in zip(self.contract.operands, everything, strict=False):
            unlike = layout_reason(operand, array)
            if unlike is not None:
                return unlike
        if out is not None:
            if not out.flags.writeable:
                return Reason("writeable", "out is read-only")
            for operand, array in zip(self.contract.inputs, tensors, strict=True):
                if overlaps(array, out):
                    return Reason("aliasing", f"out shares memory with {operand.name}")
        return None

    def _library(self) -> Library:
        return library(self._key, self._bytes, self.folder.name)

    def _run(self, tensors: Tensors, out: Array, prepared: Together | None) -> Reason | None:
        library = self._library()
        values = extents_of(self.contract, tensors, out)
        everything = (*tensors, out)
        call = _Call(
            [int(t.ctypes.data) for t in everything],
            [row_stride(t) for t in everything],
            [values[name] for name in self.contract.names],
        )
        packed: Packed | Failure | None = None
        if prepared is not None:
            packed = prepared.packed(library, call, self.threads)
        if isinstance(packed, Failure):
            failure: Failure | None = packed
        else:
            address = None if packed is None else packed.address
            failure = library.call(
                call.addresses, call.strides, call.extents, self.threads, address
            )
        if failure is None:
            return None
        reason = Reason(failure.kind, failure.text)
        if failure.permanent:
            self._unfit = reason
        return reason

    def _elsewhere(self, tensors: Tensors, out: Array | None) -> tuple[str, Array]:
        for other in self.fallback:
            result = other.attempt(tensors, out)
            if not isinstance(result, Reason):
                return other.folder.name, result
        return "NumPy", by_reference(self.contract, tensors, out)

    def _warn(self, by: str, reason: Reason) -> None:
        if reason.kind in self._warned:
            return
        self._warned.add(reason.kind)
        warnings.warn(
            f"{self.folder.name}: {by} computes this call, and others like it: {reason.text}",
            FallbackWarning,
            stacklevel=3,
        )


def differs(ours: Contract, other: Contract) -> str | None:
    """Why two contracts are not of one operator on the same element types."""
    if ours.formula != other.formula or ours.operator != other.operator:
        return f"it is a kernel for {other.operator}, not {ours.operator}"
    for left, right in zip(ours.operands, other.operands, strict=True):
        if left.dtype != right.dtype:
            return f"its {right.name} is {right.dtype}, not {left.dtype}"
    if ours.special != other.special or ours.relation != other.relation:
        return "its contract asks for another relation or other special values"
    if ours.stages != other.stages:
        return f"its contract has values between sums in {other.stages}, not {ours.stages}"
    return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
