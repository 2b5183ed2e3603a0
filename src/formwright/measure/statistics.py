"""What is said of repeated timings: medians, bootstrap intervals, ratios paired by round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
class Tail:
    """Seconds of a call in ``batches`` short batches of ``calls`` each: the slow ones.

    A percentile of the means of a few calls, timed over a socket: it holds for comparing
    programs that were timed in turn, and is no bound on a single call.
    """

    batches: int
    calls: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """The timings of one program, in seconds of a call.

    ``overhead_seconds`` is the cost of one batch that was taken off (waking the child up), and
    ``repeated`` how many batches were run again because the machine was busy with other things.
    ``level`` is how far the child was confined. ``prepare_seconds`` is what packing the inputs
    of one call ahead took, outside the clock; ``way`` is how a library was called. A library of
    ours says how much memory a call needs beside its tensors: scratch, and inputs packed ahead.
    """

    samples: tuple[Sample, ...]
    seconds: Interval
    overhead_seconds: float
    repeated: int
    threads: int
    slots: int
    level: str
    prepare_seconds: float | None = None
    tail: Tail | None = None
    way: str = ""
    memory_bytes: int | None = None

    @property
    def median(self) -> float:
        """Median seconds of a call."""
        return self.seconds.median

    @property
    def queue_share(self) -> float:
        """The share of wall time that its threads waited for a core."""
        wall = sum(s.wall_seconds for s in self.samples)
        return sum(s.queue_seconds for s in self.samples) / wall if wall else 0.0


def median_interval(
    values: Sequence[float], seed: int = 0, confidence: float = CONFIDENCE
) -> Interval:
    """The median of ``values`` and a bootstrap interval for it."""
    if not values:
        raise ValueError("no values")
    data = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    medians = np.median(data[rng.integers(data.size, size=(RESAMPLES, data.size))], axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(data)), float(low), float(high))


def paired_ratios(slower: Distribution, faster: Distribution) -> tuple[float, ...]:
    """``slower / faster`` for each round that both have: the speed-up of the second."""
    return paired(
        {s.round: s.seconds for s in slower.samples}, {s.round: s.seconds for s in faster.samples}
    )


def paired(slower: Mapping[int, float], faster: Mapping[int, float]) -> tuple[float, ...]:
    """Ratios of two programs' seconds by round, of the rounds that both have."""
    return tuple(seconds / faster[at] for at, seconds in slower.items() if at in faster)


def ratio(
    slower: Distribution, faster: Distribution, seed: int = 0, confidence: float = CONFIDENCE
) -> Interval:
    """The median of the paired ratios with its interval: above 1, the second is faster."""
    return median_interval(paired_ratios(slower, faster), seed, confidence)


def tail_of(seconds: Sequence[float], calls: int) -> Tail:
    """The tail of batches of ``calls`` calls, from the seconds of a call in each."""
    p50, p95, p99 = (float(v) for v in np.quantile(seconds, [0.5, 0.95, 0.99]))
    return Tail(len(seconds), calls, p50, p95, p99)


Verdict = Literal["faster", "slower", "no difference", "too noisy"]


def verdict(interval: Interval, margin: float) -> Verdict:
    """What an interval of a ratio says: above 1, faster.

    An improvement counts only when the interval excludes none. One that holds 1 says that there
    is no difference when it lies within ``margin`` of 1, and nothing at all when it is wider.
    """
    if interval.low > 1:
        return "faster"
    if interval.high < 1:
        return "slower"
    if interval.low >= 1 - margin and interval.high <= 1 + margin:
        return "no difference"
    return "too noisy"


def clear(interval: Interval, target: float, margin: float) -> bool:
    """Whether the interval excludes ``target`` by a share ``margin`` of it."""
    return interval.low > target * (1 + margin) or interval.high < target * (1 - margin)


@dataclass(frozen=True, slots=True)
class TailRatio:
    """p95 and p99 of one program over those of another; above 1, the other's tail is shorter.

    ``regression``: the other's p95 is longer than ``limit`` times this one's.
    """

    p95: float
    p99: float
    limit: float
    regression: bool


def tail_ratio(slower: Distribution, faster: Distribution, limit: float) -> TailRatio | None:
    """How the tails compare, where both were taken; the limit is on p95 of the second."""
    a, b = slower.tail, faster.tail
    if a is None or b is None or not b.p95 or not b.p99:
        return None
    return TailRatio(a.p95 / b.p95, a.p99 / b.p99, limit, b.p95 > limit * a.p95)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's coefficient: that of Pearson between ranks, ties at the mean of theirs.

    ``None`` for fewer than three pairs, where a side is constant or holds what is no number.
    ``scipy.stats`` has it too, and takes a second to load in each process that only solves.
    """
    sides = np.asarray([one, other], dtype=float)
    if sides.shape[1] < 3 or np.isnan(sides).any():
        return None
    first, second = (_ranks(side) for side in sides)
    if not first.std() or not second.std():
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: np.ndarray = last - (counts - 1) / 2
    return means[places]
