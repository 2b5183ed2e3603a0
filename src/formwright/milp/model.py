"""A MILP as data, and linear forms over its columns with bounds from one-of sets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

Exactly = int | Fraction
"""A coefficient; plain integers where they do, since they are much faster."""

LARGEST_MODEL = 250_000
"""Columns of a model that HiGHS is given."""


class EncodingError(Exception):
    """The template cannot be put as a MILP of a size worth trying; the message says why."""


def largest_size(values: Iterable[Exactly]) -> Exactly:
    """The largest magnitude, or 1 if there is none but 0."""
    sizes: list[Exactly] = [v if v >= 0 else -v for v in values]
    return max(sizes, default=0) or 1


@dataclass(frozen=True, slots=True)
class Linear:
    """``constant + sum(coefficient * column)``, with ``low <= value <= high``."""

    constant: Exactly
    terms: Mapping[int, Exactly]
    low: Exactly
    high: Exactly


@dataclass(frozen=True, slots=True)
class Row:
    low: float
    high: float
    terms: Mapping[int, float]


@dataclass(slots=True)
class Model:
    """Columns are 0/1 unless said otherwise; ``family`` of a column tells its one-of set.

    In a one-of set exactly one column is at its value and the others are 0. A column's
    range when it is the one is ``[lows, highs]``.
    """

    lows: list[Exactly | float] = field(default_factory=list)
    highs: list[Exactly | float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    family: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def indicators(self, count: int, integer: bool) -> list[int]:
        """``count`` columns of which exactly one is 1."""
        first = len(self.lows)
        if first + count > LARGEST_MODEL:
            raise EncodingError(f"the model has more than {LARGEST_MODEL} columns")
        columns = list(range(first, first + count))
        self.lows += [1] * count
        self.highs += [1] * count
        self.integer += [integer] * count
        self.family += [len(self.sizes)] * count
        self.sizes.append(count)
        return columns

    def ranged(self, count: int, low: Exactly, high: Exactly) -> list[int]:
        """``count`` continuous columns of which one is in ``[low, high]``, the others 0."""
        columns = self.indicators(count, integer=False)
        for column in columns:
            self.lows[column], self.highs[column] = low, high
        return columns

    def free(self) -> int:
        """One continuous column without bounds."""
        (column,) = self.indicators(1, integer=False)
        self.lows[column], self.highs[column] = -inf, inf
        return column

    def limits(self, column: int) -> tuple[float, float]:
        """Bounds of a column: 0 is inside unless it is alone in its set and not 0/1."""
        low, high = self.lows[column], self.highs[column]
        alone = self.sizes[self.family[column]] == 1 and (low, high) != (1, 1)
        return (float(low), float(high)) if alone else (float(min(low, 0)), float(max(high, 0)))

    def add(
        self,
        form: Mapping[int, Exactly],
        low: Exactly | None,
        high: Exactly | None,
        rescale: bool = True,
    ) -> None:
        """The row ``low <= form <= high``; rescaled, its largest coefficient is 1."""
        floats = {column: float(c) for column, c in form.items() if c != 0}
        size = max(map(abs, floats.values()), default=1.0) if rescale else 1.0
        self.rows.append(
            Row(
                -inf if low is None else float(low) / size,
                inf if high is None else float(high) / size,
                {column: c / size for column, c in floats.items()},
            )
        )

    def linear(self, constant: Exactly, terms: Mapping[int, Exactly]) -> Linear:
        """``constant + terms`` with the bounds that the one-of sets give."""
        least: dict[int, Exactly] = {}
        most: dict[int, Exactly] = {}
        seen: dict[int, int] = {}
        for column, c in terms.items():
            key = self.family[column]
            ends = (c * _finite(self.lows[column]), c * _finite(self.highs[column]))
            low, high = (ends[0], ends[0]) if ends[0] == ends[1] else (min(ends), max(ends))
            seen[key] = seen.get(key, 0) + 1
            least[key] = min(least[key], low) if key in least else low
            most[key] = max(most[key], high) if key in most else high
        for key, count in seen.items():
            # A column of the set that is not in the form counts 0.
            if count < self.sizes[key]:
                least[key], most[key] = min(least[key], 0), max(most[key], 0)
        return Linear(
            constant,
            dict(terms),
            constant + sum(least.values(), 0),
            constant + sum(most.values(), 0),
        )


def combined(parts: Iterable[tuple[Exactly, Mapping[int, Exactly]]]) -> dict[int, Exactly]:
    """The weighted sum of coefficient maps."""
    total: dict[int, Exactly] = {}
    for weight, terms in parts:
        for column, c in terms.items():
            scaled = c if weight == 1 else weight * c
            total[column] = total[column] + scaled if column in total else scaled
    return total


def _finite(bound: Exactly | float) -> Exactly:
    if isinstance(bound, float):
        raise AssertionError("the cost column takes no part in a form")
    return bound
