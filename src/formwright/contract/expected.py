"""What an output must be: the reference in float64, and how far each component may be off."""

from dataclasses import dataclass

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.numbers import F64, Mask, format_of, to_double, to_type


@dataclass(frozen=True, slots=True)
class Expected:
    """What each cell of the output must be.

    ``value`` is float64 and holds NaN and infinities where the contract asks for them.
    ``bound`` is the allowed error of the finite cells. ``free`` marks cells whose
    intermediate values may overflow: the contract says nothing about them.
    """

    value: F64
    bound: F64
    free: Mask


def exactly(value: F64, contract: Contract) -> Expected:
    """For a value that f32 arithmetic reaches without any error: its one rounding, and no more."""
    rounded = to_double(to_type(value, contract.output.dtype))
    return Expected(rounded, np.zeros_like(rounded), np.zeros(rounded.shape, bool))


def stored(computed: Expected, contract: Contract) -> Expected:
    """What is left of a value computed in f32 when it is rounded to the output's type.

    A family's bound has the last rounding to f32 in it already; narrower types add theirs.
    Beyond the largest number of the type the result is that infinity.
    """
    form = format_of(contract.output.dtype)
    if form.name == "f32":
        return computed
    u, tiny = float(form.roundoff), float(form.underflow)
    size = np.abs(computed.value)
    bound = computed.bound + u * (size + computed.bound) + tiny
    over = form.largest * (1 + u / 2)
    with np.errstate(invalid="ignore"):
        beyond = np.isfinite(size) & (size - computed.bound > over)
        near = np.isfinite(size) & ~beyond & (size + bound > form.largest)
    value = np.where(beyond, np.copysign(np.inf, computed.value), computed.value)
    return Expected(value, bound, computed.free | near)


def related(computed: Expected, contract: Contract) -> Expected:
    """The same value with the allowance of the relation that the contract chose."""
    relation = contract.relation
    match relation.kind:
        case "bound":
            return computed
        case "bitwise":
            return Expected(
                to_double(to_type(computed.value, contract.output.dtype)),
                np.zeros_like(computed.bound),
                np.zeros_like(computed.free),
            )
        case "ulp":
            form = format_of(contract.output.dtype)
            with np.errstate(invalid="ignore"):
                size = np.where(np.isfinite(computed.value), np.abs(computed.value), 0.0)
                # One unit in the last place of a number with frexp's exponent e is 2^e u.
                exponent = np.frexp(size)[1].astype(np.float64)
                unit = np.maximum(
                    np.exp2(exponent) * float(form.roundoff), 2 * float(form.underflow)
                )
            bound = np.asarray(relation.ulps * unit, np.float64)
            return Expected(computed.value, bound, computed.free)
        case "absolute_relative":
            with np.errstate(invalid="ignore"):
                size = np.where(np.isfinite(computed.value), np.abs(computed.value), 0.0)
            bound = float(relation.absolute) + float(relation.relative) * size
            return Expected(computed.value, bound, computed.free)
