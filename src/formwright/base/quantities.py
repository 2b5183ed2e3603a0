"""Numbers with units: read exactly, kept in the base unit of their dimension, shown readably."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

Dimension = Literal[
    "bytes",
    "frequency",
    "compute",
    "bandwidth",
    "time",
    "cycles",
    "area",
    "energy",
    "count",
    "ratio",
]

UNITS: Final[Mapping[Dimension, Mapping[str, Fraction]]] = {
    "bytes": {"bytes": Fraction(1), "B": Fraction(1)}
    | {unit: Fraction(1024**n) for n, unit in enumerate(("KiB", "MiB", "GiB"), 1)},
    "frequency": {unit: Fraction(1000**n) for n, unit in enumerate(("Hz", "kHz", "MHz", "GHz"))},
    "compute": {
        unit: Fraction(1000**n)
        for n, unit in enumerate(("flop/s", "kflop/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"))
    },
    "bandwidth": {"B/s": Fraction(1)}
    | {unit: Fraction(1000**n) for n, unit in enumerate(("byte/s", "kB/s", "MB/s", "GB/s", "TB/s"))}
    | {unit: Fraction(1024**n) for n, unit in enumerate(("KiB/s", "MiB/s", "GiB/s"), 1)},
    "time": {unit: Fraction(1, 1000**n) for n, unit in enumerate(("s", "ms", "us", "ns"))},
    "cycles": {"cycles": Fraction(1), "cycle": Fraction(1)},
    "area": {"mm2": Fraction(1), "um2": Fraction(1, 10**6)},
    "energy": {u: Fraction(1, 1000**n) for n, u in enumerate(("J", "mJ", "uJ", "nJ", "pJ", "fJ"))},
    "count": {"": Fraction(1)},
    "ratio": {"": Fraction(1), "%": Fraction(1, 100)},
}
"""The units of each dimension with their value in its base unit (the first of value 1)."""

BASE: Final[Mapping[Dimension, str]] = {
    "bytes": "bytes",
    "frequency": "Hz",
    "compute": "flop/s",
    "bandwidth": "byte/s",
    "time": "s",
    "cycles": "cycles",
    "area": "mm2",
    "energy": "J",
    "count": "",
    "ratio": "",
}

ENERGIES: Final[tuple[str, ...]] = tuple(
    f"{prefix}joules" for prefix in ("", "milli", "micro", "nano", "pico", "femto")
)
"""Words for units of energy, each a thousandth of the one before."""

_WHOLE: Final[frozenset[Dimension]] = frozenset({"bytes", "count"})
_LEAST: Final = Fraction(1, 10**60)
"""Floats hold what lies between this and its inverse, and products of a few such numbers."""
_LITERAL = re.compile(r"\s*([+-]?\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*([^\s\d].*?)?\s*")


class QuantityError(ValueError):
    """A text that is no quantity of the wanted dimension; ``hint`` says what to write."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number in the base unit of its dimension (bytes, Hz, flop/s, byte/s, s, J, …)."""

    value: Fraction
    dimension: Dimension

    @property
    def unit(self) -> str:
        """The base unit, empty for counts and ratios."""
        return BASE[self.dimension]


def parse_quantity(text: str, dimension: Dimension) -> Quantity:
    """``"1.8 GHz"`` as an exact number of hertz. Raises ``QuantityError``."""
    units = UNITS[dimension]
    named = [unit for unit in units if unit]
    example = f"write a number and one of {', '.join(named)}" if named else "write a plain number"
    match = _LITERAL.fullmatch(text)
    if match is None or len(text) > 100:
        raise QuantityError(f'"{text[:100]}" is not a quantity', example)
    unit = match[2] or ""
    if unit not in units:
        raise QuantityError(_wrong_unit(unit, dimension), example)
    value = Fraction(match[1].replace("_", "")) * units[unit]
    if value and not _LEAST <= abs(value) <= 1 / _LEAST:
        raise QuantityError(f'"{text}" is out of range', "write a size from 1e-60 to 1e60")
    if dimension in _WHOLE and value.denominator != 1:
        what = BASE[dimension] or "things"
        raise QuantityError(f'"{text}" is not a whole number of {what}', "write a whole number")
    return Quantity(value, dimension)


def _wrong_unit(unit: str, dimension: Dimension) -> str:
    if not unit:
        return f"a {dimension} value needs a unit"
    owners = [name for name, units in UNITS.items() if unit in units]
    if owners:
        return f'"{unit}" measures {owners[0]}, not {dimension}'
    return f'unknown unit "{unit}"'


def show_quantity(quantity: Quantity, digits: int = 4) -> str:
    """The quantity in the largest unit that leaves a number of at least 1: ``"1.8 GHz"``."""
    magnitude = abs(quantity.value)
    shown = BASE[quantity.dimension]
    scale = UNITS[quantity.dimension][shown]
    for unit, size in UNITS[quantity.dimension].items():
        if unit in ("%", "B", "B/s", "cycle") or "iB/s" in unit:
            continue
        larger = scale < size <= magnitude
        smaller = magnitude < scale and scale > size and magnitude > 0
        if larger or smaller:
            shown, scale = unit, size
    number = f"{float(quantity.value / scale):.{digits}g}"
    if "e" in number or quantity.dimension == "count":
        exact = quantity.value / scale
        number = str(exact) if exact.denominator == 1 else number
    return f"{number} {shown}".strip()
