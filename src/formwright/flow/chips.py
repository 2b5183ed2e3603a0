"""Chips by name; the one called ``local`` is measured when it is first asked for."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from formwright.chip import Chip, detect, load_chip


def open_chip(name: str) -> Chip:
    """A chip that ships, a TOML file, or ``local`` (detected here when it is not kept yet)."""
    return load_chip(name)


def detect_local() -> Chip:
    """Measure this machine anew and keep the result as ``local``."""
    return detect()


def chip_entry(chip: Chip) -> dict[str, Any]:
    """A chip as a journal has it: its name, and its figures as exact text."""
    return {"name": chip.name, "values": {n: str(v) for n, v in chip.parameters().items()}}


def figures_of(values: Mapping[str, str]) -> dict[str, int | Fraction]:
    """The figures of a :func:`chip_entry`, whole ones as integers."""
    return {name: _number(text) for name, text in values.items()}


def _number(text: str) -> int | Fraction:
    value = Fraction(text)
    return value.numerator if value.denominator == 1 else value
