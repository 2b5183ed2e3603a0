"""What an evaluator's counters count, as a study states it of a design."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.evaluate import number
from formwright.ir.expr import Expr, Scalar


@dataclass(frozen=True, slots=True)
class Counter:
    """What the evaluator's counter ``name`` counts of a design, by template.

    ``field``: the field of the library that it belongs to. Expressions are over the decisions,
    extents and ``chip.NAME`` of the template; a template without one cannot take the term.
    """

    name: str
    field: str
    counts: Mapping[str, Expr]
    source: str = ""


def counted(
    counters: Sequence[Counter], template: str, values: Mapping[str, Scalar]
) -> dict[str, Fraction]:
    """What the study says each counter counts of one design."""
    return {
        c.name: Fraction(number(c.counts[template], values))
        for c in counters
        if template in c.counts
    }
