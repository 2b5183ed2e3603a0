"""A session: one child, its slots in shared memory, and the parent's side of every check."""

import os
import signal
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from formwright.measure.child import DONE, FAILED, FAULT, READY, REFUSED, Child, Reply
from formwright.measure.faults import read_fault
from formwright.measure.judge import judge
from formwright.measure.layout import Block, Placement, lay_out, setup_message
from formwright.measure.memory import InputMemory, mapped, memory_file, poison_of, view_of
from formwright.measure.outcome import (
    Altered,
    Crashed,
    Failed,
    Failure,
    Forbidden,
    MeasureError,
    Ok,
    Outcome,
    OutOfBounds,
    Refused,
)
from formwright.measure.peers.protocol import NOT_OFFERED
from formwright.measure.programs import Native, Program, missing
from formwright.measure.sandbox import Level, Sandbox
from formwright.measure.tensors import Array, Case, Tensor

_CALL, _PREPARE, _EVICT, _DELIVER = 1, 2, 3, 4
_POISON_SCRATCH, _AHEAD = 1, 2
_ALTERED = 2
_SPILL = 0xA5
"""Fills the bytes of an output's pages that belong to no element; a kernel must leave them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the parent's clock and the machine's kernel said about one batch of calls.

    ``wall_seconds`` ends with the child's answer, ``held_seconds`` when its threads stood still;
    CPU time and time in the run queue are counted up to there (``late_seconds``: the CPU time after
    the answer). ``rested``: none of its threads ran before the start.
    """

    calls: int
    wall_seconds: float
    held_seconds: float
    cpu_seconds: float
    late_seconds: float
    queue_seconds: float
    rested: bool


class Session:
    """Runs one program on ``slots`` sets of tensors; a context manager.

    ``tensors`` are the inputs in workload order, then one output; ``extents`` as the library
    expects them. ``placement`` says which end of each tensor stands at a guard page;
    ``poison_scratch`` fills the library's scratch memory with NaN before each call. Sessions
    with the same tensors, slots and placement may share the ``memory`` of their inputs.

    Raises ``MeasureError`` when the child cannot be started or refuses the library.
    """

    def __init__(
        self,
        program: Program,
        tensors: Sequence[Tensor],
        extents: Sequence[int],
        *,
        slots: int = 1,
        placement: Placement = "end",
        alignment: int = 1,
        cores: Sequence[int] | None = None,
        sandbox: Sandbox | None = None,
        poison_scratch: bool = True,
        memory: InputMemory | None = None,
    ) -> None:
        lacking = missing(program)
        if lacking:
            raise MeasureError(Refused(lacking))
        if [t.output for t in tensors] != [False] * (len(tensors) - 1) + [True]:
            raise ValueError("a session takes inputs, then one output")
        self.program = program
        self.sandbox = sandbox or Sandbox()
        self.layout = lay_out(tensors, slots, placement, alignment)
        self.poison = poison_of(tensors[-1])
        self.batches = 0
        self._earlier: dict[int, Array] = {}
        self._loaded: set[int] = set()
        sizes = (self.layout.input_bytes, self.layout.output_bytes)
        self._memory = memory or InputMemory(sizes[0])
        self._owns = memory is None
        self._output = memory_file(sizes[1])
        # The mappings live as long as the arrays over them, or views of these, are held.
        own = np.frombuffer(mapped(self._output), np.uint8)
        self._bytes: tuple[Array, ...] = (self._memory.bytes, own)
        try:
            self.child = self._start(
                extents, cores or default_cores(program.threads), poison_scratch
            )
        except BaseException:
            self._release()
            raise

    def _start(self, extents: Sequence[int], cores: Sequence[int], poison_scratch: bool) -> Child:
        limits = self.sandbox.limits
        flags = (_POISON_SCRATCH if poison_scratch else 0) | (_AHEAD if self.program.ahead else 0)
        memory = self.layout.reserve + limits.memory_bytes + 2 * limits.scratch_bytes
        if not isinstance(self.program, Native):
            memory += 8 << 30  # an interpreter and its libraries reserve far more than they use
        message = setup_message(
            self.layout,
            extents,
            self.program.threads,
            flags,
            limits.scratch_bytes,
            memory,
            limits.cpu_seconds,
        )
        # The child gets the inputs by a descriptor that is open for reading only: a mapping of it
        # can never be made writable.
        reading = os.open(f"/proc/self/fd/{self._memory.file}", os.O_RDONLY)
        files = (reading, self._output)
        try:
            child = Child(self.program, self.layout.tensors, self.sandbox, cores, files)
        finally:
            os.close(reading)
        child.send(message)
        reply = child.receive(limits.start_seconds)
        if not isinstance(reply, Reply) or reply.kind != READY:
            child.close()
            raise MeasureError(_refusal(reply))
        self.base = reply.a
        native = isinstance(self.program, Native)
        self.way = "" if native else reply.text
        # What a call needs beside its tensors; only a library of ours says so.
        self.memory_bytes = int(reply.text) if native and reply.text.isdecimal() else None
        if child.level < Level.BUBBLEWRAP:
            child.level = _level(reply.b)
        try:
            self.sandbox.check(child.level)
        except MeasureError:
            child.close()
            raise
        return child

    @property
    def level(self) -> Level:
        """How far the child is confined."""
        return self.child.level

    @property
    def alive(self) -> bool:
        """False once the child has crashed, hung or been refused something."""
        return self.child.alive

    def view(self, tensor: int, slot: int = 0) -> Array:
        """The parent's view of a tensor of a slot: writing to it is writing to the slot."""
        block = self.layout.blocks[slot][tensor]
        return view_of(self._bytes[block.tensor.output], block)

    def load(self, inputs: Sequence[Array], slot: int = 0) -> None:
        """Copy inputs into a slot, in place, and poison its output.

        Bytes beside the elements of an input hold NaN, so that using them shows.
        """
        for index, values in enumerate(inputs):
            block = self.layout.blocks[slot][index]
            if values.shape != block.tensor.shape:
                raise ValueError(f"{block.tensor.name}: {values.shape} is not {block.tensor.shape}")
            if slot not in self._loaded:
                self._pages(block)[:] = 0xFF
            self.view(index, slot)[...] = values
        self._loaded.add(slot)
        self.poison_output(slot)

    def poison_output(self, slot: int = 0, *, beside: bool = True) -> None:
        """Fill the output with the secret pattern, and what lies beside its elements with another.

        Without ``beside`` only the output itself: for batches, which are not searched for spills.
        """
        block = self.layout.blocks[slot][-1]
        pages = self._pages(block)
        if beside and (block.span, block.tensor.stride) != (
            block.tensor.bytes,
            block.tensor.columns,
        ):
            pages[:] = _SPILL
        view = self.view(-1, slot)
        if view.size:
            view.view(self.poison.dtype)[...] = self.poison  # as bits: a float move may alter them

    def call(self, slot: int = 0) -> Outcome:
        """Run the program once on a slot and see that it stayed inside its tensors."""
        batch = self.run((slot,))
        if not isinstance(batch, Batch):
            return batch
        return self._spilled(slot) or Ok()

    def evaluate(self, case: Case, slot: int = 0) -> Outcome:
        """Load a case, run it once and judge the output."""
        self.load(case.inputs, slot)
        if self.program.ahead:
            prepared = self.prepare((slot,))
            if not isinstance(prepared, Batch):
                return prepared
        outcome = self.call(slot)
        return self.judge(case.expected, case.tolerance, slot) if outcome == Ok() else outcome

    def output(self, slot: int = 0) -> Array:
        """A copy of the output of a slot, contiguous."""
        return np.array(self.view(-1, slot), order="C")

    def judge(
        self, expected: Array, tolerance: Array, slot: int = 0, earlier: Array | None = None
    ) -> Outcome:
        """Compare the output of a slot; remembers ``expected`` to recognise stale outputs.

        ``earlier`` takes the place of what is remembered.
        """
        if earlier is None:
            earlier = self._earlier.get(slot)
        found = judge(self.output(slot), expected, tolerance, self.poison, earlier)
        self._earlier[slot] = expected
        return found

    def run(self, order: Iterable[int]) -> Batch | Failure:
        """Call the program on slots in the given order, by the parent's clock."""
        return self._command(_CALL, order)

    def prepare(self, order: Iterable[int]) -> Batch | Failure:
        """Let the program pack inputs ahead, for programs that do."""
        return self._command(_PREPARE, order)

    def evict(self, mebibytes: int) -> Batch | Failure:
        """Let the child sweep its core's caches with a buffer of that size, outside any clock."""
        return self._command(_EVICT, (mebibytes,))

    def deliver(self) -> Batch | Failure:
        """Let a peer copy an output that it made itself into the slot of the last call."""
        return self._command(_DELIVER, ())

    def _command(self, operation: int, order: Iterable[int]) -> Batch | Failure:
        slots = tuple(order)
        message = struct.pack(f"=2I{len(slots)}I", operation, len(slots), *slots)
        child = self.child
        if not child.alive:
            return Refused("the session is over: its child has ended")
        # At rest, no thread waits for a core from before: what is counted is this batch's.
        # What a library delivers and what is swept is not timed, and needs no rest.
        untimed = operation in (_EVICT, _DELIVER)
        if untimed:
            child.resume()
        rested = untimed or child.settle()
        if child.unasked():
            child.close()
            return Forbidden("answer in the worker's place", "send")
        cpu, queue = child.cpu_seconds(), child.queue_seconds()
        start = time.perf_counter_ns()
        child.send(message)
        reply = child.receive(self.sandbox.limits.call_seconds)
        end = time.perf_counter_ns()
        at_done = child.cpu_seconds()
        if not isinstance(reply, Reply):
            return reply
        child.stop()
        after = child.cpu_seconds()
        queue = child.queue_seconds() - queue
        held = time.perf_counter_ns()
        self.batches += 1
        if reply.kind != DONE:
            return self._failure(reply)
        return Batch(
            len(slots),
            (end - start) / 1e9,
            (held - start) / 1e9,
            after - cpu,
            after - at_done,
            queue,
            rested,
        )

    def linger(self, seconds: float = 0.005) -> float:
        """CPU seconds that the idle child uses while nothing is asked of it for ``seconds``."""
        self.child.settle()
        before = self.child.cpu_seconds()
        time.sleep(seconds)
        after = self.child.cpu_seconds()
        self.child.stop()
        return after - before

    def _failure(self, reply: Reply) -> Failure:
        match reply.kind:
            case x if x == FAILED:
                return Failed(reply.code)
            case x if x == REFUSED:
                self.child.close()
                return _refusal(reply)
            case x if x == FAULT:
                self.child.close()
                return read_fault(self.layout, reply.a - self.base, reply.code, reply.b)
            case _:
                self.child.close()
                return Crashed(0, "its answer is not one of the protocol's")

    def _spilled(self, slot: int) -> OutOfBounds | None:
        block = self.layout.blocks[slot][-1]
        pages = self._pages(block).copy()
        inside = view_of(pages, block, block.file_offset)
        inside.view(np.uint8)[...] = _SPILL
        touched = np.flatnonzero(pages != _SPILL)
        if touched.size == 0:
            return None
        name, end = block.tensor.name, block.data + block.tensor.bytes
        beyond = touched[touched >= end]
        if beyond.size:
            return OutOfBounds(name, "write", "after", int(beyond[0]) - end + 1)
        if touched[0] < block.data:
            return OutOfBounds(name, "write", "before", block.data - int(touched[0]))
        return OutOfBounds(name, "write", "between", 0)

    def _pages(self, block: Block) -> Array:
        return self._bytes[block.tensor.output][block.file_offset : block.file_offset + block.span]

    def close(self) -> None:
        """End the child and give the memory back."""
        self.child.close()
        self._release()

    def _release(self) -> None:
        self._bytes = ()
        if self._output >= 0:
            os.close(self._output)
        self._output = -1
        if self._owns:
            self._memory.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def default_cores(threads: int) -> tuple[int, ...]:
    """The last ``threads`` cores that this process may use; the first is left to the parent."""
    available = sorted(os.sched_getaffinity(0))
    return tuple(available[-threads:])


def _refusal(reply: Reply | Failure) -> Failure:
    if not isinstance(reply, Reply):
        return reply
    if reply.kind == REFUSED and reply.code == _ALTERED:
        return Altered()
    if reply.kind == REFUSED:
        return Refused(reply.text, offered=reply.code != NOT_OFFERED)
    if reply.kind == FAULT:
        name = signal.Signals(reply.code).name
        return Refused(f"loading the library ended with {name}")
    return Refused("the child does not speak the protocol")


def _level(bits: int) -> Level:
    if not bits & 1:
        return Level.PLAIN
    return Level.LANDLOCK if bits & 2 else Level.SECCOMP
