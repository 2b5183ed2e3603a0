"""A chip's fields with the source of each, on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.chip import Chip, Field
from formwright.report.tables import print_table, print_title

_SCALES = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def chip_as_json(chip: Chip) -> dict[str, Any]:
    """Every field in its base unit; ``value`` as a number, ``exact`` as a rational."""
    return {
        "schema": 1,
        "name": chip.name,
        "description": chip.description,
        "cpu": chip.cpu,
        "isa": list(chip.isa),
        "fields": {name: _field(field) for name, field in chip.fields.items()},
    }


def _field(field: Field) -> dict[str, Any]:
    return {
        "value": float(field.value),
        "exact": str(field.value),
        "unit": field.unit,
        "source": field.source,
        "date": field.date,
        "spread": None if field.spread is None else float(field.spread),
    }


def print_chip(console: Console, chip: Chip) -> None:
    """A row for each field: value, spread of repeated runs, source, date."""
    print_title(console, chip.name, f" {chip.description}")
    if chip.cpu:
        console.print(f"{chip.cpu}; {' '.join(chip.isa)}", markup=False, soft_wrap=True)
    rows = []
    for name, field in chip.fields.items():
        spread = "" if field.spread is None else f"{float(field.spread) * 100:.1f} %"
        dated = field.source if field.date is None else f"{field.source} ({field.date})"
        rows.append((name, _value(field), spread, dated))
    print_table(console, ("field", "value", "spread", "source"), rows, frozenset((1, 2)))


def _value(field: Field) -> str:
    value = field.value
    if field.unit == "bytes" and value % 1024 == 0:
        mebi = value % (1024 * 1024) == 0 and value >= 1024 * 1024
        return f"{value / 1024**2} MiB" if mebi else f"{value / 1024} KiB"
    if field.unit in ("", "cycles", "bytes"):
        return f"{value} {field.unit}".strip()
    for scale, prefix in _SCALES:
        if value >= scale:
            return f"{float(value / scale):.4g} {prefix}{field.unit}"
    return f"{float(value):.4g} {field.unit}"
