"""The machines that designs are for: fields with units and sources, files, and this machine.

``fields`` says which fields there are and what is absurd; ``chip`` is the data; ``reader`` reads
and writes the files; ``machine`` measures this machine with the C program in ``native``; ``load``
finds a chip by name. Figures are exact numbers in base units (bytes, Hz, flop/s, byte/s, cycles).
"""

from formwright.chip.chip import Chip, Field
from formwright.chip.fields import FIELDS, HOME_CAPACITY, Capacity, FieldKind
from formwright.chip.load import detect, load_chip, local_file, shipped_chips
from formwright.chip.reader import read_chip, write_chip

__all__ = [
    "FIELDS",
    "HOME_CAPACITY",
    "Capacity",
    "Chip",
    "Field",
    "FieldKind",
    "detect",
    "load_chip",
    "local_file",
    "read_chip",
    "shipped_chips",
    "write_chip",
]
