"""The fields that a chip can have: their dimension, what is absurd, what they mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from formwright.base.quantities import Dimension, Quantity, show_quantity

_K, _M, _G, _T = (Fraction(1000**n) for n in (1, 2, 3, 4))
_KIB = Fraction(1024)


@dataclass(frozen=True, slots=True)
class FieldKind:
    """Values outside ``low .. high`` (in the base unit) are refused as absurd.

    ``optional``: 0 is a value too, of a chip that has no such part.
    """

    dimension: Dimension
    low: Fraction
    high: Fraction
    meaning: str
    optional: bool = False

    def admits(self, value: Fraction) -> bool:
        """Whether ``value``, in the base unit, is not absurd."""
        return self.low <= value <= self.high or (self.optional and value == 0)

    @property
    def told(self) -> str:
        """The range in words, for a hint."""
        low, high = (show_quantity(Quantity(v, self.dimension)) for v in (self.low, self.high))
        none = ", or it is 0 where the chip has no such part" if self.optional else ""
        return f"it lies between {low} and {high}{none}"


def _count(low: int, high: int, meaning: str) -> FieldKind:
    return FieldKind("count", Fraction(low), Fraction(high), meaning)


def _size(low: Fraction, high: Fraction, meaning: str) -> FieldKind:
    return FieldKind("bytes", low, high, meaning)


def _area(meaning: str) -> FieldKind:
    return FieldKind("area", Fraction(0), _M, meaning)


def _bandwidth(meaning: str) -> FieldKind:
    return FieldKind("bandwidth", 10 * _M, 1000 * _T, meaning)


def _energy(meaning: str) -> FieldKind:
    return FieldKind("energy", Fraction(0), Fraction(1, 1000), meaning)


FIELDS: Final[Mapping[str, FieldKind]] = {
    "sms": _count(1, 65536, "streaming multiprocessors"),
    "shared_bytes": _size(_KIB, _KIB**3, "shared memory of one block"),
    "accumulators": _count(1, 2**24, "f32 accumulators of one block or core"),
    "threads_per_block": _count(1, 65536, "threads of one block"),
    "barrier_cycles": FieldKind("cycles", Fraction(0), _M, "one barrier of a block"),
    "clock": FieldKind("frequency", _M, 20 * _G, "clock of a core"),
    "flops": FieldKind("compute", _M, 10**6 * _T, "f32 operations a second, all cores"),
    "core_flops": FieldKind("compute", _M, 1000 * _T, "f32 operations a second, one core"),
    "core_matrix_flops": FieldKind(
        "compute",
        _M,
        10**5 * _T,
        "operations on bf16, added up in f32, a second, one core",
        optional=True,
    ),
    "dram_bandwidth": _bandwidth("reading from memory, all cores"),
    "core_dram_bandwidth": _bandwidth("reading from memory, one core"),
    "l1_bandwidth": _bandwidth("reading from the first-level cache, one core"),
    "l2_bandwidth": _bandwidth("reading from the second-level cache, one core"),
    "l3_bandwidth": _bandwidth("reading from the last-level cache, one core"),
    "cores": _count(1, 4096, "cores that may be used"),
    "vector_lanes": _count(1, 1024, "f32 lanes of a vector register"),
    "vector_registers": _count(1, 4096, "vector registers of a core"),
    "l1_bytes": _size(_KIB, 16 * _KIB**2, "first-level data cache of a core"),
    "l2_bytes": _size(_KIB, 256 * _KIB**2, "second-level cache of a core"),
    "l3_bytes": _size(_KIB, 16 * _KIB**3, "last-level cache that cores share"),
    "line_bytes": _size(Fraction(16), Fraction(1024), "cache line"),
    "page_bytes": _size(_KIB, _KIB**3, "page of virtual memory"),
    "area": _area("area for shared memory, its ports and what moves data into it, one block"),
    "byte_area": _area("area of one byte of shared memory"),
    "instruction_area": _area("area of an instruction that starts a transfer, one block"),
    "controller_area": _area("area of a controller that carries out transfers, one block"),
    "port_area": _area("area of one port of one bank of shared memory"),
    "entry_area": _area("area of one entry of the queue of transfers"),
    "flop_energy": _energy("energy of one f32 operation"),
    "l1_byte_energy": _energy("energy of one byte from the first-level cache"),
    "l2_byte_energy": _energy("energy of one byte from the second-level cache"),
    "l3_byte_energy": _energy("energy of one byte from the last-level cache"),
    "shared_byte_energy": _energy("energy of one byte from shared memory"),
    "dram_byte_energy": _energy("energy of one byte from memory"),
    "tlb_entries": _count(1, 2**20, "pages that the translation buffer of a core holds"),
}


@dataclass(frozen=True, slots=True)
class Capacity:
    """Which field bounds what is allocated in a home of the program IR, counted in what."""

    field: str
    counted: str


HOME_CAPACITY: Final[Mapping[str, Capacity]] = {
    "shared": Capacity("shared_bytes", "bytes"),
    "register": Capacity("accumulators", "elements"),
}
"""The homes that a chip bounds by themselves; others (global, scratch) are walls of templates."""
