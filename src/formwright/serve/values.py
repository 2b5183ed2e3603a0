"""Reading what a journal says without trust in its form: what is not as expected is nothing."""

from fractions import Fraction
from math import isfinite
from typing import Any, Final

LONGEST_TEXT: Final = 240
"""Characters of a text from a journal that are shown; its entry has all of it."""


def text(value: Any) -> str:
    """A string on one line, cut at :data:`LONGEST_TEXT`; empty for anything else."""
    if not isinstance(value, str):
        return ""
    one = " ".join(value.split())
    return one if len(one) <= LONGEST_TEXT else f"{one[: LONGEST_TEXT - 1]}…"


def number(value: Any) -> float | None:
    """A finite number, also of a text such as ``"1176437/125000"``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > 200:
        return None
    try:
        found = float(Fraction(value)) if isinstance(value, str) else float(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return found if isfinite(found) else None


def shown_seconds(value: float | None) -> str:
    """``0.429 ms``; ``-`` where there is none."""
    if value is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 0.1:
            return f"{value * scale:.{_digits(value * scale)}f} {unit}"
    return f"{value * 1e9:.3g} ns"


def _digits(value: float) -> int:
    return 3 if value < 10 else 2 if value < 100 else 1
