"""Batches of calls: inputs changed, outputs poisoned, the clock, the outputs judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from formwright.measure.layout import lay_out
from formwright.measure.memory import InputMemory, view_of
from formwright.measure.outcome import Lingering, MeasureError, Ok, Overdrawn
from formwright.measure.programs import Native, Program, packs
from formwright.measure.session import Batch, Session
from formwright.measure.tensors import Array
from formwright.measure.workload import Variant, Workload

SLACK_SECONDS = 300e-6
_LATE_SECONDS = 200e-6
_STRIKES = 4
"""Batches in a row after which a program went on computing: then it is refused."""
_LATE_TRIES = 24
"""Batches that are no strike because we came late ourselves: more than ``_LATE_SECONDS`` after
`done` a pool that waits actively looks like a thread that went on."""
PEER_SLACK = {"float32": 4 * 2.0**-24, "bfloat16": 4 * 2.0**-8, "float16": 4 * 2.0**-11}
"""Libraries may round between their steps; they are held to compute the same thing."""


class Slots:
    """The inputs that all programs of a measurement share, and what each slot holds.

    Only the parent writes to them. Inputs of index ``ahead`` change between rounds only, and are
    then packed anew; the others before each batch.
    """

    def __init__(self, workload: Workload, count: int, ahead: Sequence[int]) -> None:
        self.workload = workload
        self.layout = lay_out(workload.tensors, count, "spread", 1)
        self.memory = InputMemory(self.layout.input_bytes)
        self.ahead = tuple(ahead)
        inputs = range(len(workload.tensors) - 1)
        self.late = tuple(i for i in inputs if i not in self.ahead)
        self.variants: dict[int, Variant] = {}
        self.versions: dict[int, int] = {}

    def views(self, slot: int) -> list[Array]:
        """The inputs of a slot: writing to one is writing to the slot."""
        return [view_of(self.memory.bytes, block) for block in self.layout.blocks[slot][:-1]]

    def fill(self, slot: int) -> None:
        """Give a slot its first inputs. Bytes beside the elements hold NaN."""
        if slot in self.variants:
            return
        arrays, self.variants[slot] = self.workload.load(slot)
        self.versions[slot] = 0
        views = self.views(slot)
        for block, view, values in zip(self.layout.blocks[slot], views, arrays, strict=False):
            pages = slice(block.file_offset, block.file_offset + block.span)
            self.memory.bytes[pages] = 0xFF
            view[...] = values

    def change(self, slot: int, changed: Sequence[int], draw: Random) -> None:
        """Change these inputs of a slot in place."""
        if changed:
            now, seed = self.variants[slot], draw.getrandbits(63)
            self.variants[slot] = self.workload.vary(self.views(slot), now, changed, seed)

    def begin_round(self, draw: Random) -> None:
        """Change the inputs that are packed ahead, in half of the slots."""
        for slot in self.variants if self.ahead else ():
            if draw.random() < 0.5:
                self.change(slot, self.ahead, draw)
                self.versions[slot] += 1

    def close(self) -> None:
        """Give the memory back."""
        self.memory.close()


@dataclass(slots=True)
class Runner:
    """One program in its session, with the pairs of batches so far.

    ``packed`` is which version of a slot's inputs it has packed, ``before`` what a slot held when
    it was last judged, ``prepares`` the seconds of each packing. Before each batch caches are swept
    with a buffer of ``sweep_mebibytes``, unless that is 0.
    """

    program: Program
    session: Session
    slots: Slots
    largest: int = 2
    pairs: list[tuple[int, Batch, Batch]] = field(default_factory=list)
    repeated: int = 0
    packed: dict[int, int] = field(default_factory=dict)
    before: dict[int, Variant] = field(default_factory=dict)
    prepares: list[float] = field(default_factory=list)
    tails: list[float] = field(default_factory=list)
    tail_calls: int = 1
    sweep_mebibytes: int = 0


def run_batch(runner: Runner, order: Sequence[int], draw: Random) -> Batch:
    """A batch after which nothing went on. Raises ``MeasureError``.

    A baseline is not accused of computing behind the clock: it is a library that is trusted
    here, whose pool of threads waits actively for the next call.
    """
    if not isinstance(runner.program, Native):
        return one_batch(runner, order, draw)
    strikes = late = 0
    while True:
        batch = one_batch(runner, order, draw)
        lingering = went_on(batch, runner.program.threads)
        if lingering is None:
            return batch
        if lingering.window_seconds > _LATE_SECONDS and late < _LATE_TRIES:
            late += 1
            continue
        strikes += 1
        if strikes == _STRIKES:
            raise MeasureError(lingering)


def one_batch(runner: Runner, order: Sequence[int], draw: Random) -> Batch:
    """Change the inputs of the slots, run them, judge the outputs. Raises ``MeasureError``."""
    session, program, slots = runner.session, runner.program, runner.slots
    for slot in order:
        slots.fill(slot)
    if packs(program):
        _pack(runner, [s for s in order if runner.packed.get(s) != slots.versions[s]])
    for slot in order:
        # What is not packed ahead changes after packing: no product can be computed there.
        slots.change(slot, slots.late, draw)
        session.poison_output(slot, beside=False)
    if runner.sweep_mebibytes:
        swept = session.evict(runner.sweep_mebibytes)
        if not isinstance(swept, Batch):
            raise MeasureError(swept)
    batch = session.run(order)
    if not isinstance(batch, Batch):
        raise MeasureError(batch)
    if isinstance(program, Native):
        check_busy(batch, program.threads)
        judge_outputs(runner, order)
    elif order:
        # A library is trusted to do the same thing in each call of a batch; an output that it
        # made itself is there for the last call only.
        delivered = session.deliver()
        if not isinstance(delivered, Batch):
            raise MeasureError(delivered)
        judge_outputs(runner, order[-1:])
    return batch


def _pack(runner: Runner, stale: Sequence[int]) -> None:
    if not stale:
        return
    prepared = runner.session.prepare(stale)
    if not isinstance(prepared, Batch):
        raise MeasureError(prepared)
    runner.prepares.append(prepared.wall_seconds / len(stale))
    runner.packed |= {slot: runner.slots.versions[slot] for slot in stale}


def judge_outputs(runner: Runner, owed: Sequence[int]) -> None:
    session, slots = runner.session, runner.slots
    workload = slots.workload
    peer = not isinstance(runner.program, Native)
    slack = PEER_SLACK.get(workload.tensors[-1].dtype, 0.0) if peer else 0.0
    for slot in owed:
        variant, before = slots.variants[slot], runner.before.get(slot)
        runner.before[slot] = variant
        if workload.right(variant, session.view(-1, slot), slack):
            continue
        expected, tolerance = workload.expected(variant)
        if slack and expected.size:
            tolerance = 8 * tolerance + slack * abs(expected).max()
        earlier = None if before is None else workload.expected(before)[0]
        outcome = session.judge(expected, tolerance, slot, earlier)
        if not isinstance(outcome, Ok):
            raise MeasureError(outcome)


def check_busy(batch: Batch, threads: int) -> None:
    """Raise when more threads wanted cores than the program was given. See ``Overdrawn``."""
    busy = batch.cpu_seconds + (max(batch.queue_seconds, 0.0) if batch.rested else 0.0)
    if busy > (batch.held_seconds + SLACK_SECONDS) * threads * 1.005:
        raise MeasureError(Overdrawn(busy, batch.held_seconds, threads))


def went_on(batch: Batch, threads: int) -> Lingering | None:
    """Whether more went on computing after `done` than the threads of a pool that wait actively.

    The kernel's figure at `done` can be older than it should be when a thread is just leaving its
    core, so one such batch is no proof; see ``_STRIKES``.
    """
    gap = batch.held_seconds - batch.wall_seconds
    late = min(batch.late_seconds, threads * gap)
    return Lingering(late, gap) if late > (threads - 1) * gap + _LATE_SECONDS else None
