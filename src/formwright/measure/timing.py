"""The timing protocol that candidates and baselines share.

In each round every program runs two batches of calls, in an order drawn anew; how many calls a
batch has and the order of its slots are drawn too, and sent to the child with the word to go. No
slot is used twice in a batch, since a kernel that knows its last inputs could skip the second
call. The clock is the parent's; on `done` the child is stopped, its CPU time read, every output
that it owed compared, and its inputs changed in place.

The time of a call is ``(T1 + T2 - 2 c) / (n1 + n2)``, where ``c`` is what a batch costs by itself:
the median over the rounds of the intercept of the line through ``(n1, T1)`` and ``(n2, T2)``, held
within 200 us so that no kernel can gain more than that by it. It is the slope with less noise.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from random import Random

from formwright.measure.layout import slot_bytes
from formwright.measure.outcome import Failure, Lingering, MeasureError, Ok, Overdrawn
from formwright.measure.programs import Native, Program
from formwright.measure.sandbox import Sandbox
from formwright.measure.session import Batch, Session, default_cores
from formwright.measure.statistics import Distribution, Sample, median_interval
from formwright.measure.workload import Variant, Workload

MAX_OVERHEAD_SECONDS = 200e-6
_SLACK_SECONDS = 300e-6
_LATE_SECONDS = 200e-6
_STRIKES = 4
"""Batches in a row after which a program went on computing: then it is refused."""
_LATE_TRIES = 24
"""Batches that are no strike because we came late ourselves: more than ``_LATE_SECONDS`` after
`done` a pool that waits actively looks like a thread that went on."""
_WINDOW_SECONDS = 0.005
_BUSY_SHARE = 0.05
_EXTRA_TRIES = 2
_WARM_UPS = 5

Progress = Callable[[int, int], None]
Result = Distribution | Failure


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how much: ``batch_seconds`` of a large batch, memory and slots of a program.

    ``seconds`` bounds the rounds together: none is begun after it once ``least_rounds`` are
    done, so that large products do not take minutes for a precision that nobody needs.
    """

    rounds: int = 15
    least_rounds: int = 5
    seconds: float = 60.0
    batch_seconds: float = 0.02
    memory_bytes: int = 256 << 20
    slots: int = 256
    sandbox: Sandbox = field(default_factory=Sandbox)


@dataclass(slots=True)
class _Runner:
    """One program in its session, with what each slot holds and the pairs of batches so far."""

    program: Program
    session: Session
    variants: dict[int, Variant]
    largest: int = 2
    pairs: list[tuple[int, Batch, Batch]] = field(default_factory=list)
    repeated: int = 0


def measure_interleaved(
    programs: Mapping[str, Program],
    workload: Workload,
    *,
    seed: int,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Time ``programs`` against each other on ``workload``; every name gets a result.

    A program that crashes, hangs, computes something wrong or cheats gets its failure, one that is
    not installed is ``Refused``; the others go on. ``progress`` is told rounds done and to do.
    """
    plan = plan or Plan()
    draw = Random(seed)
    results: dict[str, Result] = {}
    with ExitStack() as stack:
        runners: dict[str, _Runner] = {}
        for name, program in programs.items():
            try:
                session = stack.enter_context(_open(program, workload, plan))
            except MeasureError as error:
                results[name] = error.outcome
                continue
            runners[name] = _Runner(program, session, {})
            _attempt(name, runners, results, partial(_warm_up, workload, plan, draw))
        begun = time.monotonic()
        for number in range(plan.rounds):
            if number >= plan.least_rounds and time.monotonic() - begun > plan.seconds:
                break
            names = list(runners)
            draw.shuffle(names)
            for name in names:
                _attempt(name, runners, results, partial(_round, workload, draw, number))
            if progress:
                progress(number + 1, plan.rounds)
        results |= {name: _distribution(runner) for name, runner in runners.items()}
    return {name: results[name] for name in programs}


def _open(program: Program, workload: Workload, plan: Plan) -> Session:
    room = plan.memory_bytes // max(1, slot_bytes(workload.tensors))
    return Session(
        program,
        workload.tensors,
        workload.extents,
        slots=max(2, min(room, plan.slots)),
        placement="spread",
        cores=default_cores(program.threads),
        sandbox=plan.sandbox,
        poison_scratch=False,
    )


def _attempt(
    name: str,
    runners: dict[str, _Runner],
    results: dict[str, Result],
    step: Callable[[_Runner], None],
) -> None:
    """Do one step of a program; its failure takes it out of the race and out of memory."""
    try:
        step(runners[name])
    except MeasureError as error:
        results[name] = error.outcome
        runners.pop(name).session.close()


def _warm_up(workload: Workload, plan: Plan, draw: Random, runner: _Runner) -> None:
    """Find how many calls fill a batch, touch every slot, look for threads left running."""
    slots = len(runner.session.layout.blocks)
    quickest = float("inf")
    for _ in range(_WARM_UPS):
        fresh = range(len(runner.variants), runner.largest)
        if fresh:
            _batch(runner, workload, fresh, draw)
        batch = _batch(runner, workload, range(runner.largest), draw)
        quickest = min(quickest, batch.wall_seconds / batch.calls)
        wanted = round(plan.batch_seconds / quickest)
        if wanted <= runner.largest:
            break
        runner.largest = max(2, min(slots, wanted))
    fresh = range(len(runner.variants), runner.largest)
    if fresh:
        _batch(runner, workload, fresh, draw)
    if isinstance(runner.program, Native):
        _check_lingering(runner)


def _check_lingering(runner: _Runner) -> None:
    used = runner.session.linger(_WINDOW_SECONDS)
    # Workers of a thread pool may wait actively for the next call; the calling thread may not.
    allowed = (runner.program.threads - 1) * _WINDOW_SECONDS * 1.2 + _SLACK_SECONDS
    if used > allowed:
        raise MeasureError(Lingering(used, _WINDOW_SECONDS))


def _round(workload: Workload, draw: Random, number: int, runner: _Runner) -> None:
    """Two batches of two secret sizes; again when other work held the child up."""
    top = runner.largest
    best: tuple[float, Batch, Batch] | None = None
    for attempt in range(1 + _EXTRA_TRIES):
        small = draw.randint(max(1, top // 4), max(1, top // 2))
        large = draw.randint(max(small + 1, top * 3 // 4), top)
        sizes = [small, large]
        draw.shuffle(sizes)
        done = {}
        for size in sizes:
            done[size] = _batch(runner, workload, draw.sample(range(top), size), draw)
        pair = (done[small], done[large])
        wall = sum(b.wall_seconds for b in pair) * runner.program.threads
        busy = sum(b.queue_seconds for b in pair) / wall
        if best is None or busy < best[0]:
            best = (busy, *pair)
        if busy <= _BUSY_SHARE:
            break
        runner.repeated += attempt < _EXTRA_TRIES
    if best is not None:
        runner.pairs.append((number, best[1], best[2]))
    if isinstance(runner.program, Native) and draw.random() < 0.2:
        _check_lingering(runner)


def _batch(runner: _Runner, workload: Workload, order: Sequence[int], draw: Random) -> Batch:
    """A batch after which nothing went on. Raises ``MeasureError``.

    A baseline is not accused of computing behind the clock: it is a library that is trusted
    here, whose pool of threads waits actively for the next call.
    """
    if not isinstance(runner.program, Native):
        return _one_batch(runner, workload, order, draw)
    strikes = late = 0
    while True:
        batch = _one_batch(runner, workload, order, draw)
        lingering = went_on(batch, runner.program.threads)
        if lingering is None:
            return batch
        if lingering.window_seconds > _LATE_SECONDS and late < _LATE_TRIES:
            late += 1
            continue
        strikes += 1
        if strikes == _STRIKES:
            raise MeasureError(lingering)


def _one_batch(runner: _Runner, workload: Workload, order: Sequence[int], draw: Random) -> Batch:
    """Change the inputs of the slots, run them, judge every output. Raises ``MeasureError``."""
    session, program = runner.session, runner.program
    inputs = [t.name for t in workload.tensors if not t.output]
    ahead = [i for i, name in enumerate(inputs) if name in program.ahead]
    late = [i for i in range(len(inputs)) if i not in ahead]
    for slot in order:
        if slot not in runner.variants:
            arrays, runner.variants[slot] = workload.load(slot)
            session.load(arrays, slot)
        _vary(runner, workload, slot, ahead, draw)
    if ahead:
        prepared = session.prepare(order)
        if not isinstance(prepared, Batch):
            raise MeasureError(prepared)
    for slot in order:
        # What is not packed ahead changes after packing: no product can be computed there.
        _vary(runner, workload, slot, late, draw)
        session.poison_output(slot, beside=False)
    batch = session.run(order)
    if not isinstance(batch, Batch):
        raise MeasureError(batch)
    if isinstance(program, Native):
        check_busy(batch, program.threads)
    for slot in order:
        outcome = session.judge(*workload.expected(runner.variants[slot]), slot)
        if not isinstance(outcome, Ok):
            raise MeasureError(outcome)
    return batch


def check_busy(batch: Batch, threads: int) -> None:
    """Raise when more threads wanted cores than the program was given. See ``Overdrawn``."""
    busy = batch.cpu_seconds + (max(batch.queue_seconds, 0.0) if batch.rested else 0.0)
    if busy > (batch.held_seconds + _SLACK_SECONDS) * threads * 1.005:
        raise MeasureError(Overdrawn(busy, batch.held_seconds, threads))


def went_on(batch: Batch, threads: int) -> Lingering | None:
    """Whether more went on computing after `done` than the threads of a pool that wait actively.

    The kernel's figure at `done` can be older than it should be when a thread is just leaving its
    core, so one such batch is no proof; see ``_STRIKES``.
    """
    gap = batch.held_seconds - batch.wall_seconds
    late = min(batch.late_seconds, threads * gap)
    return Lingering(late, gap) if late > (threads - 1) * gap + _LATE_SECONDS else None


def _vary(
    runner: _Runner, workload: Workload, slot: int, changed: Sequence[int], draw: Random
) -> None:
    if changed:
        count = len(workload.tensors) - 1
        views = [runner.session.view(index, slot) for index in range(count)]
        variant = runner.variants[slot]
        runner.variants[slot] = workload.vary(views, variant, changed, draw.getrandbits(63))


def _distribution(runner: _Runner) -> Distribution:
    """Take the cost of a batch off, and sum up."""
    intercepts = [
        (a.wall_seconds * b.calls - b.wall_seconds * a.calls) / (b.calls - a.calls)
        for _, a, b in runner.pairs
    ]
    overhead = min(max(statistics.median(intercepts), 0.0), MAX_OVERHEAD_SECONDS)
    samples = tuple(
        Sample(
            number,
            max(a.wall_seconds + b.wall_seconds - 2 * overhead, 0.0) / (a.calls + b.calls),
            a.calls + b.calls,
            a.wall_seconds + b.wall_seconds,
            a.cpu_seconds + b.cpu_seconds,
            a.queue_seconds + b.queue_seconds,
        )
        for number, a, b in runner.pairs
    )
    return Distribution(
        samples,
        median_interval([s.seconds for s in samples]),
        overhead,
        runner.repeated,
        runner.program.threads,
        runner.largest,
        runner.session.level.name.lower(),
    )
