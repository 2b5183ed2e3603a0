"""The facts about Gemmini in plain NumPy, written apart from the templates and the evaluator.

A mapping is ``(P1, P3, sC, C1, C3, sK, K1, K3)`` with exact products and an order of the DRAM
loops, innermost first. M rows, C terms of the reduction, K columns; pe, sp (KiB), acc (KiB).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

BERT = (
    (128, 768, 768, 2),
    (128, 64, 128, 1),
    (128, 128, 64, 1),
    (128, 768, 3072, 1),
    (128, 3072, 768, 1),
)
"""M, C, K and how often."""

ORDERS = tuple(permutations("PCK"))
RELEVANT = {"W": "CK", "I": "PC", "O": "PK"}
Column = NDArray[np.int64]


@dataclass(frozen=True)
class Mapping_:
    P1: int
    P3: int
    sC: int  # noqa: N815
    C1: int
    C3: int
    sK: int  # noqa: N815
    K1: int
    K3: int
    order: tuple[str, ...]


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def reuse(tensor: str, bounds: dict[str, int], order: tuple[str, ...]) -> int:
    """The walk of the facts, from the innermost loop outwards."""
    relevant = RELEVANT[tensor]
    for place, loop in enumerate(order):
        if bounds[loop] > 1 and loop in relevant:
            found = 1
            for outer in order[place:]:
                found *= bounds[outer]
            return found
    return 1


def counts(m: Mapping_) -> dict[str, int]:
    M, C, K = m.P1 * m.P3, m.sC * m.C1 * m.C3, m.sK * m.K1 * m.K3
    bounds = {"P": m.P3, "C": m.C3, "K": m.K3}
    mac = M * C * K
    spW = m.C1 * m.sC * m.K1 * m.sK * reuse("W", bounds, m.order)
    spI = m.P1 * m.C1 * m.sC * reuse("I", bounds, m.order)
    accW = m.P1 * m.K1 * m.sK * reuse("O", bounds, m.order)
    if m.C1 == m.K1 == 1:
        regW = m.sC * m.sK * reuse("W", bounds, m.order)
    else:
        regW = m.sC * m.sK * m.C1 * m.K1 * m.P3 * m.C3 * m.K3
    return {
        "mac": mac,
        "reg": mac + regW,
        "acc": 2 * mac // m.sC - M * K + accW,
        "sp": spW + regW + spI + mac // m.sK,
        "dram": spW + spI + 2 * accW - M * K,
    }


def energy_pj(m: Mapping_, pe: int, sp: int, acc: int) -> Fraction:
    n = counts(m)
    return (
        Fraction("0.5608") * n["mac"]
        + Fraction("0.48746172") * n["reg"]
        + (Fraction("1.94") + Fraction("0.1005") * acc / pe) * n["acc"]
        + (Fraction("0.49") + Fraction("0.02513") * sp) * n["sp"]
        + 100 * n["dram"]
    )


def cycles(m: Mapping_, pe: int) -> Fraction:
    n = counts(m)
    return max(
        Fraction(n["mac"], m.sC * m.sK),
        Fraction(n["acc"], 2 * m.sK),
        Fraction(n["sp"], 2 * pe),
        Fraction(n["dram"], 8),
    )


def feasible(m: Mapping_, pe: int, sp: int, acc: int) -> bool:
    return (
        max(m.sC, m.sK) <= pe
        and m.C1 * m.sC * (m.K1 * m.sK + m.P1) <= 1024 * sp
        and 4 * pe * m.P1 * m.K1 <= 1024 * acc
    )


def mappings(M: int, C: int, K: int) -> list[Mapping_]:
    """Every exact factorisation in every order; for small extents."""
    return [
        Mapping_(p, M // p, sc, c, C // (sc * c), sk, k, K // (sk * k), order)
        for p in divisors(M)
        for sc in divisors(C)
        for c in divisors(C // sc)
        for sk in divisors(K)
        for k in divisors(K // sk)
        for order in ORDERS
    ]


def _reuse(tensor: str, bounds: dict[str, Column], order: tuple[str, ...]) -> Column:
    """As :func:`reuse`, for columns of mappings."""
    ones = np.ones_like(bounds["P"])
    found, started = ones, np.zeros(len(ones), dtype=bool)
    for loop in order:
        if loop in RELEVANT[tensor]:
            started = started | (bounds[loop] > 1)
        found = np.where(started, found * bounds[loop], found)
    return found


@cache
def _table(M: int, C: int, K: int) -> dict[str, Column]:
    """Counts of every exact factorisation with arrays up to 128, in all six orders."""
    first = [(p, M // p) for p in divisors(M)]
    second = [(s, c, C // (s * c)) for s in divisors(C) if s <= 128 for c in divisors(C // s)]
    third = [(s, c, K // (s * c)) for s in divisors(K) if s <= 128 for c in divisors(K // s)]
    places = np.indices((len(first), len(second), len(third))).reshape(3, -1)
    options = (first, second, third)
    parts = [np.array(p, dtype=np.int64)[at] for p, at in zip(options, places, strict=True)]
    rows = np.concatenate(parts, axis=1)
    P1, P3, sC, C1, C3, sK, K1, K3 = rows.T
    bounds, mac = {"P": P3, "C": C3, "K": K3}, np.full(len(P1), M * C * K)
    tables = []
    for order in ORDERS:
        w, i, o = (_reuse(t, bounds, order) for t in "WIO")
        spW, spI, accW = C1 * sC * K1 * sK * w, P1 * C1 * sC * i, P1 * K1 * sK * o
        regW = sC * sK * np.where((C1 == 1) & (K1 == 1), w, C1 * K1 * P3 * C3 * K3)
        tables.append(
            {
                "mac": mac,
                "reg": mac + regW,
                "acc": 2 * mac // sC - M * K + accW,
                "sp": spW + regW + spI + mac // sK,
                "dram": spW + spI + 2 * accW - M * K,
                "sC": sC,
                "sK": sK,
                "need_sp": C1 * sC * (K1 * sK + P1),
                "need_acc": 4 * P1 * K1,
            }
        )
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}


def front(M: int, C: int, K: int, pe: int, sp: int, acc: int) -> list[tuple[float, float]]:
    """Energies (uJ) and cycles of the mappings that no other beats in both."""
    t = _table(M, C, K)
    keep = (
        (t["sC"] <= pe)
        & (t["sK"] <= pe)
        & (t["need_sp"] <= 1024 * sp)
        & (pe * t["need_acc"] <= 1024 * acc)
    )
    n = {name: column[keep].astype(float) for name, column in t.items()}
    energy = (
        0.5608 * n["mac"]
        + 0.48746172 * n["reg"]
        + (1.94 + 0.1005 * acc / pe) * n["acc"]
        + (0.49 + 0.02513 * sp) * n["sp"]
        + 100 * n["dram"]
    ) / 1e6
    latency = np.maximum.reduce(
        [
            n["mac"] / (n["sC"] * n["sK"]),
            n["acc"] / (2 * n["sK"]),
            n["sp"] / (2 * pe),
            n["dram"] / 8,
        ]
    )
    order = np.lexsort((latency, energy))
    lowest = np.minimum.accumulate(latency[order])
    ahead = order[np.concatenate([[True], lowest[1:] < lowest[:-1]])]
    return [(float(energy[i]), float(latency[i])) for i in ahead]


def _undominated(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for energy, latency in sorted(points):
        if not found or latency < found[-1][1]:
            found.append((energy, latency))
    return found


def best(
    pe: int, sp: int, acc: int, work: tuple[tuple[int, int, int, int], ...] = BERT
) -> tuple[float, float, float]:
    """Energy (uJ), cycles and their product for the list, each mapping chosen for the product."""
    sums = [(0.0, 0.0)]
    for M, C, K, times in work:
        sums = _undominated(
            [
                (e + times * x, t + times * y)
                for e, t in sums
                for x, y in front(M, C, K, pe, sp, acc)
            ]
        )
    return min(((e, t, e * t) for e, t in sums), key=lambda s: s[2])
