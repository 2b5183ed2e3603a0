"""Whether a library's rules leave a chip, by halving boxes; and which rules are in conflict."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from formwright.chip.library import Box, Library, Point, Rule
from formwright.ir.evaluate import truth
from formwright.ir.expr import Expr
from formwright.ir.interval import Interval, bounds

BOXES = 20_000
"""Boxes that are looked at before the question counts as open."""


class UndecidedError(Exception):
    """More than :data:`BOXES` boxes were needed."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Rules that no chip keeps together; without any one of them some chip would."""

    rules: tuple[str, ...]


def admitted(library: Library, rules: Sequence[Rule] | None = None) -> Point | None:
    """A chip that keeps ``rules`` (all where none are given), or ``None`` if there is none.

    Exact: a box is dropped only where an interval shows that a rule fails in all of it.

    Raises:
        UndecidedError: the search was cut off.
    """
    conditions = [library.opened(r.condition) for r in (library.rules if rules is None else rules)]
    stack: list[Box] = [library.whole]
    for _ in range(BOXES):
        if not stack:
            return None
        box = stack.pop()
        held = _holds(library, conditions, box)
        if held is False:
            continue
        lowest = tuple(low for low, _ in box)
        if held or all(low == high for low, high in box):
            return lowest
        stack += reversed(_halves(box))
    raise UndecidedError


def conflict(library: Library) -> Conflict:
    """A smallest set of rules in conflict, by leaving out one after another.

    To be asked where :func:`admitted` found none. Raises ``UndecidedError`` likewise.
    """
    kept = list(library.rules)
    for rule in library.rules:
        rest = [r for r in kept if r is not rule]
        if admitted(library, rest) is None:
            kept = rest
    return Conflict(tuple(r.name for r in kept))


def ranges(library: Library, box: Box) -> dict[str, Interval]:
    """The values of each field in ``box``, as ``bounds`` takes them."""
    return {
        f"chip.{f.name}": Interval(f.menu[low], f.menu[high])
        for f, (low, high) in zip(library.fields, box, strict=True)
    }


def _holds(library: Library, conditions: Sequence[Expr], box: Box) -> bool | None:
    """Everywhere, nowhere, or it depends; at a single chip always one of the first two."""
    if prod(high - low + 1 for low, high in box) == 1:
        values = library.values(tuple(low for low, _ in box))
        return all(truth(c, values) for c in conditions)
    spans = ranges(library, box)
    found = [bounds(c, spans) for c in conditions]
    if any(each.hi <= 0 for each in found):
        return False
    return True if all(each.lo >= 1 for each in found) else None


def _halves(box: Box) -> tuple[Box, Box]:
    at = max(range(len(box)), key=lambda n: box[n][1] - box[n][0])
    low, high = box[at]
    middle = (low + high) // 2
    first = (*box[:at], (low, middle), *box[at + 1 :])
    return first, (*box[:at], (middle + 1, high), *box[at + 1 :])
