"""A GPU as the tile simulator sees it, and one launch of blocks on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formwright.ir.expr import Scalar

Blocks = NDArray[np.int32]

WORD = 4
"""Bytes of an f32."""


@dataclass(frozen=True, slots=True)
class TileMachine:
    """Times in seconds, rates in bytes or operations a second of one multiprocessor.

    ``dram_bandwidth`` is that of the whole chip. ``latency`` is what a read waits beside the time
    that its bytes take; ``fma`` is the time between two dependent multiply-adds.
    """

    sms: int
    flops: float
    dram_bandwidth: float
    port_bandwidth: float
    shared_bandwidth: float
    barrier: float
    latency: float
    fma: float
    l2_bytes: float


def machine_of(chip: Mapping[str, Scalar]) -> TileMachine:
    """From the values ``chip.NAME`` of a library such as ``tiled-gpu``."""
    cycle = 1.0 / float(chip["chip.clock"])
    return TileMachine(
        sms=int(chip["chip.sms"]),
        flops=float(chip["chip.sm_flops"]),
        dram_bandwidth=float(chip["chip.dram_bandwidth"]),
        port_bandwidth=float(chip["chip.sm_bandwidth"]),
        shared_bandwidth=float(chip["chip.shared_bandwidth"]),
        barrier=float(chip["chip.barrier_cycles"]) * cycle,
        latency=float(chip["chip.latency_cycles"]) * cycle,
        fma=float(chip["chip.fma_cycles"]) * cycle,
        l2_bytes=float(chip["chip.l2_bytes"]),
    )


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of one product: ``C[M,N] = A[M,K] * B[K,N]`` in tiles of ``tm x tn x tk``."""

    m: int
    n: int
    k: int
    tm: int
    tn: int
    tk: int

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of C that each row of tiles has: the last one may be clipped."""
        return _parts(self.m, self.tm)

    @property
    def columns(self) -> tuple[int, ...]:
        return _parts(self.n, self.tn)

    @property
    def depths(self) -> tuple[int, ...]:
        """Terms of the sum in each k-tile."""
        return _parts(self.k, self.tk)


def _parts(whole: int, part: int) -> tuple[int, ...]:
    return tuple(min(part, whole - start) for start in range(0, whole, part))


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """Blocks in the order in which they start, and the schedule that each of them follows.

    A row of ``blocks`` is ``i, j, first, last``: the block adds the k-tiles ``first <= p < last``
    of the tile of C in row ``i`` and column ``j`` of tiles.
    ``compute`` is the time of one k-tile. The load of k-tile ``p + ahead`` is issued before the
    barrier of k-tile ``p``; ``trailing`` says that a second barrier ends each k-tile. ``keep_a``
    and ``keep_b``: what is read of A, of B, is put into L2; ``keep_c``: stores stay in L2.
    """

    tiles: Tiles
    blocks: Blocks
    compute: float
    ahead: int
    trailing: bool
    keep_a: bool
    keep_b: bool
    keep_c: bool
