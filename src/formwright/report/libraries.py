"""A hardware library on a terminal and as JSON: menus, areas with sources, what is not modelled."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from rich.console import Console

from formwright.chip.library import Library, MenuField
from formwright.chip.library_checks import read_fields_of
from formwright.chip.library_points import shown_value
from formwright.ir.evaluate import number
from formwright.ir.show import show_expr
from formwright.report.tables import print_table, print_title

NOT_MODELLED = "not modelled"


def without_area(library: Library) -> dict[str, str]:
    """The fields that no area term reads, and those that the file names, with the reason."""
    read = {f.name for t in library.area_terms for f in read_fields_of(library, t.value)}
    silent = [f.name for f in library.fields if f.name not in read]
    return dict.fromkeys(silent, "no area term reads it") | dict(library.unmodelled)


def library_as_json(library: Library) -> dict[str, Any]:
    """Values in base units; areas in mm2 at the chip to start from."""
    missing = without_area(library)
    values = library.values(library.start)
    return {
        "schema": 1,
        "name": library.name,
        "description": library.description,
        "chips": library.size,
        "start": {k: float(v) for k, v in library.shown(library.start).items()},
        "start_area": float(library.area(library.start)),
        "fields": {f.name: _field(f, missing.get(f.name)) for f in library.fields},
        "derived": {
            d.name: {
                "value": show_expr(d.value),
                "unit": d.unit,
                "at_start": float(values[f"chip.{d.name}"]),
                "source": d.source,
            }
            for d in library.derived
        },
        "rules": {
            r.name: {"condition": show_expr(r.condition), "source": r.source} for r in library.rules
        },
        "area": {
            t.name: {
                "value": show_expr(t.value),
                "at_start": float(number(t.value, values)),
                "source": t.source,
                "error": t.error,
            }
            for t in library.area_terms
        },
        "not_modelled": missing,
    }


def _field(field: MenuField, missing: str | None) -> dict[str, Any]:
    return {
        "dimension": field.dimension,
        "menu": [float(v) for v in field.menu],
        "role": field.role,
        "start": float(field.menu[field.start]),
        "meaning": field.meaning,
        "source": field.source,
        "area": "modelled" if missing is None else NOT_MODELLED,
    }


def print_library(console: Console, library: Library) -> None:
    """Fields with their menus, then the area by terms at the chip to start from."""
    print_title(console, library.name, f" {library.description}")
    console.print(f"{library.size:,} chips in the product of the menus", soft_wrap=True)
    missing = without_area(library)
    rows = []
    for field in library.fields:
        role = f"fixed, {NOT_MODELLED}" if field.name in missing else field.role
        rows.append((field.name, role, shown_value(field, field.start), shown_menu(field)))
    print_table(console, ("field", "role", "start", "menu"), rows, frozenset((2,)))
    values = library.values(library.start)
    console.print()
    print_title(console, "area", f" {float(library.area(library.start)):.4g} mm2 at the start")
    for term in library.area_terms:
        size = f"{float(number(term.value, values)):.4g} mm2"
        note = f" ({term.error})" if term.error else ""
        console.print(f"{term.name}: {size}: {term.source}{note}", markup=False, soft_wrap=True)
    for name, reason in missing.items():
        console.print(f"{name}: {NOT_MODELLED}: {reason}", markup=False, soft_wrap=True)
    for rule in library.rules:
        console.print(f"rule {rule.name}: {show_expr(rule.condition)}", markup=False)


def shown_menu(field: MenuField) -> str:
    """The values where they are few, else the ends with the step or factor between them."""
    menu = field.menu
    if len(menu) <= 7:
        return ", ".join(shown_value(field, n) for n in range(len(menu)))
    ends = f"{shown_value(field, 0)} to {shown_value(field, len(menu) - 1)}"
    steps = {Fraction(b) - Fraction(a) for a, b in pairwise(menu)}
    return f"{ends}, {len(menu)} values" + (" in equal steps" if len(steps) == 1 else "")
