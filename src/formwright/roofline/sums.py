"""Sums over the iterations of a loop from few of them."""

from collections.abc import Callable, Mapping
from typing import Final

Amounts = Mapping[str, int]

FEW: Final = 6
"""Up to so many iterations each is looked at."""


def total(of: Callable[[int], Amounts], lo: int, hi: int) -> dict[str, int]:
    """The sum of ``of(v)`` for ``lo <= v < hi``.

    Iterations differ at the ends (tails, a first block that assigns) or grow evenly (causal
    loops). So a stretch whose ends and two points between lie on one line is summed as an
    arithmetic series; any other is halved, down to single iterations.
    """
    known: dict[int, Amounts] = {}

    def at(v: int) -> Amounts:
        if v not in known:
            known[v] = of(v)
        return known[v]

    found: dict[str, int] = {}
    if hi - lo <= FEW:
        stretches = [(v, v) for v in range(lo, hi)]
    else:
        stretches = [(lo, lo), (lo + 1, hi - 2), (hi - 1, hi - 1)]
    while stretches:
        first, last = stretches.pop()
        if first == last:
            _add(found, at(first), 1)
            continue
        middle = (first + last) // 2
        points = (first, (first + middle) // 2, middle, last)
        if last - first == 1:
            stretches += [(first, first), (last, last)]
        elif _on_a_line([(v, at(v)) for v in points]):
            for name in at(first).keys() | at(last).keys():
                both = at(first).get(name, 0) + at(last).get(name, 0)
                found[name] = found.get(name, 0) + both * (last - first + 1) // 2
        else:
            stretches += [(first, middle), (middle + 1, last)]
    return found


def _add(found: dict[str, int], amounts: Amounts, times: int) -> None:
    for name, amount in amounts.items():
        found[name] = found.get(name, 0) + times * amount


def _on_a_line(points: list[tuple[int, Amounts]]) -> bool:
    (a, low), (b, high) = points[0], points[-1]
    names = low.keys() | high.keys()
    for v, amounts in points[1:-1]:
        if amounts.keys() - names:
            return False
        for name in names:
            x, y = low.get(name, 0), high.get(name, 0)
            if (amounts.get(name, 0) - x) * (b - a) != (y - x) * (v - a):
                return False
    return True
