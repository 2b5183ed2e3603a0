"""Figures as a page prints them: three digits, a unit that fits, the value beside."""

from collections.abc import Iterable
from math import isfinite, log

from formwright.report.page import Cell, Evidence, Origin

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def time_unit(values: Iterable[float]) -> tuple[float, str]:
    """The unit for a chart of ``values`` seconds: what one is in seconds, and its name."""
    largest = max((v for v in values if v > 0), default=1.0)
    return next((u for u in _TIMES if largest >= u[0]), _TIMES[-1])


def seconds_text(value: float) -> str:
    """``339 µs``."""
    if value == 0:
        return "0 s"
    scale, name = time_unit([value])
    return f"{_three(value / scale)} {name}"


def seconds_cell(
    value: float | None, origin: Origin | None = None, evidence: Evidence | None = None
) -> Cell:
    """A time; a dash where there is none."""
    if value is None:
        return Cell("–")
    return Cell(seconds_text(value), value, origin, evidence)


def bytes_cell(value: float | None, origin: Origin | None = None) -> Cell:
    """Bytes with a binary prefix; a dash where the figure is not known."""
    if value is None:
        return Cell("–")
    for scale, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= scale:
            return Cell(f"{_three(value / scale)} {name}", value, origin)
    return Cell(f"{value:.0f} B", value, origin)


def count_cell(value: int, origin: Origin | None = None) -> Cell:
    return Cell(f"{value:,}", value, origin)


def counted(count: int, what: str) -> str:
    """``1 run``, ``2,000 runs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def ratio_text(median: float, low: float | None, high: float | None) -> str:
    """``1.92 times [1.86, 2.01]``."""
    if low is None or high is None:
        return f"{_three(median)} times"
    return f"{_three(median)} times [{_three(low)}, {_three(high)}]"


def mean_log_error(pairs: Iterable[tuple[float, float]]) -> float | None:
    """The mean of ``|log(predicted / measured)|``: 0.1 is about ten per cent."""
    logs = [abs(log(p / m)) for p, m in pairs if p > 0 and m > 0]
    found = sum(logs) / len(logs) if logs else None
    return found if found is not None and isfinite(found) else None


def _three(value: float) -> str:
    """Three significant digits, without an exponent where the number is a common one."""
    if value >= 1e5 or 0 < value < 1e-3:
        return f"{value:.2e}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"
