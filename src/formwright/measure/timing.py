"""The timing protocol that candidates and baselines share.

In each round every program runs two batches of calls, in an order drawn anew; how many calls a
batch has and the order of its slots are drawn too, and sent to the child with the word to go. No
slot is used twice in a batch, since a kernel that knows its last inputs could skip the second
call. The clock is the parent's; on `done` the child is stopped, its CPU time read, every output
that it owed compared, and its inputs changed in place.

The time of a call is ``(T1 + T2 - 2 c) / (n1 + n2)``, where ``c`` is what a batch costs by itself:
the median over the rounds of the intercept of the line through ``(n1, T1)`` and ``(n2, T2)``, held
within 200 us so that no kernel can gain more than that by it. It is the slope with less noise.
Where a batch is one call (cold caches, calls of a quarter of a second) the other batch is empty.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from random import Random

from formwright.measure.batches import SLACK_SECONDS, Runner, Slots, run_batch
from formwright.measure.layout import slot_bytes
from formwright.measure.outcome import Failure, Lingering, MeasureError
from formwright.measure.plan import Plan
from formwright.measure.programs import Native, Program
from formwright.measure.session import Batch, Session, default_cores
from formwright.measure.statistics import (
    Distribution,
    Sample,
    clear,
    median_interval,
    ratio,
    tail_of,
)
from formwright.measure.workload import Workload

__all__ = ["Plan", "Progress", "Result", "measure_interleaved"]

MAX_OVERHEAD_SECONDS = 200e-6
_WINDOW_SECONDS = 0.005
_BUSY_SHARE = 0.05
_LEAST_SHARE = 0.01
"""Of the time of a batch that is the calls' at least: no call takes no time."""
_EXTRA_TRIES = 2
_WARM_UPS = 5
_LONG_SECONDS = 0.25
"""A call of this length is a batch of its own: what a batch costs does not show in it."""
_TAIL_SECONDS = 1e-3
"""The length of the short batches for tails: waking the child up must not be all that they show."""
_PEEKING = 0.99
"""Confidence of the intervals that decide whether to stop, since they are looked at repeatedly."""

Progress = Callable[[int, int], None]
Result = Distribution | Failure


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
    room = plan.memory_bytes // max(1, slot_bytes(workload.tensors))
    names = [t.name for t in workload.tensors[:-1]]
    packed = {name for program in programs.values() for name in program.ahead}
    ahead = [i for i, name in enumerate(names) if name in packed]
    with ExitStack() as stack:
        slots = Slots(workload, max(2, min(room, plan.slots)), ahead)
        stack.callback(slots.close)
        runners: dict[str, Runner] = {}
        for name, program in programs.items():
            try:
                session = stack.enter_context(_open(program, slots, plan))
            except MeasureError as error:
                results[name] = error.outcome
                continue
            sweep = plan.sweep_mebibytes if plan.caches == "cold" else 0
            runners[name] = Runner(program, session, slots, sweep_mebibytes=sweep)
            _attempt(name, runners, results, partial(_warm_up, plan, draw))
        _rounds(next(iter(programs), ""), runners, results, plan, draw, progress)
        _tails(runners, results, plan, draw)
        results |= {name: _distribution(runner) for name, runner in runners.items()}
    return {name: results[name] for name in programs}


def _rounds(
    first: str,
    runners: dict[str, Runner],
    results: dict[str, Result],
    plan: Plan,
    draw: Random,
    progress: Progress | None,
) -> None:
    """Rounds until they are done, the time is up, or the answer is clear."""
    begun = time.monotonic()
    for number in range(plan.rounds):
        late = time.monotonic() - begun > plan.seconds
        if number >= plan.least_rounds and (late or _clear(first, runners, plan)):
            break
        for runner in runners.values():
            runner.slots.begin_round(draw)
            break
        running = _running(runners, plan)
        for name in _shuffled(running, draw):
            _attempt(name, runners, results, partial(_round, plan, draw, number))
        if progress:
            progress(number + 1, plan.rounds)


def _tails(
    runners: dict[str, Runner], results: dict[str, Result], plan: Plan, draw: Random
) -> None:
    """Short batches of each in turn, until they are done or the time is up."""
    begun = time.monotonic()
    for number in range(plan.tails):
        if number >= plan.least_tails and time.monotonic() - begun > plan.tail_seconds:
            break
        for name in _shuffled(runners, draw):
            _attempt(name, runners, results, partial(_tail, plan, draw))


def _shuffled(runners: Mapping[str, Runner], draw: Random) -> list[str]:
    names = list(runners)
    draw.shuffle(names)
    return names


def _running(runners: Mapping[str, Runner], plan: Plan) -> dict[str, Runner]:
    """Those that are not hopelessly slow."""
    if plan.hopeless is None:
        return dict(runners)
    least = {n: min(_seconds(r), default=math.inf) for n, r in runners.items()}
    best = min(least.values(), default=0.0)
    return {
        n: r for n, r in runners.items() if len(r.pairs) < 2 or least[n] <= plan.hopeless * best
    }


def _seconds(runner: Runner) -> list[float]:
    return [(a.wall_seconds + b.wall_seconds) / (a.calls + b.calls) for _, a, b in runner.pairs]


def _clear(first: str, runners: Mapping[str, Runner], plan: Plan) -> bool:
    """Whether every other program's ratio to the first one is beyond doubt."""
    if plan.target is None or first not in runners:
        return False
    ours = _distribution(runners[first])
    target, margin = plan.target, plan.margin
    others = (_distribution(r) for n, r in runners.items() if n != first)
    return all(clear(ratio(o, ours, confidence=_PEEKING), target, margin) for o in others)


def _open(program: Program, slots: Slots, plan: Plan) -> Session:
    return Session(
        program,
        slots.workload.tensors,
        slots.workload.extents,
        slots=len(slots.layout.blocks),
        placement="spread",
        cores=default_cores(program.threads),
        sandbox=plan.sandbox,
        poison_scratch=False,
        memory=slots.memory,
    )


def _attempt(
    name: str,
    runners: dict[str, Runner],
    results: dict[str, Result],
    step: Callable[[Runner], None],
) -> None:
    """Do one step of a program; its failure takes it out of the race and out of memory."""
    try:
        step(runners[name])
    except MeasureError as error:
        results[name] = error.outcome
        runners.pop(name).session.close()


def _warm_up(plan: Plan, draw: Random, runner: Runner) -> None:
    """Find how many calls fill a batch, touch every slot, look for threads left running."""
    slots = len(runner.session.layout.blocks)
    touched = 0
    quickest = float("inf")
    for _ in range(_WARM_UPS):
        if touched < runner.largest:
            first = run_batch(runner, range(touched, runner.largest), draw)
            touched = runner.largest
            if first.wall_seconds / first.calls > _LONG_SECONDS:
                runner.largest = 1
                break
        if plan.caches == "cold":
            runner.largest = touched = min(slots, 8)
            break
        batch = run_batch(runner, range(runner.largest), draw)
        quickest = min(quickest, batch.wall_seconds / batch.calls)
        wanted = round(plan.batch_seconds / quickest)
        if wanted <= runner.largest:
            break
        runner.largest = max(2, min(slots, wanted))
    if touched < runner.largest:
        run_batch(runner, range(touched, runner.largest), draw)
    if isinstance(runner.program, Native):
        _check_lingering(runner)


def _check_lingering(runner: Runner) -> None:
    used = runner.session.linger(_WINDOW_SECONDS)
    # Workers of a thread pool may wait actively for the next call; the calling thread may not.
    allowed = (runner.program.threads - 1) * _WINDOW_SECONDS * 1.2 + SLACK_SECONDS
    if used > allowed:
        raise MeasureError(Lingering(used, _WINDOW_SECONDS))


def _round(plan: Plan, draw: Random, number: int, runner: Runner) -> None:
    """Two batches of two secret sizes; again when other work held the child up."""
    top = runner.largest
    best: tuple[float, Batch, Batch] | None = None
    for attempt in range(1 + _EXTRA_TRIES):
        if plan.caches == "cold" or top == 1:
            pair = _single(draw, runner)
        else:
            pair = _two(draw, runner, top)
        wall = sum(b.wall_seconds for b in pair) * runner.program.threads
        busy = sum(b.queue_seconds for b in pair) / wall
        if best is None or busy < best[0]:
            best = (busy, *pair)
        # On a machine that is always busy, trying again finds no better moment.
        worthless = pair[1].wall_seconds > _LONG_SECONDS or runner.repeated > plan.rounds
        if busy <= _BUSY_SHARE or worthless:
            break
        runner.repeated += attempt < _EXTRA_TRIES
    if best is not None:
        runner.pairs.append((number, best[1], best[2]))
    if isinstance(runner.program, Native) and draw.random() < 0.2:
        _check_lingering(runner)


def _two(draw: Random, runner: Runner, top: int) -> tuple[Batch, Batch]:
    small = draw.randint(max(1, top // 4), max(1, top // 2))
    large = draw.randint(max(small + 1, top * 3 // 4), top)
    sizes = [small, large]
    draw.shuffle(sizes)
    done = {size: run_batch(runner, draw.sample(range(top), size), draw) for size in sizes}
    return done[small], done[large]


def _single(draw: Random, runner: Runner) -> tuple[Batch, Batch]:
    """An empty batch and one of one call."""
    empty = run_batch(runner, (), draw)
    slots = max(2, runner.largest)
    return empty, run_batch(runner, (draw.randrange(slots),), draw)


def _tail(plan: Plan, draw: Random, runner: Runner) -> None:
    """One short batch, by itself."""
    calls = runner.tail_calls = _tail_calls(plan, runner)
    batch = run_batch(runner, draw.sample(range(max(2, runner.largest)), calls), draw)
    runner.tails.append(max(batch.wall_seconds - _overhead(runner), 0.0) / calls)


def _tail_calls(plan: Plan, runner: Runner) -> int:
    if plan.caches == "cold":
        return 1
    usual = statistics.median(_seconds(runner))
    return max(1, min(runner.largest, math.ceil(_TAIL_SECONDS / max(usual, 1e-9))))


def _overhead(runner: Runner) -> float:
    """What a batch costs by itself, in seconds."""
    intercepts = [
        (a.wall_seconds * b.calls - b.wall_seconds * a.calls) / (b.calls - a.calls)
        for _, a, b in runner.pairs
    ]
    return min(max(statistics.median(intercepts), 0.0), MAX_OVERHEAD_SECONDS)


def _call_seconds(a: Batch, b: Batch, overhead: float) -> float:
    """Seconds of a call in a pair of batches; an empty one says only what a batch costs."""
    batches = [batch for batch in (a, b) if batch.calls]
    wall = sum(batch.wall_seconds for batch in batches)
    # What is taken off is a median: under load it can be more than a short batch took.
    left = max(wall - overhead * len(batches), wall * _LEAST_SHARE)
    return left / sum(batch.calls for batch in batches)


def _distribution(runner: Runner) -> Distribution:
    """Take the cost of a batch off, and sum up."""
    overhead = _overhead(runner)
    samples = tuple(
        Sample(
            number,
            _call_seconds(a, b, overhead),
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
        statistics.median(runner.prepares) if runner.prepares else None,
        tail_of(runner.tails, runner.tail_calls) if runner.tails else None,
        runner.session.way,
        runner.session.memory_bytes,
    )
