"""The evaluator of designs on the chips of the library ``tiled-gpu``: tile events, one by one.

It shares no formula with the cost of the templates but the time of one k-tile, which is what the
busiest of three units needs: multiply-adds, reads of operands, dependent steps. Waves, traffic,
what loads and computing hide of one another and what L2 keeps come out of the events
(:mod:`formwright.simulate.tile_events`).
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from heapq import heappop, heapreplace
from itertools import product
from typing import Final, Literal

import numpy as np

from formwright.ir.expr import Scalar
from formwright.simulate.evaluator import Evaluation
from formwright.simulate.tile_events import Counters, Memory
from formwright.simulate.tile_machine import WORD, Blocks, Launch, TileMachine, Tiles, machine_of
from formwright.simulate.tile_native import follow

Design = Mapping[str, int]
_Run = Callable[[Tiles, Design, TileMachine, Memory], float]


class TiledGpu:
    """Knows the templates in :data:`RUNS`; for any other it raises :class:`ValueError`."""

    name = "tiled-gpu"
    evidence: Literal["simulated"] = "simulated"

    def __init__(self, noise: Fraction = Fraction(1, 10)) -> None:
        self.noise = noise

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation:
        """Seconds and counters of one product of ``M x N x K``."""
        run = RUNS.get(template)
        if run is None:
            raise ValueError(f"no events are known for {template}: only {', '.join(RUNS)}")
        machine = machine_of(chip)
        counters = Counters()
        tiles = Tiles(
            extents["M"],
            extents["N"],
            extents["K"],
            assignment["Tm"],
            assignment["Tn"],
            assignment["Tk"],
        )
        seconds = run(tiles, assignment, machine, Memory(machine, counters))
        found = {f.name: Fraction(getattr(counters, f.name)) for f in fields(counters)}
        return Evaluation(Fraction(seconds), None, found)


def _tiling(tiles: Tiles, design: Design, machine: TileMachine, memory: Memory) -> float:
    """One launch; blocks start in groups of ``Gm x Gn`` neighbours."""
    launch = Launch(
        tiles,
        in_groups(tiles, design["Gm"], design["Gn"]),
        step_time(tiles, design, machine),
        ahead=design["P"],
        trailing=design["beta"] == 1,
        keep_a=True,
        keep_b=True,
        keep_c=False,
    )
    return follow(launch, memory, 0.0)


def in_groups(tiles: Tiles, high: int, wide: int) -> Blocks:
    """Whole sums of all tiles of C, one rectangle of ``high x wide`` tiles after another."""
    i, j = np.indices((len(tiles.rows), len(tiles.columns))).reshape(2, -1)
    order = np.lexsort((j, i, j // wide, i // high))
    steps = np.full_like(i, len(tiles.depths))
    return np.stack([i, j, np.zeros_like(i), steps], axis=1)[order].astype(np.int32)


def _split(tiles: Tiles, design: Design, machine: TileMachine, memory: Memory) -> float:
    """Parts of the sums, then their sums; B streams past L2, A and the parts stay if asked."""
    kept = design["Hp"] == 1
    launch = Launch(
        tiles,
        in_parts(tiles, design["Q"]),
        step_time(tiles, design, machine),
        ahead=design["P"],
        trailing=design["beta"] == 1,
        keep_a=design["Ha"] == 1,
        keep_b=False,
        keep_c=kept,
    )
    ended = follow(launch, memory, 0.0)
    return _add_parts(tiles, -(-len(tiles.depths) // design["Q"]), kept, memory, ended)


def in_parts(tiles: Tiles, q: int) -> Blocks:
    """For each tile of C, blocks of ``q`` k-tiles, one after another; the last has the rest."""
    steps = len(tiles.depths)
    parts = -(-steps // q)
    i, j, z = np.indices((len(tiles.rows), len(tiles.columns), parts)).reshape(3, -1)
    return np.stack([i, j, z * q, np.minimum(z * q + q, steps)], axis=1).astype(np.int32)


def _add_parts(tiles: Tiles, parts: int, kept: bool, memory: Memory, start: float) -> float:
    """The second grid: a block reads the parts of its tile, adds them and stores the sum."""
    machine, counters = memory.machine, memory.counters
    waiting = (float(WORD * height * width) for height, width in product(tiles.rows, tiles.columns))
    summed: dict[int, float] = {}
    heap = [(start, sm) for sm in range(min(machine.sms, len(tiles.rows) * len(tiles.columns)))]
    end = start
    while heap:
        now, sm = heap[0]
        size = summed.pop(sm, None)
        if size is not None:
            memory.transfer(size, now)
            counters.port_bytes += size
            now += size / machine.port_bandwidth
            end = max(end, now)
            heapreplace(heap, (now, sm))
            continue
        size = next(waiting, None)
        if size is None:
            heappop(heap)
            continue
        summed[sm] = size
        read = parts * size
        there = now if kept else memory.transfer(read, now)
        counters.l2_bytes += read if kept else 0.0
        counters.port_bytes += read
        counters.blocks += 1
        arrived = max(there, now + read / machine.port_bandwidth) + machine.latency
        heapreplace(heap, (arrived, sm))
    return max(end, memory.free)


def step_time(tiles: Tiles, design: Design, machine: TileMachine) -> float:
    """Seconds of one k-tile of a block: the busiest of three units.

    Each of the ``Tm*Tn`` sums takes a multiply-add (two operations) for each of ``Tk`` terms; a
    thread reads ``Rm + Rn`` operands a term from shared memory; a sum's terms are dependent.
    """
    threads = (tiles.tm // design["Rm"]) * (tiles.tn // design["Rn"])
    multiply = 2 * tiles.tm * tiles.tn / machine.flops
    operands = WORD * threads * (design["Rm"] + design["Rn"]) / machine.shared_bandwidth
    return tiles.tk * max(multiply, operands, machine.fma)


RUNS: Final[Mapping[str, _Run]] = {
    "tiled_gpu_gemm": _tiling,
    "split_reduction_gemm": _split,
}
"""What follows the events of a template, by its name."""
