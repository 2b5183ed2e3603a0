"""Which chip a fact is about: a digest that says whether two chips are one."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from formwright.base.digest import digest
from formwright.chip.chip import Chip

_MEASURED = "measured"
"""How the source of a figure begins that was timed on the machine (``chip/machine.py``)."""


@dataclass(frozen=True, slots=True)
class ChipKey:
    """``digest`` decides; ``name`` is for people."""

    name: str
    digest: str


def chip_key(chip: Chip) -> ChipKey:
    """The identity of ``chip``: all its figures, its CPU and its instruction set.

    Where the CPU is known, figures that were timed on it are left out: the same CPU timed again
    gives other figures and is the same chip.
    """
    told = {
        name: field.quantity.value
        for name, field in chip.fields.items()
        if not (chip.cpu and field.source.startswith(_MEASURED))
    }
    return ChipKey(chip.name, digest([chip.cpu, chip.isa, told]))


def key_of_values(name: str, values: Mapping[str, int | Fraction]) -> ChipKey:
    """The identity of a point of a hardware library: every value of it, in base units."""
    return ChipKey(name, digest({n: Fraction(v) for n, v in values.items()}))
