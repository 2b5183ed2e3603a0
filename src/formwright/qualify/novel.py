"""Calls on inputs that a timed program has never met, held against what it was timed at.

Timed batches change their inputs by the contract's symmetries, which costs little and needs no
new reference. A kernel that keeps what it saw and knows its slices again, whatever their order
and sign, could answer from memory there and be right everywhere. Here every input is drawn
anew: what a call then takes more is what it had kept.
"""

import math
import statistics
from collections.abc import Callable
from random import Random
from typing import Final

from formwright.measure.batches import check_busy
from formwright.measure.outcome import Failure, MeasureError, Ok, Remembered
from formwright.measure.programs import Native
from formwright.measure.sandbox import Sandbox
from formwright.measure.session import Batch, Session
from formwright.measure.statistics import Distribution
from formwright.measure.tensors import Array, Case, Tensor

FACTOR: Final = 1.5
"""How much longer a call may take on new inputs: what a memory could gain at most."""
ROUNDS: Final = 8
"""Batches, until one is quick enough; other work on the machine rarely slows all of them."""
LEAST_ROUNDS: Final = 2
BATCH_SECONDS: Final = 0.004
SLACK_SECONDS: Final = 100e-6
"""For a batch: waking the child varies by about as much."""
MOST_SLOTS: Final = 64
MOST_ELEMENTS: Final = 1 << 21
"""Drawn for a batch, unless one call needs more."""
JUDGED: Final = 2
"""Outputs of each batch, secret ones, that are held against a reference."""
MOST_CALLS: Final = 512
MOST_SECONDS: Final = 0.2
"""Calls before the sharp kinds: about as many as a timing makes, where they are short."""
SHARP: Final = ("few", "sparse_rows", "sparse_columns", "one_hot")
"""Kinds whose bound admits no arithmetic in fewer bits, where the family has them."""

Draw = Callable[[str, int], tuple[Array, ...]]
"""Inputs of a kind from a seed."""
Refer = Callable[[str, tuple[Array, ...], int], Case]
"""Inputs of a kind with a reference of some cells, chosen by a seed."""


def remembered(
    program: Native,
    tensors: tuple[Tensor, ...],
    sizes: tuple[int, ...],
    usual: Distribution,
    draw: Draw,
    refer: Refer,
    kinds: tuple[str, ...],
    *,
    ahead: tuple[int, ...],
    seed: int,
    sandbox: Sandbox,
) -> Failure | None:
    """Why the ``usual`` times are not those of new inputs; ``None`` when they are.

    A process of its own, as a timing's: nothing in it says which of the two it is. Outputs
    are judged, so that what is new cannot be answered with anything. At last the sharp kinds
    are asked, of a process that has had many calls, on nothing that a validation prepares.
    """
    elements = sum(math.prod(t.shape) for t in tensors)
    wanted = math.ceil(BATCH_SECONDS / max(usual.median, 1e-9))
    slots = max(1, min(MOST_SLOTS, wanted, MOST_ELEMENTS // max(1, elements)))
    random = Random(seed)
    try:
        with Session(
            program,
            tensors,
            sizes,
            slots=slots,
            placement="spread",
            sandbox=sandbox,
            poison_scratch=False,
        ) as session:
            least = math.inf
            for number in range(ROUNDS):
                batch = _batch(session, program, "normal", draw, refer, ahead, slots, random)
                least = min(least, _longer(batch, usual))
                if least <= FACTOR and number + 1 >= LEAST_ROUNDS:
                    break
            if least > FACTOR:
                return Remembered(least)
            for _ in range(min(MOST_CALLS, int(MOST_SECONDS / usual.median)) // slots):
                _done(session.run(range(slots)))
            for kind in SHARP:
                if kind in kinds:
                    _batch(session, program, kind, draw, refer, ahead, 1, random)
    except MeasureError as error:
        return error.outcome
    return None


def _batch(
    session: Session,
    program: Native,
    kind: str,
    draw: Draw,
    refer: Refer,
    ahead: tuple[int, ...],
    slots: int,
    random: Random,
) -> Batch:
    """New inputs in each slot, a batch of all of them, some outputs judged."""
    held: list[tuple[Array, ...]] = []
    for slot in range(slots):
        held.append(draw(kind, random.getrandbits(53)))
        session.load(held[slot], slot)
    if ahead:
        _done(session.prepare(range(slots)))
        for slot in range(slots):
            # Only what is packed ahead may be known when it is packed.
            late = draw(kind, random.getrandbits(53))
            held[slot] = tuple(held[slot][i] if i in ahead else a for i, a in enumerate(late))
            session.load(held[slot], slot)
    batch = _done(session.run(random.sample(range(slots), slots)))
    check_busy(batch, program.threads)
    for slot in random.sample(range(slots), min(slots, JUDGED)):
        case = refer(kind, held[slot], random.getrandbits(53))
        outcome = session.judge(case.expected, case.tolerance, slot)
        if not isinstance(outcome, Ok):
            raise MeasureError(outcome)
    return batch


def _done(batch: Batch | Failure) -> Batch:
    if not isinstance(batch, Batch):
        raise MeasureError(batch)
    return batch


def _longer(batch: Batch, usual: Distribution) -> float:
    """How many times longer its calls took than usual, by the clock or by CPU time: the less."""
    wall = batch.wall_seconds - usual.overhead_seconds - SLACK_SECONDS
    cpu = statistics.median(s.cpu_seconds / s.calls for s in usual.samples if s.calls)
    ratios = [wall / batch.calls / usual.median]
    if cpu > 0:
        ratios.append((batch.cpu_seconds - SLACK_SECONDS) / batch.calls / cpu)
    return min(ratios)
