"""What a study says about chips: points of the library, parts of its menus, ceilings."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from formwright.base.diagnostics import nearest
from formwright.base.quantities import Dimension, QuantityError, parse_quantity
from formwright.base.toml import Place
from formwright.chip.library import Library, MenuField, Point
from formwright.chip.library_points import place_of, shown_value
from formwright.contract.fields import Fields
from formwright.contract.workloads import NAME
from formwright.walls.study import NamedChip

MOST_BUDGETS = 64


def read_library_part(fields: Fields, library: Library) -> Library:
    """The library with the menus that ``[menus]`` leaves; the start is moved into them."""
    table = fields.get(("menus",))
    if table is None:
        return library
    if not isinstance(table, dict):
        fields.fault("menus is not a table", ("menus",), "write [menus] and NAME = [values]")
        return library
    left: dict[str, MenuField] = {}
    for name, values in table.items():
        place: Place = ("menus", name)
        field = _field(fields, place, library, name)
        if field is None:
            continue
        if not isinstance(values, list) or not values:
            told = f"the menu of {name} is empty" if values == [] else f"{name} is not a menu"
            fields.fault(told, place, f"write some of {shown_menu(field)}")
            continue
        places = [_place_of(fields, (*place, n), field, v) for n, v in enumerate(values)]
        kept = sorted({p for p in places if p is not None})
        if kept:
            near = min(range(len(kept)), key=lambda n: abs(kept[n] - field.start))
            menu = tuple(field.menu[p] for p in kept)
            left[name] = replace(field, menu=menu, start=near)
    return replace(library, fields=tuple(left.get(f.name, f) for f in library.fields))


def read_point(fields: Fields, place: Place, library: Library, usual: Point) -> Point | None:
    """The chip of the table at ``place``; what it leaves out is as in ``usual``."""
    table = fields.get(place)
    if table is None:
        return usual
    if not isinstance(table, dict):
        fields.fault(f"{place[-1]} is not a chip", place, f"write {place[-1]} = {{ FIELD = … }}")
        return None
    return _point(fields, place, library, usual, table)


def name_fault(fields: Fields, place: Place, what: str) -> None:
    """A fault unless the last of ``place`` is a name that can stand in files and tables."""
    name = str(place[-1])
    if not NAME.fullmatch(name):
        fields.fault(f'"{name}" is not a name for a {what}', place, "use letters, digits, - _ .")


def read_chips(fields: Fields, library: Library) -> tuple[NamedChip, ...]:
    """``[chips.NAME]``: every field of the library that has a choice, and a source."""
    table = fields.get(("chips",))
    if table is None:
        return ()
    if not isinstance(table, dict):
        fields.fault("chips is not a table", ("chips",), "write [chips.NAME]")
        return ()
    found: list[NamedChip] = []
    for name, entry in table.items():
        place: Place = ("chips", name)
        name_fault(fields, place, "chip")
        if not isinstance(entry, dict):
            fields.fault(f"{name} is not a chip", place, f"write [chips.{name}] and its fields")
            continue
        source = fields.text((*place, "source"), "")
        if source == "":
            told = f"chip {name} has no source"
            fields.fault(told, place, 'say where it comes from: source = "…"')
        named = {key: value for key, value in entry.items() if key != "source"}
        missing = [f.name for f in library.fields if len(f.menu) > 1 and f.name not in named]
        if missing:
            fields.fault(f"chip {name} has no {', '.join(missing)}", place, f"add {missing[0]} = …")
        point = _point(fields, place, library, library.start, named)
        if point is not None and not missing:
            rule_faults(fields, place, library, point)
        if point is not None and source is not None and not missing:
            found.append(NamedChip(name, point, source))
    return tuple(found)


def read_budgets(fields: Fields) -> tuple[Fraction | None, ...]:
    """``budget`` or ``budgets``: areas, ascending; none given is no ceiling."""
    several = fields.get(("budgets",))
    if several is None:
        if fields.get(("budget",)) is None:
            return (None,)
        one = read_quantity(fields, ("budget",), "area")
        return (None,) if one is None else (one,)
    if fields.get(("budget",)) is not None:
        fields.fault("budget and budgets are both given", ("budget",), "leave one out")
    if not isinstance(several, list) or not 0 < len(several) <= MOST_BUDGETS:
        fields.fault(
            f"budgets is not a list of 1 .. {MOST_BUDGETS} areas",
            ("budgets",),
            'as in ["5 mm2", "10 mm2"]',
        )
        return (None,)
    areas = [read_quantity(fields, ("budgets", n), "area") for n in range(len(several))]
    known = [a for a in areas if a is not None]
    if known != sorted(set(known)):
        fields.fault("budgets do not ascend", ("budgets",), "write each once, the smallest first")
    return tuple(known) or (None,)


def read_quantity(
    fields: Fields, place: Place, dimension: Dimension, *, none: bool = False
) -> Fraction | None:
    """A positive number with its unit, in the base unit of ``dimension``; 0 where ``none`` is."""
    value: Any = fields.document.table
    for step in place:
        value = value[step]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        fields.fault(f"{_what(place)} is no quantity", place, _example(dimension))
        return None
    try:
        found = parse_quantity(str(value), dimension).value
    except QuantityError as error:
        fields.fault(f"{_what(place)}: {error}", place, error.hint)
        return None
    if found < 0 or (found == 0 and not none):
        fields.fault(f"{_what(place)} is not positive", place, "write a number above 0")
        return None
    return found


def shown_menu(field: MenuField) -> str:
    """The menu as a person reads it: all of it, or its ends and how many there are."""
    shown = [shown_value(field, n) for n in range(len(field.menu))]
    if len(shown) <= 8:
        return ", ".join(shown)
    return f"{shown[0]}, {shown[1]} .. {shown[-1]} ({len(shown)} values)"


def _point(
    fields: Fields, place: Place, library: Library, usual: Point, table: Mapping[str, Any]
) -> Point | None:
    point = list(usual)
    before = len(fields.faults)
    for name, value in table.items():
        at: Place = (*place, name)
        field = _field(fields, at, library, name)
        if field is not None:
            found = _place_of(fields, at, field, value)
            point[library.index(name)] = 0 if found is None else found
    return tuple(point) if len(fields.faults) == before else None


def _field(fields: Fields, place: Place, library: Library, name: str) -> MenuField | None:
    known = [f.name for f in library.fields]
    if name in known:
        return library.fields[library.index(name)]
    hint = nearest(name, known) or f"fields are {', '.join(known)}"
    # The key is what is wrong, not its value.
    told = f'library {library.name} has no field "{name}"'
    fields.fault(told, place, hint)
    return None


def _place_of(fields: Fields, place: Place, field: MenuField, value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        fields.fault(f"{field.name} is no quantity", place, f"it takes {shown_menu(field)}")
        return None
    try:
        # A number is read as a person writes it: 0.1 is a tenth.
        return place_of(field, str(value))
    except QuantityError as error:
        fields.fault(
            f"{field.name}: {error}", place, f"{error.hint}; the menu is {shown_menu(field)}"
        )
        return None


def _example(dimension: Dimension) -> str:
    match dimension:
        case "area":
            return 'as in "10 mm2"'
        case "ratio":
            return 'as in "5 %"'
        case _:
            return "write a number with its unit"


def _what(place: Place) -> str:
    return str(next(step for step in reversed(place) if isinstance(step, str)))


def rule_faults(fields: Fields, place: Place, library: Library, point: Point) -> None:
    """Faults where the chip breaks a rule of its library."""
    broken = library.broken(point)
    if broken:
        fields.fault(
            f"{_named(place)} breaks the rule {', '.join(broken)} of library {library.name}",
            place,
            "choose other values; the rules stand in the library's file",
        )


def _named(place: Place) -> str:
    return f"chip {place[-1]}" if place[0] == "chips" else f"the {place[-1]}"
