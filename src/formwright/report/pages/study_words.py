"""Figures of studies in words: one way of writing a number, a value with its unit, a spread."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import median
from typing import Any, Final, get_args

from formwright.base.quantities import BASE, Dimension, Quantity, show_quantity

_DIMENSIONS: Final[Mapping[str, Dimension]] = {d: d for d in get_args(Dimension)}
_PLAIN: Final = 1e7
"""Numbers from here on are written with an exponent."""
_SMALL: Final = 1e-4
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

NOTHING: Final = 1e-6
"""Gaps below it are what rounding bounds down leaves."""

UNITS: Final[Mapping[str, str]] = {
    "joules": "J",
    "millijoules": "mJ",
    "microjoules": "µJ",
    "nanojoules": "nJ",
    "picojoules": "pJ",
    "femtojoules": "fJ",
    "seconds": "s",
}


def figure(value: float | None, digits: int = 5) -> str:
    """``1.5068×10⁹``, ``917,504``, ``9.2553``; ``-`` where there is none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= _PLAIN or abs(value) < _SMALL:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        raised = f"10{str(int(exponent)).translate(_RAISED)}"
        return raised if short == "1" else f"{short}×{raised}"
    if float(value).is_integer():
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text else text


def percent(value: float | None) -> str:
    """A part as per cent; what rounding leaves is 0 %."""
    if value is None:
        return "-"
    if abs(value) < NOTHING:
        return "0 %"
    return f"{value * 100:.2g} %" if abs(value) < 0.995 else f"{value * 100:,.0f} %"


def rounded_down(value: float, digits: int) -> float:
    """To so many significant digits: a bound from below is never told as more than it is."""
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return float(context.create_decimal(repr(float(value))))


def no_higher(value: float | None, digits: int = 5) -> str:
    """As :func:`figure`, rounded down."""
    if value is None or (float(value).is_integer() and abs(value) < _PLAIN):
        return figure(value, digits)
    return figure(rounded_down(value, digits), digits)


def no_less(value: float | None) -> str:
    """As :func:`percent`, rounded up: what a part is at most."""
    if value is None or abs(value) < NOTHING:
        return percent(value)
    hundred = Decimal(repr(float(value))) * 100
    places = 2 if abs(value) < 0.995 else max(1, hundred.adjusted() + 1)
    up = Context(prec=places, rounding=ROUND_CEILING).create_decimal(hundred)
    return f"{up.normalize():,f} %"


def unit(word: str) -> str:
    """The sign of a unit of energy or time, other words as they are."""
    return UNITS.get(word, word)


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def spread(values: Sequence[float], digits: int = 5) -> str:
    """The median, and the least and the largest where they differ."""
    if not values:
        return "-"
    middle = figure(median(values), digits)
    if min(values) == max(values):
        return middle
    return f"{middle} [{figure(min(values), digits)}, {figure(max(values), digits)}]"


def ratio(found: Mapping[str, Any] | None, digits: int = 3) -> str:
    """A median with its interval."""
    if found is None:
        return "-"
    middle, low, high = (f"{found[n]:.{digits}f}" for n in ("median", "low", "high"))
    return f"{middle} [{low}, {high}]"


def assignment(values: Mapping[str, Any]) -> str:
    """``Tm=64 Tn=128``."""
    return " ".join(f"{name}={value}" for name, value in values.items())


class Fields:
    """Values of a chip's fields with their units. ``dimensions`` by field."""

    def __init__(self, dimensions: Mapping[str, str], choices: Sequence[str]) -> None:
        self._dimensions = dimensions
        self.choices = tuple(choices)

    def value(self, name: str, value: float) -> str:
        dimension = _DIMENSIONS.get(self._dimensions.get(name, ""), "count")
        return show_quantity(Quantity(Fraction(value), dimension), 6)

    def chip(self, values: Mapping[str, float]) -> str:
        """The fields that a study chooses."""
        return ", ".join(f"{n} {self.value(n, values[n])}" for n in self.choices if n in values)

    def steps(self, steps: Mapping[str, Sequence[float]]) -> str:
        """What changed: ``array 16 → 32``."""
        return ", ".join(
            f"{n} {self.value(n, was)} → {self.value(n, now)}" for n, (was, now) in steps.items()
        )

    def scale(self, name: str) -> tuple[float, str]:
        """What to divide values of a field by for an axis, and the unit then."""
        dimension = _DIMENSIONS.get(self._dimensions.get(name, ""), "count")
        return (1024.0, "KiB") if dimension == "bytes" else (1.0, BASE[dimension])
