"""The element types: their NumPy forms, and what one rounding to them changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

DType = Literal["f32", "f16", "bf16", "i8"]

Array = NDArray[Any]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

U32: Final = 2.0**-24
"""Unit roundoff of f32, in which every kernel of a contract accumulates."""

TINY32: Final = 2.0**-150
"""Half the least denormal f32: what one gradual underflow changes at most (Higham, 2.1)."""

U64: Final = 2.0**-53
"""Unit roundoff of float64, in which the references compute."""

FLT_MAX: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Format:
    """An element type. ``roundoff`` u, ``underflow`` half the least denormal, ``largest`` finite.

    Rounding to nearest changes a number by at most ``u * |x| + underflow``.
    """

    name: DType
    numpy: np.dtype[Any]
    roundoff: Fraction
    underflow: Fraction
    largest: float

    @property
    def bytes(self) -> int:
        return int(self.numpy.itemsize)


def _float(name: DType, kind: Any, digits: int, most: int, least: int) -> Format:
    halves = Fraction(1, 1 << digits), Fraction(1, 1 << (1 - least))
    largest = float((2 - Fraction(2, 1 << digits)) * 2**most)
    return Format(name, np.dtype(kind), *halves, largest)


FORMATS: Final[Mapping[DType, Format]] = {
    "f32": _float("f32", np.float32, 24, 127, -149),
    "f16": _float("f16", np.float16, 11, 15, -24),
    "bf16": _float("bf16", ml_dtypes.bfloat16, 8, 127, -133),
    "i8": Format("i8", np.dtype(np.int8), Fraction(0), Fraction(0), 127.0),
}
"""Digits with the leading one, the largest exponent, that of the least denormal."""


def format_of(dtype: DType) -> Format:
    """The element type called ``dtype``."""
    return FORMATS[dtype]


def to_type(values: Any, dtype: DType) -> Array:
    """``values`` rounded to nearest even in the element type, contiguous."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(np.asarray(values).astype(FORMATS[dtype].numpy))


def to_double(array: Array) -> F64:
    """The exact values of an array of any element type."""
    # A NaN that signals, as the poison of outputs is, makes the cast complain.
    with np.errstate(invalid="ignore"):
        return np.asarray(array.astype(np.float64))


def gamma(terms: F64, roundoff: float = U32) -> F64:
    """``n u / (1 - n u)`` for each count ``n`` (Higham, 3.1)."""
    return terms * roundoff / (1 - terms * roundoff)
