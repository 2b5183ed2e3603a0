"""Gemmini's accesses, counted by walking the loops of a design (DOSA's accelerator).

Nothing here knows the formulas of the templates: what each memory holds is followed from step to
step, and a transfer is counted where a tile is needed that is not there. From the third pass of a
loop on all passes meet what the second met (the tile before was another one), so they are walked
once and count as often as there are. The four rates that give the cycles are those of the source;
no event has a time of its own, so the evidence is ``modelled``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Literal

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.ir.expr import Scalar
from formwright.simulate.evaluator import Evaluation

LOOPS: Final[Mapping[str, tuple[str, str, str]]] = {
    "gemmini_hold_weights": ("n", "k", "m"),
    "gemmini_hold_inputs": ("m", "k", "n"),
    "gemmini_hold_outputs": ("n", "m", "k"),
}
"""The loops over tiles in DRAM, the outermost first, by template."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Nest:
    """Tiles of ``tm`` rows, ``tk`` terms of the sums and ``tn`` columns, ``trips`` along each.

    The array takes ``sk`` terms of ``sn`` columns at once and divides the tile; the last tiles of
    a dimension are padded with zeros. ``order``: loops over tiles, the outermost first.
    """

    tm: int
    tk: int
    tn: int
    sk: int
    sn: int
    trips: Mapping[str, int]
    order: tuple[str, str, str]

    @property
    def weights(self) -> int:
        return self.tk * self.tn

    @property
    def inputs(self) -> int:
        return self.tm * self.tk

    @property
    def outputs(self) -> int:
        return self.tm * self.tn


@dataclass(slots=True)
class Counts:
    """Words read from and written to each memory; ``steps`` of the array; ``macs``."""

    dram_reads: int = 0
    dram_writes: int = 0
    scratchpad_reads: int = 0
    scratchpad_writes: int = 0
    accumulator_reads: int = 0
    accumulator_writes: int = 0
    register_reads: int = 0
    register_writes: int = 0
    macs: int = 0
    steps: int = 0

    @property
    def dram(self) -> int:
        return self.dram_reads + self.dram_writes

    @property
    def scratchpad(self) -> int:
        return self.scratchpad_reads + self.scratchpad_writes

    @property
    def accumulator(self) -> int:
        return self.accumulator_reads + self.accumulator_writes

    @property
    def registers(self) -> int:
        return self.register_reads + self.register_writes


@dataclass(slots=True)
class _Held:
    """What is where: the tile in each memory, the block of weights in the array."""

    weights: Place | None = None
    inputs: Place | None = None
    outputs: Place | None = None
    times: int = 1
    """For how many tiles of outputs the one that is held stands."""
    array: tuple[int, int, int, int] | None = None
    summed: set[int] = field(default_factory=set)
    """Column groups of the tile of outputs that have had a term since the tile came."""
    stored: set[Place] = field(default_factory=set)
    """Tiles of outputs whose partial sums are in DRAM."""


def walked(nest: Nest, every: bool = False) -> Counts:
    """The accesses of a whole run. ``every``: each pass of each loop is walked by itself."""
    counts, held = Counts(), _Held()
    for at, times in _tiles(nest, every):
        weights, inputs, outputs = (at["k"], at["n"]), (at["m"], at["k"]), (at["m"], at["n"])
        if held.weights != weights:
            held.weights = weights
            counts.dram_reads += times * nest.weights
            counts.scratchpad_writes += times * nest.weights
        if held.inputs != inputs:
            held.inputs = inputs
            counts.dram_reads += times * nest.inputs
            counts.scratchpad_writes += times * nest.inputs
        if held.outputs != outputs:
            _drain(nest, held, counts)
            _bring(nest, held, counts, outputs, times)
        _multiply(nest, held, counts, times, every)
    _drain(nest, held, counts)
    return counts


def _passes(trips: int, every: bool) -> tuple[tuple[int, int], ...]:
    """Which passes of a loop are walked, and for how many each stands."""
    if every or trips <= 3:
        return tuple((i, 1) for i in range(trips))
    return ((0, 1), (1, 1), (2, trips - 2))


def _tiles(nest: Nest, every: bool) -> Iterator[tuple[dict[str, int], int]]:
    first, second, third = nest.order
    for x, xs in _passes(nest.trips[first], every):
        for y, ys in _passes(nest.trips[second], every):
            for z, zs in _passes(nest.trips[third], every):
                yield {first: x, second: y, third: z}, xs * ys * zs


def _drain(nest: Nest, held: _Held, counts: Counts) -> None:
    """The tile of outputs leaves the accumulator for DRAM."""
    if held.outputs is not None:
        counts.accumulator_reads += held.times * nest.outputs
        counts.dram_writes += held.times * nest.outputs
        held.stored.add(held.outputs)


def _bring(nest: Nest, held: _Held, counts: Counts, outputs: Place, times: int) -> None:
    """Partial sums that were stored come back; a tile that has none yet starts empty."""
    held.outputs, held.times = outputs, times
    held.summed.clear()
    if outputs in held.stored:
        counts.dram_reads += times * nest.outputs
        counts.accumulator_writes += times * nest.outputs


def _multiply(nest: Nest, held: _Held, counts: Counts, times: int, every: bool) -> None:
    """One tile through the array: blocks of weights, and for each the rows of inputs in a run.

    A partial sum that came back is on its way through the adders when its first term arrives:
    like an empty one it is not read from the accumulator for it (so the source counts).
    """
    assert held.weights is not None
    for n, groups in _passes(nest.tn // nest.sn, every):
        for k, blocks in _passes(nest.tk // nest.sk, every):
            each = times * groups * blocks
            block = (*held.weights, k, n)
            if held.array != block:
                held.array = block
                counts.scratchpad_reads += each * nest.sk * nest.sn
                counts.register_writes += each * nest.sk * nest.sn
            counts.steps += each * nest.tm
            counts.macs += each * nest.tm * nest.sk * nest.sn
            counts.register_reads += each * nest.tm * nest.sk * nest.sn
            counts.scratchpad_reads += each * nest.tm * nest.sk
            counts.accumulator_writes += each * nest.tm * nest.sn
            if n in held.summed:
                counts.accumulator_reads += each * nest.tm * nest.sn
            held.summed.add(n)


@dataclass(frozen=True, slots=True)
class GemminiEvaluator:
    """Energy (uJ) and cycles of a design of the ``gemmini_hold_*`` templates.

    ``noise`` is 0: model and walk are to agree exactly.
    """

    name: ClassVar[str] = "gemmini"
    evidence: ClassVar[Literal["simulated", "modelled"]] = "modelled"
    noise: Fraction = Fraction(0)

    def evaluate(
        self,
        template: str,
        extents: Mapping[str, int],
        assignment: Mapping[str, int],
        chip: Mapping[str, Scalar],
    ) -> Evaluation:
        """Raises :class:`InputError` for another template and for tiles that have no room."""
        nest = nest_of(template, extents, assignment)
        _require_room(nest, chip)
        counts = walked(nest)
        return Evaluation(_cycles(nest, counts, chip), _energy(counts, chip), _shown(counts))


def nest_of(template: str, extents: Mapping[str, int], assignment: Mapping[str, int]) -> Nest:
    """The loops of a design; extents ``M``, ``N`` and ``K``, the reduction."""
    if template not in LOOPS:
        raise InputError(
            [
                Diagnostic(
                    f'the evaluator "gemmini" does not know the template "{template}"',
                    None,
                    nearest(template, LOOPS) or f"it knows {', '.join(LOOPS)}",
                )
            ]
        )
    tm, tk, tn, sk, sn = (assignment[name] for name in ("Tm", "Tk", "Tn", "Sk", "Sn"))
    trips = {
        "m": -(-extents["M"] // tm),
        "k": -(-extents["K"] // tk),
        "n": -(-extents["N"] // tn),
    }
    return Nest(tm, tk, tn, sk, sn, trips, LOOPS[template])


def _require_room(nest: Nest, chip: Mapping[str, Scalar]) -> None:
    """The accumulator is split over all columns of the array, those that are idle included."""
    needs = {
        "array": Fraction(max(nest.sk, nest.sn)),
        "scratchpad": Fraction(nest.weights + nest.inputs),
        "accumulator": 4 * _of(chip, "array") * nest.tm * (nest.tn // nest.sn),
    }
    faults = [
        Diagnostic(f"the design needs {need} of {name}, the chip has {chip[f'chip.{name}']}")
        for name, need in needs.items()
        if need > _of(chip, name)
    ]
    if faults:
        raise InputError(faults)


def _of(chip: Mapping[str, Scalar], name: str) -> Fraction:
    return Fraction(chip[f"chip.{name}"])


def _cycles(nest: Nest, counts: Counts, chip: Mapping[str, Scalar]) -> Fraction:
    """The slowest of the array, the accumulator's columns in use, the scratchpad and DRAM."""
    return max(
        Fraction(counts.steps),
        counts.accumulator / (_of(chip, "column_words") * nest.sn),
        counts.scratchpad / _of(chip, "scratchpad_words"),
        counts.dram / _of(chip, "dram_words"),
    )


def _energy(counts: Counts, chip: Mapping[str, Scalar]) -> Fraction:
    """In microjoules; a chip's energies are in joules."""
    joules = (
        counts.macs * _of(chip, "mac_energy")
        + counts.registers * _of(chip, "register_energy")
        + counts.accumulator * _of(chip, "accumulator_energy")
        + counts.scratchpad * _of(chip, "scratchpad_energy")
        + counts.dram * _of(chip, "dram_energy")
    )
    return joules * 10**6


def _shown(counts: Counts) -> dict[str, Fraction]:
    names = ("macs", "steps", "registers", "accumulator", "scratchpad", "dram")
    return {name: Fraction(getattr(counts, name)) for name in names}
