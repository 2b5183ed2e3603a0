"""Chips of a library named by the values of their fields."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.quantities import Quantity, QuantityError, parse_quantity, show_quantity
from formwright.chip.library import Library, MenuField, Point


def point_of(
    library: Library, values: Mapping[str, int | str | Fraction], base: Point | None = None
) -> Point:
    """The chip with ``values`` (numbers in base units, or texts such as ``"64 KiB"``).

    Fields that are not named are those of ``base``, by default of the library's start.

    Raises:
        InputError: a name that is no field, a value that is not in the menu; all at once.
    """
    faults: list[Diagnostic] = []
    point = list(library.start if base is None else base)
    names = [f.name for f in library.fields]
    for name, given in values.items():
        if name not in names:
            hint = nearest(name, names) or f"fields: {', '.join(names)}"
            faults.append(Diagnostic(f"{library.name} has no field {name}", hint=hint))
            continue
        at = names.index(name)
        try:
            point[at] = place_of(library.fields[at], given)
        except QuantityError as error:
            faults.append(Diagnostic(f"{name}: {error}", hint=error.hint))
    if faults:
        raise InputError(faults)
    return tuple(point)


def place_of(field: MenuField, given: int | str | Fraction) -> int:
    """Where ``given`` stands in the menu of ``field``. Raises ``QuantityError``."""
    value = parse_quantity(given, field.dimension).value if isinstance(given, str) else given
    if value in field.menu:
        return field.menu.index(value)
    near = nearest_value(field.menu, value)
    shown = [show_quantity(Quantity(Fraction(v), field.dimension)) for v in (value, near)]
    raise QuantityError(f"{shown[0]} is not in the menu of {field.name}", f"nearest: {shown[1]}")


def nearest_value(menu: Sequence[int | Fraction], value: int | Fraction) -> int | Fraction:
    """The value of ``menu`` with the least distance from ``value``."""
    return min(menu, key=lambda known: abs(Fraction(known) - Fraction(value)))


def shown_value(field: MenuField, place: int) -> str:
    """A menu value with its unit, as people read it."""
    return show_quantity(Quantity(Fraction(field.menu[place]), field.dimension))
