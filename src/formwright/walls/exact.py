"""The best chip by asking every one: exact, for domains small enough."""

from fractions import Fraction

from formwright.walls.attempt import Attempt
from formwright.walls.counting import Counted
from formwright.walls.outcome import Outcome

MOST_CHIPS = 200_000
"""Chips that enumeration looks at, those over the budget included."""


def enumerate_chips(
    inner: Counted, budget: Fraction | None = None, most: int = MOST_CHIPS
) -> Outcome:
    """The best chip within ``budget`` (mm2), with its objective as the bound.

    Nothing is tried where the library has more than ``most`` chips; the note says so.
    """
    attempt = Attempt("enumeration", inner, budget)
    size = inner.library.size
    if size > most:
        return attempt.outcome(note=f"not run: {size} chips are more than {most}")
    for point in attempt.areas.chips(inner.library.whole, budget):
        attempt.solve(point)
    if attempt.objective is None:
        return attempt.outcome(note="no chip within the budget has a program")
    return attempt.outcome(bound=attempt.objective)
