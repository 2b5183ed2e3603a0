"""Quantities are exact, refuse wrong units, and are shown in a unit that reads well."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formwright.base.quantities import (
    BASE,
    UNITS,
    Dimension,
    Quantity,
    QuantityError,
    parse_quantity,
    show_quantity,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("96 KiB", "bytes", 98304),
        ("1.8 GHz", "frequency", 1_800_000_000),
        ("80TFLOP/s", "compute", 80 * 10**12),
        ("1.8 TB/s", "bandwidth", 1_800_000_000_000),
        ("40 cycles", "cycles", 40),
        ("250 ns", "time", Fraction(1, 4_000_000)),
        ("1.11 mm2", "area", Fraction(111, 100)),
        ("32_768", "count", 32768),
        ("0.5 KiB", "bytes", 512),
    ],
)
def test_exact(text: str, dimension: Dimension, value: Fraction) -> None:
    assert parse_quantity(text, dimension) == Quantity(Fraction(value), dimension)


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        ("96 GHz", "bytes", '"GHz" measures frequency, not bytes'),
        ("96 KB", "bytes", 'unknown unit "KB"'),
        ("96", "bytes", "needs a unit"),
        ("0.3 bytes", "bytes", "not a whole number"),
        ("1.5", "count", "not a whole number"),
        ("fast", "frequency", "is not a quantity"),
        ("1e9999 Hz", "frequency", "unknown unit"),
        ("1e400 mm2", "area", "out of range"),
        ("-1e61", "ratio", "out of range"),
        ("1e-400 s", "time", "out of range"),
        ("nan Hz", "frequency", "is not a quantity"),
    ],
)
def test_refused_with_a_hint(text: str, dimension: Dimension, message: str) -> None:
    with pytest.raises(QuantityError, match=message) as caught:
        parse_quantity(text, dimension)
    assert caught.value.hint.startswith("write ")


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (98304, "bytes", "96 KiB"),
        (1_800_000_000, "frequency", "1.8 GHz"),
        (Fraction(1, 4_000_000), "time", "250 ns"),
        (0, "time", "0 s"),
        (1_800_000_000_000, "bandwidth", "1.8 TB/s"),
        (123456, "count", "123456"),
    ],
)
def test_shown(value: Fraction, dimension: Dimension, text: str) -> None:
    assert show_quantity(Quantity(Fraction(value), dimension)) == text


@given(st.sampled_from(sorted(UNITS)), st.integers(1, 10**15))
def test_shown_whole_numbers_read_back(dimension: Dimension, value: int) -> None:
    quantity = Quantity(Fraction(value), dimension)
    shown = parse_quantity(f"{value} {BASE[dimension]}", dimension)
    assert shown == quantity
    near = show_quantity(quantity, digits=17)
    unit = near.partition(" ")[2]
    back = Fraction(near.partition(" ")[0]) * UNITS[dimension][unit]
    assert abs(back / quantity.value - 1) < Fraction(1, 10**15)
