"""Calls a second with every core at work: independent calls of one thread each, all at once.

Time alone says nothing of it: cores share the last cache and memory, so two calls side by side can
take longer than one. Each core has a child of its own with inputs of its own.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random

from formwright.measure.batches import Runner, Slots, check_busy, judge_outputs
from formwright.measure.layout import slot_bytes
from formwright.measure.outcome import Failure, MeasureError
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.session import Batch, Session
from formwright.measure.statistics import Interval, median_interval
from formwright.measure.workload import Workload


@dataclass(frozen=True, slots=True)
class Throughput:
    """Calls a second of all ``cores`` together; ``rounds`` are the single figures."""

    calls_per_second: Interval
    rounds: tuple[float, ...]
    cores: int


def throughput(
    program: Native, workload: Workload, cores: Sequence[int], *, seed: int, plan: Plan
) -> Throughput | Failure:
    """The rate of ``program`` (one thread) on ``cores``, over ``plan.rounds`` rounds.

    A round lasts about ``plan.batch_seconds``; its rate is the calls of all cores over the time
    from the first start to the last end. Outputs are judged after each round.
    """
    if program.threads != 1:
        raise ValueError("independent calls have one thread each")
    if program.ahead:
        raise ValueError("inputs packed ahead are not timed on all cores at once")
    draw = Random(seed)
    room = plan.memory_bytes // (len(cores) * max(1, slot_bytes(workload.tensors)))
    count = max(2, min(room, plan.slots))
    with ExitStack() as stack:
        try:
            runners = [_open(program, workload, core, count, plan, stack) for core in cores]
            pool = stack.enter_context(ThreadPoolExecutor(len(cores)))
            for _ in range(3):
                span, calls = _round(runners, count, pool, draw)
            repeats = max(1, round(plan.batch_seconds * calls / span / (count * len(cores))))
            rates = []
            for _ in range(plan.rounds):
                parts = [_round(runners, count, pool, draw) for _ in range(repeats)]
                rates.append(sum(c for _, c in parts) / sum(s for s, _ in parts))
        except MeasureError as error:
            return error.outcome
    return Throughput(median_interval(rates), tuple(rates), len(cores))


def _open(
    program: Native, workload: Workload, core: int, count: int, plan: Plan, stack: ExitStack
) -> Runner:
    slots = Slots(workload, count, ())
    stack.callback(slots.close)
    for slot in range(count):
        slots.fill(slot)
    session = Session(
        program,
        workload.tensors,
        workload.extents,
        slots=count,
        placement="spread",
        cores=(core,),
        sandbox=plan.sandbox,
        poison_scratch=False,
        memory=slots.memory,
    )
    return Runner(program, stack.enter_context(session), slots)


def _round(
    runners: Sequence[Runner], count: int, pool: ThreadPoolExecutor, draw: Random
) -> tuple[float, int]:
    """Seconds from the first start to the last end, and calls. Raises ``MeasureError``."""
    order = list(range(count))
    for runner in runners:
        for slot in order:
            runner.slots.change(slot, runner.slots.late, draw)
            runner.session.poison_output(slot, beside=False)
    draw.shuffle(order)
    start = time.perf_counter()
    ends = list(pool.map(lambda r: _timed(r.session, order), runners))
    for runner, (batch, _) in zip(runners, ends, strict=True):
        check_busy(batch, 1)
        judge_outputs(runner, order)
    return max(end for _, end in ends) - start, len(order) * len(runners)


def _timed(session: Session, order: Sequence[int]) -> tuple[Batch, float]:
    batch = session.run(order)
    # Stopping the child and reading its counters come after `done` and are no part of the work.
    end = time.perf_counter()
    if not isinstance(batch, Batch):
        raise MeasureError(batch)
    return batch, end - (batch.held_seconds - batch.wall_seconds)
