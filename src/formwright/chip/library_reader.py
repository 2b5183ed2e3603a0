"""Library files: TOML with menus, derived quantities, rules and areas, read strictly."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from formwright.base.diagnostics import InputError, nearest
from formwright.base.quantities import Quantity, show_quantity
from formwright.base.toml import Document, Place
from formwright.chip.library import AreaTerm, Derived, Library, MenuField, Rule
from formwright.chip.library_checks import check_library
from formwright.chip.library_entries import Entries, Value
from formwright.chip.library_menus import read_fields
from formwright.chip.library_tables import curve, raised
from formwright.ir.expr import Arith, Expr, Truth

_TOP = ("library", "fields", "derived", "rules", "area", "unmodelled")
_SOURCE = "say where the formula and its numbers come from"


def read_library(document: Document) -> Library:
    """The library of a TOML file.

    Raises:
        InputError: every fault of the text; if it has none, every fault of what it says.
    """
    entries = Entries(document)
    entries.table((), _TOP)
    head = entries.table(("library",), ("name", "description"))
    name = entries.text(head, ("library",), "name", 'write [library] and name = "…"')
    description = entries.text(head, ("library",), "description")
    fields = read_fields(entries)
    # Names of fields that were not read are known all the same: their faults are told once.
    names = [f"chip.{n}" for n in entries.table(("fields",))]
    derived = _derived(entries, names)
    names += [f"chip.{n}" for n in entries.table(("derived",))]
    rules = _rules(entries, names)
    terms = _terms(entries, names, fields)
    unmodelled = _unmodelled(entries, names)
    _raise(entries)
    library = Library(name, description, fields, derived, rules, terms, unmodelled)
    check_library(library, entries)
    _raise(entries)
    return library


def _raise(entries: Entries) -> None:
    if entries.faults:
        raise InputError(entries.faults, entries.document.source)


def _derived(entries: Entries, fields: Sequence[str]) -> tuple[Derived, ...]:
    """Each may read the fields and those before it."""
    found: list[Derived] = []
    known = list(fields)
    for name in entries.table(("derived",)):
        place: Place = ("derived", name)
        table = entries.table(place, ("value", "unit", "source"))
        if f"chip.{name}" in known:
            entries.fault(f"{name} is a field already", place, "give it another name")
        unit = entries.text(table, place, "unit")
        value = _expression(entries, table, place, "value", known, unit)
        source = entries.text(table, place, "source", _SOURCE)
        known.append(f"chip.{name}")
        if value is not None:
            found.append(Derived(name, value, source, unit))
    return tuple(found)


def _rules(entries: Entries, names: Sequence[str]) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for name in entries.table(("rules",)):
        place: Place = ("rules", name)
        table = entries.table(place, ("condition", "source"))
        condition = _expression(entries, table, place, "condition", names)
        source = entries.text(table, place, "source")
        if condition is not None:
            found.append(Rule(name, condition, source))
    return tuple(found)


def _terms(
    entries: Entries, names: Sequence[str], fields: Sequence[MenuField]
) -> tuple[AreaTerm, ...]:
    table = entries.table(("area",))
    if not table:
        entries.fault("a library needs areas", ("area",), "write [area.NAME] with a value")
    found = [_term(entries, name, names, fields) for name in table]
    return tuple(t for t in found if t is not None)


def _term(
    entries: Entries, name: str, names: Sequence[str], fields: Sequence[MenuField]
) -> AreaTerm | None:
    place: Place = ("area", name)
    plain = "value" in entries.table(place)
    keys = ("value", "unit") if plain else ("field", "points", "times")
    table = entries.table(place, (*keys, "source", "error"))
    source = entries.text(table, place, "source", _SOURCE)
    error = entries.text(table, place, "error")
    if plain:
        unit = entries.text(table, place, "unit")
        if unit not in ("", "mm2", "um2"):
            entries.fault("an area is in mm2 or um2", (*place, "unit"))
        value = _expression(entries, table, place, "value", names, unit)
        return None if value is None else AreaTerm(name, value, source, error)
    return _table_term(entries, place, table, (names, fields), (source, error))


def _table_term(
    entries: Entries,
    place: Place,
    table: dict[str, Any],
    known: tuple[Sequence[str], Sequence[MenuField]],
    told: tuple[str, str],
) -> AreaTerm | None:
    """The envelope of ``points`` over ``field``, ``times`` an expression."""
    names, fields = known
    name = entries.text(table, place, "field", "name the field that the points go along")
    field = next((f for f in fields if f.name == name), None)
    if field is None:
        hint = nearest(name, [f.name for f in fields])
        entries.fault(f'"{name}" is no field that an area can go along', (*place, "field"), hint)
        return None
    points = _points(entries, table.get("points"), (*place, "points"), field)
    times = _expression(entries, table, place, "times", names) if "times" in table else None
    if not points or ("times" in table and times is None):
        return None
    for end in (field.menu[0], field.menu[-1]):
        if not points[0][0] <= end <= points[-1][0]:
            shown = show_quantity(Quantity(Fraction(end), field.dimension))
            entries.fault(
                f"the table does not reach {shown}, which the menu of {name} has",
                (*place, "points"),
                "add a point with its source, or shorten the menu",
            )
            return None
    value: Expr = curve(points, name)
    value = value if times is None else Arith("*", times, value)
    return AreaTerm(str(place[-1]), value, told[0], _with_envelope(told[1], points, field))


def _points(
    entries: Entries, given: object, place: Place, field: MenuField
) -> list[tuple[Value, Value]]:
    example = 'as in points = [["16 KiB", "0.0087 mm2"], ["32 KiB", "0.0113 mm2"]]'
    if not isinstance(given, list) or len(given) < 2:
        entries.fault("a table has at least two points", place, example)
        return []
    found: list[tuple[Value, Value]] = []
    for n, each in enumerate(given):
        if not isinstance(each, list) or len(each) != 2:
            entries.fault("a point is a value of the field and an area", (*place, n), example)
            return []
        x = entries.quantity(each[0], field.dimension, (*place, n, 0))
        y = entries.quantity(each[1], "area", (*place, n, 1))
        if x is not None and y is not None:
            found.append((x, y))
    for n, ((x0, _), (x1, _)) in enumerate(pairwise(found)):
        if x0 >= x1:
            entries.fault("the points do not ascend", (*place, n + 1), "order them by the field")
            return []
    return found if len(found) == len(given) else []


def _with_envelope(error: str, points: list[tuple[Value, Value]], field: MenuField) -> str:
    """What ``error`` says, and where the table falls so that an envelope was taken."""
    places = [show_quantity(Quantity(Fraction(x), field.dimension)) for x in raised(points)]
    if not places:
        return error
    note = f"the table is not monotone: raised to the envelope at {', '.join(places)}"
    return f"{error}; {note}" if error else note


def _unmodelled(entries: Entries, names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    table = entries.table(("unmodelled",))
    for name in table:
        found[name] = entries.text(table, ("unmodelled",), name, "say why no area is known")
        if f"chip.{name}" not in names:
            hint = nearest(f"chip.{name}", names)
            entries.fault(f'"{name}" is no field of the library', ("unmodelled", name), hint)
    return found


def _expression(
    entries: Entries,
    table: dict[str, Any],
    place: Place,
    key: str,
    names: Sequence[str],
    unit: str = "",
) -> Expr | None:
    if key not in table:
        entries.fault(f"{place[-1]} has no {key}", place, f'write {key} = "…" over chip.NAME')
        return None
    expr = entries.expression(table[key], (*place, key), names, unit)
    if isinstance(expr, Truth):
        entries.fault("a constant says nothing", (*place, key))
        return None
    return expr
