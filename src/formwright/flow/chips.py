"""Chips by name; the one called ``local`` is measured when it is first asked for."""

from formwright.chip import Chip, detect, load_chip


def open_chip(name: str) -> Chip:
    """A chip that ships, a TOML file, or ``local`` (detected here when it is not kept yet)."""
    return load_chip(name)


def detect_local() -> Chip:
    """Measure this machine anew and keep the result as ``local``."""
    return detect()
