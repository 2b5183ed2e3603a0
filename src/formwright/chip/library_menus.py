"""The fields of a library: menus written out or as a range, their role and where they start."""

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, get_args

from formwright.base.diagnostics import nearest
from formwright.base.quantities import Dimension, Quantity, show_quantity
from formwright.base.toml import Place
from formwright.chip.fields import FIELDS
from formwright.chip.library import MenuField, Role
from formwright.chip.library_entries import Entries, Value
from formwright.chip.library_points import nearest_value

MENU_LIMIT = 100_000
FACTOR_LIMIT = 1_000
"""Values of a menu by a factor: exact powers of a fraction grow long."""
"""Places of one menu."""

_KEYS = ("dimension", "menu", "value", "role", "start", "source", "meaning")
_ROLES: Final[tuple[Role, ...]] = get_args(Role)
_DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)


def read_fields(entries: Entries) -> tuple[MenuField, ...]:
    """Every field of ``[fields]``, in the order of the file, which is that of points."""
    table = entries.table(("fields",))
    if not table:
        entries.fault("a library needs fields", ("fields",), "write [fields.NAME] with a menu")
    found = [_field(entries, name) for name in table]
    return tuple(f for f in found if f is not None)


def _field(entries: Entries, name: str) -> MenuField | None:
    place: Place = ("fields", name)
    table = entries.table(place, _KEYS)
    dimension = _dimension(entries, name, table)
    meaning = entries.text(table, place, "meaning")
    meaning = meaning or (FIELDS[name].meaning if name in FIELDS else "")
    source = entries.text(table, place, "source", "say where the menu comes from")
    if dimension is None:
        return None
    menu = _menu(entries, name, table, dimension)
    role = _role(entries, name, table, len(menu))
    start = _start(entries, table, place, dimension, menu)
    if not menu or role is None or start is None:
        return None
    return MenuField(name, dimension, menu, role, start, source, meaning)


def _dimension(entries: Entries, name: str, table: dict[str, Any]) -> Dimension | None:
    place: Place = ("fields", name, "dimension")
    if "dimension" not in table and name in FIELDS:
        return FIELDS[name].dimension
    if "dimension" not in table:
        entries.fault(f"{name} has no dimension", place, f"one of {', '.join(_DIMENSIONS)}")
        return None
    for known in _DIMENSIONS:
        if table["dimension"] == known:
            return known
    hint = nearest(str(table["dimension"]), _DIMENSIONS) or f"one of {', '.join(_DIMENSIONS)}"
    entries.fault(f"{name} has an unknown dimension", place, hint)
    return None


def _role(entries: Entries, name: str, table: dict[str, Any], places: int) -> Role | None:
    place: Place = ("fields", name, "role")
    single = places == 1 or "value" in table
    given = table.get("role", "fixed" if single else None)
    role = next((r for r in _ROLES if r == given), None)
    if role is None:
        told = "has no role" if given is None else f'has the unknown role "{given}"'
        entries.fault(f"{name} {told}", place, f"one of {', '.join(_ROLES)}")
    elif role == "fixed" and places > 1:
        hint = "leave one value, or say what the field changes: capacity, throughput or both"
        entries.fault(f"{name} is fixed but has {places} values", place, hint)
        return None
    return role


def _menu(
    entries: Entries, name: str, table: dict[str, Any], dimension: Dimension
) -> tuple[Value, ...]:
    place: Place = ("fields", name, "menu")
    if ("menu" in table) == ("value" in table):
        hint = 'menu = ["16 KiB", "32 KiB"], menu = { from, to, step } or value = "1.8 GHz"'
        entries.fault(f"{name} has {_both(table)}", ("fields", name), hint)
        return ()
    if "value" in table:
        single = entries.quantity(table["value"], dimension, ("fields", name, "value"))
        return () if single is None else (single,)
    given = table["menu"]
    if isinstance(given, dict):
        return _range(entries, name, given, dimension)
    if not isinstance(given, list):
        entries.fault(f"the menu of {name} is a list or a range", place)
        return ()
    read = [entries.quantity(v, dimension, (*place, n)) for n, v in enumerate(given)]
    menu = tuple(v for v in read if v is not None)
    if not given:
        entries.fault(f"the menu of {name} is empty", place, "give it at least one value")
    for at, (one, other) in enumerate(pairwise(menu)):
        if one >= other and len(menu) == len(given):
            shown = [show_quantity(Quantity(Fraction(v), dimension)) for v in (one, other)]
            hint = "order it from the least to the largest, each value once"
            told = f"the menu of {name} does not ascend: {shown[0]} is followed by {shown[1]}"
            entries.fault(told, (*place, at + 1), hint)
            break
    return menu


def _both(table: dict[str, Any]) -> str:
    return "a menu and a value" if "menu" in table else "no menu"


def _range(
    entries: Entries, name: str, given: dict[str, Any], dimension: Dimension
) -> tuple[Value, ...]:
    place: Place = ("fields", name, "menu")
    entries.faults += entries.document.unknown(place, given, ("from", "to", "step", "factor"))
    if "from" not in given or "to" not in given or ("step" in given) == ("factor" in given):
        hint = 'as in { from = "16 KiB", to = "256 KiB", step = "16 KiB" }, or factor = 2'
        entries.fault(f"the range of {name} needs from, to and one of step and factor", place, hint)
        return ()
    low = entries.quantity(given["from"], dimension, (*place, "from"))
    high = entries.quantity(given["to"], dimension, (*place, "to"))
    by = "step" if "step" in given else "factor"
    unit: Dimension = dimension if by == "step" else "ratio"
    amount = entries.quantity(given[by], unit, (*place, by))
    if low is None or high is None or amount is None:
        return ()
    if low > high:
        entries.fault(f"the menu of {name} is empty: from is above to", place, "exchange them")
        return ()
    if amount <= (0 if by == "step" else 1) or (by == "factor" and low <= 0):
        entries.fault(f"the {by} of {name} leads nowhere", (*place, by), "it must lead upwards")
        return ()
    return _walk(entries, name, low, high, amount, by == "step")


def _walk(
    entries: Entries, name: str, low: Value, high: Value, amount: Value, adds: bool
) -> tuple[Value, ...]:
    menu: list[Value] = []
    value = low
    limit = MENU_LIMIT if adds else FACTOR_LIMIT
    while value <= high:
        if len(menu) == limit:
            told = f"the menu of {name} has more than {limit} values"
            entries.fault(told, ("fields", name, "menu"), "take larger steps")
            return ()
        menu.append(value)
        value = value + amount if adds else value * amount
        if value.denominator == 1:
            value = value.numerator
    return tuple(menu)


def _start(
    entries: Entries,
    table: dict[str, Any],
    place: Place,
    dimension: Dimension,
    menu: tuple[Value, ...],
) -> int | None:
    if not menu:
        return None
    if "start" not in table:
        if len(menu) > 1:
            entries.fault(f"{place[-1]} has no start", place, "name the value to begin with")
            return None
        return 0
    start = entries.quantity(table["start"], dimension, (*place, "start"))
    if start is None:
        return None
    if start not in menu:
        near = nearest_value(menu, start)
        shown = show_quantity(Quantity(Fraction(near), dimension))
        entries.fault(
            f"the start of {place[-1]} is not in its menu", (*place, "start"), f"nearest: {shown}"
        )
        return None
    return menu.index(start)
