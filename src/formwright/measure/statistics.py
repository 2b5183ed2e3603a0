"""What is said of repeated timings: medians, bootstrap intervals, ratios paired by round."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with a 95 % bootstrap interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one program: ``seconds`` of a call; the rest covers both batches of the round.

    ``queue_seconds`` is how long its threads waited for a core while they could have run.
    """

    round: int
    seconds: float
    calls: int
    wall_seconds: float
    cpu_seconds: float
    queue_seconds: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """The timings of one program, in seconds of a call.

    ``overhead_seconds`` is the cost of one batch that was taken off (waking the child up), and
    ``repeated`` how many batches were run again because the machine was busy with other things.
    ``level`` is how far the child was confined.
    """

    samples: tuple[Sample, ...]
    seconds: Interval
    overhead_seconds: float
    repeated: int
    threads: int
    slots: int
    level: str

    @property
    def median(self) -> float:
        """Median seconds of a call."""
        return self.seconds.median

    @property
    def queue_share(self) -> float:
        """The share of wall time that its threads waited for a core."""
        wall = sum(s.wall_seconds for s in self.samples)
        return sum(s.queue_seconds for s in self.samples) / wall if wall else 0.0


def median_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The median of ``values`` and a bootstrap interval for it."""
    if not values:
        raise ValueError("no values")
    data = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    medians = np.median(data[rng.integers(data.size, size=(RESAMPLES, data.size))], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(data)), float(low), float(high))


def paired_ratios(slower: Distribution, faster: Distribution) -> tuple[float, ...]:
    """``slower / faster`` for each round that both have: the speed-up of the second."""
    others = {s.round: s.seconds for s in faster.samples}
    return tuple(s.seconds / others[s.round] for s in slower.samples if s.round in others)


def ratio(slower: Distribution, faster: Distribution, seed: int = 0) -> Interval:
    """The median of the paired ratios with its interval: above 1, the second is faster."""
    return median_interval(paired_ratios(slower, faster), seed)
