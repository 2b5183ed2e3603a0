"""The evaluator of designs on the chips of the library ``tiled-gpu``: tile events, one by one.

It shares no formula with the cost of the templates but the time of one k-tile, which is what the
busiest of three units needs: multiply-adds, reads of operands, dependent steps. Waves, traffic,
what loads and computing hide of one another and what L2 keeps come out of the events
(:mod:`formwright.simulate.tile_events`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from itertools import product
from typing import Final, Literal

from formwright.ir.expr import Scalar
from formwright.simulate.evaluator import Evaluation
from formwright.simulate.tile_events import Counters, Memory, follow
from formwright.simulate.tile_machine import (
    WORD,
    Block,
    Launch,
    TileMachine,
    Tiles,
    machine_of,
)

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
    steps = len(tiles.depths)
    shape = (len(tiles.rows), len(tiles.columns))
    order = _in_groups(shape, design["Gm"], design["Gn"])
    launch = Launch(
        tiles,
        tuple(Block(i, j, 0, steps) for i, j in order),
        step_time(tiles, design, machine),
        ahead=design["P"],
        trailing=design["beta"] == 1,
        keep_a=True,
        keep_b=True,
        keep_c=False,
    )
    return follow(launch, memory, 0.0)


def _in_groups(shape: tuple[int, int], high: int, wide: int) -> Iterator[tuple[int, int]]:
    """All places of a grid, one rectangle of ``high x wide`` after another."""
    rows, columns = shape
    for top, left in product(range(0, rows, high), range(0, columns, wide)):
        yield from product(
            range(top, min(top + high, rows)), range(left, min(left + wide, columns))
        )


def _split(tiles: Tiles, design: Design, machine: TileMachine, memory: Memory) -> float:
    """Parts of the sums, then their sums; B streams past L2, A and the parts stay if asked."""
    steps, q = len(tiles.depths), design["Q"]
    starts = range(0, steps, q)
    blocks = tuple(
        Block(i, j, first, min(first + q, steps))
        for i, j, first in product(range(len(tiles.rows)), range(len(tiles.columns)), starts)
    )
    launch = Launch(
        tiles,
        blocks,
        step_time(tiles, design, machine),
        ahead=design["P"],
        trailing=design["beta"] == 1,
        keep_a=design["Ha"] == 1,
        keep_b=False,
        keep_c=design["Hp"] == 1,
    )
    parts = follow(launch, memory, 0.0)
    return _add_parts(tiles, len(starts), design["Hp"] == 1, memory, parts)


def _add_parts(tiles: Tiles, parts: int, kept: bool, memory: Memory, start: float) -> float:
    """The second grid: a block reads the parts of its tile, adds them and stores the sum."""
    machine, counters = memory.machine, memory.counters
    free = [start] * machine.sms
    for place, (height, width) in enumerate(product(tiles.rows, tiles.columns)):
        sm = place % machine.sms
        size = float(WORD * height * width)
        read = parts * size
        there = free[sm] if kept else memory.transfer(read, free[sm])
        counters.l2_bytes += read if kept else 0.0
        counters.port_bytes += read + size
        counters.blocks += 1
        arrived = max(there, free[sm] + read / machine.port_bandwidth) + machine.latency
        free[sm] = arrived + size / machine.port_bandwidth
        memory.transfer(size, arrived)
    return max(*free, memory.free)


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
