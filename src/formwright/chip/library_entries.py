"""Reading the tables of a library's file: texts, quantities and expressions, with their faults."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.quantities import (
    UNITS,
    Dimension,
    QuantityError,
    parse_quantity,
)
from formwright.base.source import Span
from formwright.base.toml import Document, Place
from formwright.ir.expr import Arith, Expr, num
from formwright.ir.rewrite import free_names
from formwright.lang import parse_expression

Value = int | Fraction


@dataclass(slots=True)
class Entries:
    """A file being read, and what was found wrong with it so far."""

    document: Document
    faults: list[Diagnostic] = field(default_factory=list)

    def fault(self, message: str, place: Place, hint: str | None = None) -> None:
        self.faults.append(Diagnostic(message, self.document.value(*place), hint))

    def table(self, place: Place, known: Iterable[str] | None = None) -> dict[str, Any]:
        """The table at ``place``, empty where there is none; ``known`` are its keys."""
        value: Any = self.document.table
        for step in place:
            value = value.get(step, {}) if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.fault(f"{place[-1]} is a table", place, f"write [{'.'.join(map(str, place))}]")
            return {}
        if known is not None:
            self.faults += self.document.unknown(place, value, known)
        return value

    def text(self, table: dict[str, Any], place: Place, key: str, needed: str = "") -> str:
        """The text of ``key``; where it is missing or empty, ``needed`` says why it must be."""
        value = table.get(key, "")
        if not isinstance(value, str):
            self.fault(f"{key} is a text", (*place, key), "put it in quotes")
            return ""
        if needed and not value.strip():
            self.fault(f"{place[-1]} has no {key}", (*place, key), needed)
        return value

    def quantity(self, value: object, dimension: Dimension, place: Place) -> Value | None:
        """A number in the base unit of ``dimension``."""
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            self.fault(f"a {dimension} is a number with a unit in quotes", place)
            return None
        try:
            return _plain(parse_quantity(str(value), dimension).value)
        except QuantityError as error:
            self.fault(str(error), place, error.hint)
            return None

    def expression(
        self, value: object, place: Place, known: Iterable[str], unit: str = ""
    ) -> Expr | None:
        """An expression over ``known`` names (with ``chip.``), brought to the base unit."""
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            self.fault("an expression is a text", place, 'as in "2 * chip.array"')
            return None
        try:
            expr = parse_expression(str(value))
        except InputError as error:
            for each in error.diagnostics:
                span = self._inside(place, each.span)
                self.faults.append(replace(each, span=span))
            return None
        known = tuple(known)
        for name in sorted(free_names(expr) - set(known)):
            hint = nearest(name, known) or f"known here: {', '.join(known)}"
            self.fault(f'"{name}" is unknown', place, hint)
        factor = unit_factor(unit)
        return expr if factor == 1 else Arith("*", expr, num(factor))

    def _inside(self, place: Place, span: Span | None) -> Span | None:
        """A column of a quoted expression as one of the file; the quote stands before it."""
        whole = self.document.value(*place)
        if whole is None or span is None:
            return whole
        end = min(whole.column + span.end_column, whole.end_column)
        return replace(whole, column=min(whole.column + span.column, end - 1), end_column=end)


def unit_factor(unit: str) -> Fraction:
    """What a number of ``unit`` counts in the base unit; a unit that is unknown is only shown."""
    factors = [units[unit] for units in UNITS.values() if unit and unit in units]
    return factors[0] if factors else Fraction(1)


def _plain(value: Fraction) -> Value:
    return value.numerator if value.denominator == 1 else value
