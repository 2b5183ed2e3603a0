"""Numbers for the inputs of kinds, as far as the element types can hold them."""

from math import isqrt

import numpy as np

from formwright.contract.numbers import F64, Array, DType, format_of

Generator = np.random.Generator
Shape = tuple[int, ...]

_TOP: dict[DType, int] = {"f32": 126, "bf16": 126, "f16": 14, "i8": 6}
_BOTTOM: dict[DType, int] = {"f32": -126, "bf16": -126, "f16": -14, "i8": 0}
_DIGITS: dict[DType, int] = {"f32": 24, "bf16": 8, "f16": 11, "i8": 7}


def top(*dtypes: DType) -> int:
    """The largest exponent of all these types; int8 has none, it is small beside any."""
    return min((_TOP[d] for d in dtypes if d != "i8"), default=_TOP["i8"])


def digits(dtype: DType) -> int:
    """Binary digits of the type, the leading one included: integers below 2^digits are exact."""
    return _DIGITS[dtype]


def normal(rng: Generator, shape: Shape, dtype: DType = "f32") -> Array:
    """Standard normal; for int8 every value alike."""
    if dtype == "i8":
        return rng.integers(-127, 128, shape).astype(np.int8)
    return np.asarray(rng.standard_normal(shape, np.float32))


def uniform(rng: Generator, shape: Shape, dtype: DType = "f32") -> Array:
    """In [0, 1): sums without cancellation; for int8 from 0 to 127."""
    if dtype == "i8":
        return rng.integers(0, 128, shape).astype(np.int8)
    return np.asarray(rng.random(shape, np.float32))


def scaled(rng: Generator, shape: Shape, low: int, high: int, dtype: DType = "f32") -> F64:
    """Either sign, exponents alike in ``low .. high``, as far as the type has them."""
    first, last = max(low, _BOTTOM[dtype]), min(high, _TOP[dtype])
    exponent = rng.integers(min(first, last), last + 1, shape)
    size = np.ldexp(rng.uniform(0.5, 1, shape), exponent)
    return np.asarray(size * sign(rng, shape), np.float64)


def sign(rng: Generator, shape: Shape) -> F64:
    """Plus and minus one alike."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def denormal(rng: Generator, shape: Shape, dtype: DType) -> F64:
    """Denormal numbers of the type, either sign; for int8 the numbers 1 and -1."""
    if dtype == "i8":
        return sign(rng, shape)
    least = 2 * float(format_of(dtype).underflow)
    size = rng.integers(1, 1 << (_DIGITS[dtype] - 2), shape).astype(np.float64) * least
    return np.asarray(size * sign(rng, shape))


def whole_limit(terms: int, *dtypes: DType) -> int:
    """The largest ``B`` with ``terms * B^2 <= 2^24`` that the types hold exactly."""
    limit = isqrt((1 << 24) // max(terms, 1))
    return min(limit, *(127 if d == "i8" else 1 << _DIGITS[d] for d in dtypes))


def whole(rng: Generator, shape: Shape, limit: int) -> F64:
    """Integers in ``-limit .. limit``."""
    return rng.integers(-limit, limit + 1, shape).astype(np.float64)
