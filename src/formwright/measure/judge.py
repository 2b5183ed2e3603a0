"""Is an output within its tolerance of the reference, and if not, what does it look like?"""

import numpy as np
import numpy.typing as npt

from formwright.measure.outcome import Mismatch, Ok, Unwritten
from formwright.measure.tensors import Array, widened

Mask = npt.NDArray[np.bool_]


def judge(
    output: Array,
    expected: Array,
    tolerance: Array,
    poison: Array | None = None,
    earlier: Array | None = None,
) -> Ok | Unwritten | Mismatch:
    """Compare ``output`` with ``expected``, cell by cell, within ``tolerance``.

    ``poison`` holds the bits that the cells had before the call (an unsigned array of one
    element), ``earlier`` what an earlier call had to return.
    """
    wide = widened(output)
    wrong = ~_near(wide, expected, tolerance)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return Ok()
    if poison is not None:
        bits = np.ascontiguousarray(output).view(poison.dtype).reshape(output.shape)
        unwritten = wrong & (bits == poison)
        if unwritten.any():
            return Unwritten(int(np.count_nonzero(unwritten)), output.size, _first(unwritten))
    first = _first(wrong)
    if earlier is not None and earlier.shape == expected.shape:
        stale = bool(_near(wide, earlier, tolerance).all())
    else:
        stale = False
    nan = bool(np.isnan(wide[wrong]).all())
    constant = wide.size > 1 and bool((wide == wide.flat[0]).all())
    return Mismatch(
        count,
        output.size,
        first,
        float(wide[first]),
        float(expected[first]),
        float(tolerance[first]),
        "stale" if stale else "nan" if nan else "constant" if constant else "",
    )


def _near(output: Array, expected: Array, tolerance: Array) -> Mask:
    # Asked the positive way: with NaN every comparison is false, so NaN is never near a number.
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.subtract(output, expected, dtype=np.float64)
        near = np.abs(off, out=off) <= tolerance
    if near.all():  # The usual case, for millions of cells in each run.
        return np.asarray(near)
    with np.errstate(invalid="ignore"):
        near |= output == expected
        near |= np.isnan(expected) & np.isnan(output)
    return np.asarray(near)


def _first(mask: Mask) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))
