"""Linear conditions over a few decisions, fitted to points that must be in or out.

The coefficients are small integers, so all of them are looked through: the precondition of a
schedule is a sentence such as ``P - S - beta <= -2``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd

from formwright.ir.expr import Arith, Compare, Expr, Logic, Neg, Truth, Var, num

COEFFICIENTS = (0, 1, -1, 2, -2)
NAME_LIMIT = 6
"""The most decisions that conditions are looked for over: 5^6 directions."""

Point = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """``sum of coefficient * name <= bound``."""

    coefficients: tuple[tuple[str, int], ...]
    bound: int

    def value(self, point: Point) -> int:
        return sum(c * point[n] for n, c in self.coefficients)

    def holds(self, point: Point) -> bool:
        return self.value(point) <= self.bound


def fit(
    names: Sequence[str], inside: Sequence[Point], outside: Sequence[Point], rest: Sequence[Point]
) -> tuple[HalfSpace, ...] | None:
    """The fewest half-spaces, found greedily, with all of ``inside`` and none of ``outside``.

    Of equals the one with most of ``rest``, then with the smallest coefficients. ``None`` if
    no conjunction of such conditions tells the two apart.
    """
    found: list[HalfSpace] = []
    left = list(outside)
    while left:
        best = max(_cuts(names, inside, left), key=lambda h: _merit(h, left, rest), default=None)
        if best is None or not any(not best.holds(p) for p in left):
            return None
        found.append(best)
        left = [p for p in left if best.holds(p)]
    return tuple(found)


def _cuts(
    names: Sequence[str], inside: Sequence[Point], outside: Sequence[Point]
) -> Iterator[HalfSpace]:
    """For each direction, every bound that keeps ``inside`` and cuts some of ``outside``."""
    for direction in directions(names):
        probe = HalfSpace(direction, 0)
        floor = max((probe.value(p) for p in inside), default=None)
        for value in sorted({probe.value(p) for p in outside}):
            if floor is None or value > floor:
                yield HalfSpace(direction, value - 1)


def _merit(cut: HalfSpace, outside: Sequence[Point], rest: Sequence[Point]) -> tuple[int, ...]:
    size = sum(abs(c) for _, c in cut.coefficients)
    return (
        sum(not cut.holds(p) for p in outside),
        sum(cut.holds(p) for p in rest),
        -len(cut.coefficients),
        -size,
        -abs(cut.bound),
    )


def directions(names: Sequence[str]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Coefficient vectors without a common factor, zeros left out."""
    for values in product(COEFFICIENTS, repeat=len(names)):
        if reduce(gcd, values, 0) == 1:
            yield tuple((n, v) for n, v in zip(names, values, strict=True) if v)


def as_condition(cuts: Sequence[HalfSpace]) -> Expr:
    """The conjunction as an expression; positive terms left, negative ones right."""
    conditions = [_comparison(c) for c in cuts]
    if not conditions:
        return Truth(True)
    return reduce(lambda a, b: Logic("and", a, b), conditions)


def _comparison(cut: HalfSpace) -> Expr:
    left = [(n, c) for n, c in cut.coefficients if c > 0]
    right = [(n, -c) for n, c in cut.coefficients if c < 0]
    if not left:
        return Compare(">=", linear(right, 0), num(-cut.bound))
    return Compare("<=", linear(left, 0), linear(right, cut.bound))


def linear(terms: Sequence[tuple[str, int]], constant: int) -> Expr:
    """The first term, the constant, the other terms: ``S - 2 + beta``."""
    parts: list[tuple[Expr, bool]] = [
        (Var(n) if abs(c) == 1 else Arith("*", num(abs(c)), Var(n)), c > 0) for n, c in terms
    ]
    if constant or not parts:
        parts.insert(1, (num(abs(constant)), constant >= 0))
    first, plus = parts[0]
    whole: Expr = first if plus else Neg(first)
    for part, plus in parts[1:]:
        whole = Arith("+" if plus else "-", whole, part)
    return whole


def fit_bound(names: Sequence[str], most: Sequence[tuple[Point, int]]) -> Expr | None:
    """A linear expression that is at most ``most`` at each point, and equal at as many as can be.

    ``None`` if none is equal anywhere.
    """
    best: tuple[tuple[int, ...], Expr] | None = None
    for direction in (*directions(names), ()):
        probe = HalfSpace(direction, 0)
        constant = min(m - probe.value(p) for p, m in most)
        equal = sum(probe.value(p) + constant == m for p, m in most)
        size = sum(abs(c) for _, c in direction)
        merit = (equal, -size, -abs(constant), -len(direction))
        if equal and (best is None or merit > best[0]):
            ordered = sorted(direction, key=lambda t: t[1] < 0)
            best = merit, linear(ordered, constant)
    return None if best is None else best[1]
