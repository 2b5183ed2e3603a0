"""A chip as data: fields with units, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from formwright.base.quantities import Quantity


@dataclass(frozen=True, slots=True)
class Field:
    """One figure of a chip. ``spread`` is relative: (best - median) / best of repeated runs."""

    quantity: Quantity
    source: str
    date: str | None = None
    spread: Fraction | None = None

    @property
    def value(self) -> Fraction:
        """The exact value in the base unit of its dimension."""
        return self.quantity.value

    @property
    def unit(self) -> str:
        """The base unit: bytes, Hz, flop/s, byte/s, cycles, or empty for counts."""
        return self.quantity.unit


@dataclass(frozen=True, slots=True)
class Chip:
    """A machine that designs are for. ``cpu`` and ``isa`` are empty where nothing is known."""

    name: str
    fields: Mapping[str, Field]
    description: str = ""
    cpu: str = ""
    isa: tuple[str, ...] = ()

    def parameters(self) -> dict[str, int | Fraction]:
        """Values for expressions, by names such as ``chip.clock``, in base units."""
        return {f"chip.{name}": _plain(field.value) for name, field in self.fields.items()}


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value
