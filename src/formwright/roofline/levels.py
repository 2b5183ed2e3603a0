"""The memories of a chip, nearest first, each with what stands before it and its bandwidth."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from formwright.ir.program import Home
from formwright.roofline.traffic import Memory

Figures = Mapping[str, int | Fraction]
"""A chip's parameters by names such as ``chip.clock``, in base units."""

_MEMORY: Final[frozenset[Home]] = frozenset({"global", "scratch", "shared"})
_REGISTER: Final[frozenset[Home]] = frozenset({"register"})
_F32_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Level:
    """``inner``: what moves from here is what does not fit in it.

    ``bandwidth`` is in byte/s of all threads. ``None``: the chip has no figure, so the level has
    an intensity and no roof.
    """

    name: str
    inner: Memory
    bandwidth: float | None
    field: str


@dataclass(frozen=True, slots=True)
class Roofs:
    """``peak``: f32 operations a second, all threads; ``missing``: figures that there are not.

    ``matrix``: the peak of operators that multiply bf16 by bf16, where the chip has units for it;
    of one core times the threads, since none of all cores is measured.
    """

    levels: tuple[Level, ...]
    peak: float | None
    threads: int
    missing: tuple[str, ...]
    matrix: float | None = None

    def peak_for(self, narrow: bool) -> float | None:
        """The peak of an operator that multiplies bf16 by bf16 (``narrow``), or of another one."""
        return self.matrix if self.matrix_for(narrow) else self.peak

    def matrix_for(self, narrow: bool) -> bool:
        """Whether that peak is the one of matrix units."""
        return narrow and self.matrix is not None and self.matrix > (self.peak or 0.0)


def roofs_of(chip: Figures, threads: int) -> Roofs:
    """The levels of ``chip`` for ``threads`` threads.

    A chip with cache sizes has the levels l1, l2, l3 and dram. One without has dram, and shared,
    both of which are moved into registers by the program alone.
    """
    levels = _caches(chip, threads) if "chip.l1_bytes" in chip else _explicit(chip)
    peak = _least(_figure(chip, "flops"), _figure(chip, "core_flops", threads))
    missing = [
        f"no bandwidth of {v.name}: the chip has no {v.field}" for v in levels if not v.bandwidth
    ]
    if peak is None:
        missing.append("no peak: the chip has neither flops nor core_flops")
    # A chip that says 0 has no such units, as one that says nothing.
    matrix = _figure(chip, "core_matrix_flops", threads) or None
    # No fields of a chip: peaks of multiply-adds are the only ones that are measured.
    narrow = "" if matrix else " or of arithmetic on bf16"
    missing.append(f"no rate of exp{',' if narrow else ' or'} of division{narrow} is measured")
    return Roofs(levels, peak, threads, tuple(missing), matrix)


def _caches(chip: Figures, threads: int) -> tuple[Level, ...]:
    line = int(chip.get("chip.line_bytes", 64))
    registers = int(chip.get("chip.accumulators", 0)) * _F32_BYTES
    core = _figure(chip, "core_dram_bandwidth", threads)
    memory = _least(_figure(chip, "dram_bandwidth"), core)
    found = [
        Level(
            "l1",
            Memory(registers, 1, _MEMORY, _MEMORY | _REGISTER),
            _figure(chip, "l1_bandwidth", threads),
            "l1_bandwidth",
        )
    ]
    outer = (
        ("l2", "l1_bytes", _figure(chip, "l2_bandwidth", threads), "l2_bandwidth"),
        ("l3", "l2_bytes", _figure(chip, "l3_bandwidth", threads), "l3_bandwidth"),
        ("dram", "l3_bytes", memory, "dram_bandwidth"),
    )
    for name, size, bandwidth, field in outer:
        if f"chip.{size}" in chip:
            inner = Memory(int(chip[f"chip.{size}"]), line, _MEMORY, _MEMORY)
            found.append(Level(name, inner, bandwidth, field))
    return tuple(found)


def _explicit(chip: Figures) -> tuple[Level, ...]:
    registers = int(chip.get("chip.accumulators", 0)) * _F32_BYTES
    takes = _MEMORY | _REGISTER
    shared = Memory(registers, 1, frozenset({"shared"}), takes)
    # The program fills shared memory itself: nothing that it reads twice is found by chance.
    memory = Memory(0, 1, frozenset({"global", "scratch"}), takes)
    return (
        Level("shared", shared, None, "shared_bandwidth"),
        Level("dram", memory, _figure(chip, "dram_bandwidth"), "dram_bandwidth"),
    )


def _figure(chip: Figures, field: str, times: int = 1) -> float | None:
    value = chip.get(f"chip.{field}")
    return None if value is None else float(value) * times


def _least(*figures: float | None) -> float | None:
    known = [f for f in figures if f is not None]
    return min(known) if known else None
