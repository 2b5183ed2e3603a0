"""What is known of a sample: quartiles, edges for an axis, and a density to draw."""

from dataclasses import dataclass
from math import exp, isfinite

FAR = 8.0
"""Of the middle nine tenths' width: values farther off than this are beyond the axis."""

GRID = 120
"""Steps across a density."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Quantiles of the values, by linear interpolation between neighbours in their order."""

    count: int
    least: float
    low: float
    middle: float
    high: float
    late: float
    """95 % of the values are no greater."""
    greatest: float


def summary_of(values: tuple[float, ...]) -> Summary | None:
    """``None`` where no value is a number."""
    known = sorted(v for v in values if isfinite(v))
    if not known:
        return None
    low, middle, high, late = (quantile(known, q) for q in (0.25, 0.5, 0.75, 0.95))
    return Summary(len(known), known[0], low, middle, high, late, known[-1])


def quantile(ordered: list[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def usual(values: tuple[float, ...]) -> list[float]:
    """The values that an axis is laid out for: all but those far from the others.

    Times have tails: one late value would press all others into a line.
    """
    known = sorted(v for v in values if isfinite(v))
    if len(known) < 5:
        return known
    first, last = quantile(known, 0.05), quantile(known, 0.95)
    room = FAR * (last - first)
    return [v for v in known if first - room <= v <= last + room] if room else known


def density(shares: list[float]) -> list[float]:
    """Heights, 1 at the highest, at ``GRID + 1`` places from 0 to 1: a sum of bells.

    The bells are as wide as Silverman's rule says (0.9 times the lesser of the deviation and the
    quartiles' distance over 1.34, times the count to the power of -1/5), and no narrower than a
    step.
    """
    ordered = sorted(shares)
    count = len(ordered)
    mean = sum(ordered) / count
    deviation = (sum((s - mean) ** 2 for s in ordered) / count) ** 0.5
    quartiles = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 1.34
    spread = min(deviation, quartiles) or deviation
    wide = max(0.9 * spread * count ** (-0.2), 1.0 / GRID)
    bins = [0] * (GRID + 1)
    for share in ordered:
        bins[min(GRID, max(0, round(share * GRID)))] += 1
    reach = max(1, int(4 * wide * GRID))
    bell = [exp(-0.5 * (n / GRID / wide) ** 2) for n in range(reach + 1)]
    heights = [
        sum(
            bins[other] * bell[abs(n - other)]
            for other in range(max(0, n - reach), min(GRID, n + reach) + 1)
            if bins[other]
        )
        for n in range(GRID + 1)
    ]
    most = max(heights) or 1.0
    return [h / most for h in heights]
