"""What a library must keep so that nothing in it is free and no search is led astray.

Every check is exact: areas are computed as rationals over all menu values that a term reads.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod

from formwright.chip.library import AreaTerm, Library, MenuField
from formwright.chip.library_entries import Entries
from formwright.chip.library_points import shown_value
from formwright.chip.library_rules import UndecidedError, admitted, conflict, ranges
from formwright.ir.evaluate import EvaluationError, number, truth
from formwright.ir.expr import Arith, Expr
from formwright.ir.interval import bounds
from formwright.ir.rewrite import children, free_names

POINTS = 100_000
"""Combinations of values that one area term may depend on."""

LARGEST = 10**60
"""Of a derived quantity or an area: floats hold it, and products of a few such numbers."""

Areas = dict[tuple[int, ...], Fraction]
"""The value of a term by the places of the fields that it reads."""


def check_library(library: Library, entries: Entries) -> None:
    """Adds every fault of ``library`` to those of ``entries``, which points into its file."""
    before = len(entries.faults)
    _values(library, entries)
    if len(entries.faults) > before:
        return
    _rules(library, entries)
    tables = {t.name: _areas(library, t, entries) for t in library.area_terms}
    for term in library.area_terms:
        _monotone(library, term, tables[term.name], entries)
    if all(tables.values()):
        _nothing_free(library, tables, entries)


def read_fields_of(library: Library, expr: Expr) -> tuple[MenuField, ...]:
    """The fields behind ``expr``, derived quantities opened."""
    names = free_names(library.opened(expr))
    return tuple(f for f in library.fields if f"chip.{f.name}" in names)


def _values(library: Library, entries: Entries) -> None:
    """Every formula has a value of the right kind; no divisor may reach 0."""
    spans = ranges(library, library.whole)
    for kind, key, name, expr in _formulas(library):
        place = (kind, name, key)
        for divisor in divisors(expr):
            if bounds(library.opened(divisor), spans).lo <= 0:
                entries.fault(f"a divisor of {name} may be 0 or less", place, "bound it by max")
                return
        span = bounds(library.opened(expr), spans)
        if kind != "rules" and not (span.lo >= -LARGEST and span.hi <= LARGEST):
            entries.fault(f"{name} may be out of range", place, "keep it between -1e60 and 1e60")
            return
    for kind, key, name, expr in _formulas(library):
        try:
            values = library.values(library.start)
            truth(expr, values) if kind == "rules" else number(expr, values)
        except EvaluationError as error:
            entries.fault(f"{name}: {error.message}", (kind, name, key))
            return


def _formulas(library: Library) -> Iterator[tuple[str, str, str, Expr]]:
    for derived in library.derived:
        yield "derived", "value", derived.name, derived.value
    for rule in library.rules:
        yield "rules", "condition", rule.name, rule.condition
    for term in library.area_terms:
        yield "area", "value", term.name, term.value


def divisors(expr: Expr) -> Iterator[Expr]:
    """Every divisor in ``expr``."""
    if isinstance(expr, Arith) and expr.op in ("/", "//", "mod"):
        yield expr.right
    for child in children(expr):
        yield from divisors(child)


def _rules(library: Library, entries: Entries) -> None:
    broken = library.broken(library.start)
    if not broken:
        return
    try:
        found = admitted(library)
        if found is None:
            names = conflict(library).rules
            told = f"no chip of the menus keeps {' and '.join(names)}"
            entries.fault(told, ("rules", names[0]), "change one of them, or widen a menu")
            return
    except UndecidedError:
        entries.fault(
            "whether any chip keeps the rules could not be decided",
            ("rules",),
            "start from a chip that keeps them all",
        )
        return
    shown = ", ".join(
        f"{f.name} = {shown_value(f, at)}" for f, at in zip(library.fields, found, strict=True)
    )
    for name in broken:
        told = f"the chip to start from breaks the rule {name}"
        entries.fault(told, ("rules", name), f"one that keeps all: {shown}")


def _areas(library: Library, term: AreaTerm, entries: Entries) -> Areas:
    fields = read_fields_of(library, term.value)
    count = prod(len(f.menu) for f in fields)
    if count > POINTS:
        told = f"the area {term.name} depends on {count} combinations, too many to check"
        entries.fault(told, ("area", term.name), "split it into terms that read fewer fields")
        return {}
    opened = library.opened(term.value)
    names = [f"chip.{f.name}" for f in fields]
    found: Areas = {}
    for places in product(*(range(len(f.menu)) for f in fields)):
        values = [f.menu[at] for f, at in zip(fields, places, strict=True)]
        found[places] = Fraction(number(opened, dict(zip(names, values, strict=True))))
    return found


def _monotone(library: Library, term: AreaTerm, areas: Areas, entries: Entries) -> None:
    """No area is negative, none is nothing, and none falls as a field grows."""
    place = ("area", term.name)
    if areas and min(areas.values()) < 0:
        entries.fault(f"the area {term.name} is negative for some chip", place)
    if areas and max(areas.values()) == 0:
        hint = "leave it out, and name what is not modelled under [unmodelled]"
        entries.fault(f"the area {term.name} is 0 for every chip", place, hint)
    for at, field in enumerate(read_fields_of(library, term.value)):
        for places, value in areas.items():
            after = areas.get((*places[:at], places[at] + 1, *places[at + 1 :]))
            if after is not None and after < value:
                step = f"{shown_value(field, places[at])} to {shown_value(field, places[at] + 1)}"
                entries.fault(
                    f"the area {term.name} falls as {field.name} grows from {step}",
                    place,
                    "give it as a table of points: the envelope of a table never falls",
                )
                break


def _nothing_free(library: Library, tables: dict[str, Areas], entries: Entries) -> None:
    """A field with a choice costs area from its least to its largest value."""
    for field in library.fields:
        if len(field.menu) == 1:
            continue
        place = ("fields", field.name)
        if field.name in library.unmodelled:
            told = f"{field.name} has a choice, but its area is not modelled"
            entries.fault(told, place, "give it one value, or an area with a source")
        elif not any(_grows(library, t, tables[t.name], field) for t in library.area_terms):
            told = f"{field.name} has a choice, but costs no area: no resource is free"
            entries.fault(told, place, "give it an area with a source, or one value")


def _grows(library: Library, term: AreaTerm, areas: Areas, field: MenuField) -> bool:
    fields = [f.name for f in read_fields_of(library, term.value)]
    if field.name not in fields:
        return False
    at, top = fields.index(field.name), len(field.menu) - 1
    return any(
        areas[(*places[:at], top, *places[at + 1 :])] > value
        for places, value in areas.items()
        if places[at] == 0
    )
