"""Axes: where a value lies between two edges, and at which values an axis is marked.

Positions are shares of the axis, 0 at its low edge and 1 at its high edge.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from formwright.report.html.numbers import number, prefix_power, prefixed, said
from formwright.report.page import Axis

STEPS = 5
"""About as many steps as an axis is divided into."""


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis with its edges. ``unit`` is what a linear axis is counted in, prefix included; a
    logarithmic one says the unit at each of its ticks."""

    axis: Axis
    low: float
    high: float
    unit: str
    ticks: tuple[Tick, ...]

    def at(self, value: float) -> float | None:
        """The share of the axis, outside 0 to 1 beyond its edges; ``None`` without a place."""
        found = _share(value, self.low, self.high, self.axis.scale == "log")
        return found if found is not None and isfinite(found) else None

    def within(self, value: float) -> float | None:
        """The share, for a value between the edges."""
        found = self.at(value)
        return found if found is not None and -1e-9 <= found <= 1 + 1e-9 else None

    @property
    def label(self) -> str:
        unit = "" if self.axis.scale == "log" else self.unit
        return f"{self.axis.name}, {unit}" if unit else self.axis.name

    def says(self, value: float) -> str:
        return said(value, self.axis.unit)


def scale_of(axis: Axis, values: Iterable[float], zero: bool = False) -> Scale:
    """The scale of an axis over ``values``; those that it has no place for are left out.

    ``zero``: a linear axis begins at zero even where all values are far from it (bars).
    """
    log = axis.scale == "log"
    shown = [v for v in values if isfinite(v) and (not log or v > 0)]
    edges = [e for e in (axis.low, axis.high) if e is not None and (not log or e > 0)]
    low, high = _span(shown or edges or [1.0], log)
    if not log and (zero or 0 < low < 0.25 * high):
        low, high = min(low, 0.0), max(high, 0.0)
    step = _step(low, high)
    if log:
        low, high = _down(low), _up(high)
    else:
        low, high = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
    low = axis.low if axis.low is not None and (not log or axis.low > 0) else low
    high = axis.high if axis.high is not None and axis.high > low else high
    if high <= low:
        low, high = _span([low], log)
    power = 0 if log else prefix_power(max(abs(low), abs(high)), axis.unit)
    return Scale(
        axis, low, high, prefixed(axis.unit, power), _ticks(low, high, log, axis.unit, power)
    )


def _span(values: list[float], log: bool) -> tuple[float, float]:
    """The edges of the values, apart where they all are one."""
    low, high = min(values), max(values)
    if high > low:
        return low, high
    if log:
        return low / 2, high * 2
    room = abs(low) / 2 or 1.0
    return low - room, high + room


def _step(low: float, high: float) -> float:
    """The least of 1, 2, 2.5, 5 times a power of ten that makes no more than ``STEPS`` steps."""
    rough = (high - low) / STEPS
    ten = 10.0 ** floor(log10(rough))
    return next(m * ten for m in (1, 2, 2.5, 5, 10) if m * ten >= rough * (1 - 1e-9))


def _down(value: float) -> float:
    ten = 10.0 ** floor(log10(value))
    return max(m * ten for m in (1, 2, 5) if m * ten <= value * (1 + 1e-9))


def _up(value: float) -> float:
    ten = 10.0 ** floor(log10(value))
    return min(m * ten for m in (1, 2, 5, 10) if m * ten >= value * (1 - 1e-9))


def _share(value: float, low: float, high: float, log: bool) -> float | None:
    if not isfinite(value) or (log and value <= 0):
        return None
    if log:
        return (log10(value) - log10(low)) / (log10(high) - log10(low))
    return (value - low) / (high - low)


def _ticks(low: float, high: float, log: bool, unit: str, power: int) -> tuple[Tick, ...]:
    decades = log10(high / low) if log else 0.0
    if log and decades >= 1:
        marked = _log_marks(low, high, decades)
    else:
        step = _step(low, high)
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        marked = [n * step for n in range(first, last + 1)]
    found = []
    for value in marked:
        at = _share(value, low, high, log)
        if at is not None:
            text = said(value, unit) if log else number(value / 10.0**power)
            found.append(Tick(at, text))
    return tuple(found)


def _log_marks(low: float, high: float, decades: float) -> list[float]:
    """Powers of ten, some of them on a long axis, with 2 and 5 between on a short one."""
    factors = (1, 2, 5) if decades < 2 else (1, 3) if decades < 3 else (1,)
    every = max(1, ceil(decades / (STEPS + 1)))
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    marked = [m * 10.0**p for p in powers if p % every == 0 for m in factors]
    return [v for v in marked if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
