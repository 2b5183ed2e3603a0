"""Whether what walls stand on grows with the fields behind it: more of a field admits more."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from formwright.chip.library import Library, MenuField
from formwright.chip.library_points import shown_value
from formwright.ir.evaluate import number
from formwright.ir.expr import Var

CHIPS = 100_000
"""Combinations of the fields behind a derived quantity that are looked at."""


@dataclass(frozen=True, slots=True)
class Falls:
    """``chip.NAME`` is less with more of ``field``, from ``before`` to ``after``."""

    field: str
    before: str
    after: str


class TooManyError(Exception):
    """The quantity reads fields with more than :data:`CHIPS` combinations."""


def falls(library: Library, name: str) -> Falls | None:
    """Where the field or derived quantity ``name`` falls as a field behind it grows, if it does.

    Exact: every combination of the fields that it reads is looked at.

    Raises:
        TooManyError: they are too many.
    """
    fields = [f for f in library.fields if f.name in library.reads(name)]
    if prod(len(f.menu) for f in fields) > CHIPS:
        raise TooManyError(name)
    opened = library.opened(Var(f"chip.{name}"))
    names = [f"chip.{f.name}" for f in fields]
    values = {
        places: number(opened, dict(zip(names, _menu_values(fields, places), strict=True)))
        for places in product(*(range(len(f.menu)) for f in fields))
    }
    for at, field in enumerate(fields):
        for places, value in values.items():
            after = values.get((*places[:at], places[at] + 1, *places[at + 1 :]))
            if after is not None and after < value:
                shown = [shown_value(field, places[at] + n) for n in (0, 1)]
                return Falls(field.name, *shown)
    return None


def _menu_values(fields: list[MenuField], places: tuple[int, ...]) -> list[int | Fraction]:
    return [f.menu[at] for f, at in zip(fields, places, strict=True)]
