"""Numbers as text for axes and values, with decimal prefixes where a unit takes them."""

from math import floor, isfinite, log10

PREFIXED = frozenset({"s", "B", "byte", "B/s", "byte/s", "flop/s", "FLOP/s", "J", "W", "Hz"})
"""Units that are given plain and shown with a prefix."""

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_POWERS = {"mm2": "mm²", "um2": "µm²", "mm^2": "mm²"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4) -> str:
    """``value`` with ``digits`` significant ones, whole numbers below a million in full."""
    if not isfinite(value):
        return "not a number" if value != value else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e6 and value == int(value):
        text = f"{size:,.0f}"
    elif 1e-3 <= size < 1e6:
        text = f"{size:,.{max(0, digits - 1 - floor(log10(size)))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, power = f"{size:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        raised = "10" + str(int(power)).translate(_SUPERSCRIPTS)
        text = raised if mantissa == "1" else f"{mantissa}×{raised}"
    return f"−{text}" if value < 0 else text


def prefix_power(size: float, unit: str) -> int:
    """The power of ten, a multiple of three, that suits ``size``; 0 for units without prefixes.

    Seconds are not counted in thousands of themselves.
    """
    if unit not in PREFIXED or size == 0 or not isfinite(size):
        return 0
    power = 3 * floor(log10(size * (1 + 1e-12)) / 3)
    return max(-12, min(power, 0 if unit == "s" else 15))


def prefixed(unit: str, power: int = 0) -> str:
    """The unit as it is printed."""
    return _PREFIXES[power] + _POWERS.get(unit, unit)


def said(value: float, unit: str, digits: int = 4) -> str:
    """A number with its unit, as in a sentence: ``said(1.25e-5, "s")`` is ``12.5 µs``."""
    power = prefix_power(abs(value), unit)
    text = number(value / 10.0**power, digits)
    if not unit:
        return text
    return f"{text}{'' if unit == '%' else ' '}{prefixed(unit, power)}"
