"""The designs that matter for the chips of one box, of all that a kernel has.

Branch and bound looks for chips better than the best it knows, in ever smaller boxes. A design
stays out of a box if none of its chips admits it, if another design is surely admitted and no
worse, or if no software with it stays below the best that is known, the other kernels at their
least. Bounds of the parts of the box are then worked out over the designs that are left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from formwright.ir.int_arrays import Array
from formwright.walls.floors import Menus, cut, floored
from formwright.walls.fronts import lower_hull
from formwright.walls.problem import CodesignProblem
from formwright.walls.table import Priced, Span, Table
from formwright.walls.works import Work, float_hull

_CHUNK = 1 << 20
"""Combinations of a design with a sum of the other kernels that are looked at at a time."""

_ROUNDING = 1e-12
"""Products and sums of floats here are within this of the exact ones, relatively."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """A table in a box: lower and upper ends of its rows; rows that are not open are at ``inf``."""

    table: Table
    time: Array
    time_most: Array
    energy: Array
    energy_most: Array


@dataclass(frozen=True, slots=True)
class _Slot:
    """A kernel in a scenario, which runs it ``count`` times (weights included)."""

    work: str
    scenario: str
    count: float


def narrowed(
    works: Mapping[str, Work],
    problem: CodesignProblem,
    references: Mapping[str, float],
    span: Span,
    menus: Menus,
    cutoff: float,
) -> dict[str, Work]:
    """``works`` without the designs that no software below ``cutoff`` has on a chip of ``span``.

    ``references``: the time of each scenario that has the ratio 1.
    """
    rows = {n: [_rows(t, floored(t, span, menus)) for t in w.tables] for n, w in works.items()}
    energy = problem.objective == "energy-delay"
    keep = {n: [_beaten(r, parts, energy) for r in parts] for n, parts in rows.items()}
    if cutoff < inf:
        if energy:
            _below_product(rows, keep, problem, cutoff)
        else:
            _below_times(rows, keep, problem, references, cutoff)
    return {
        n: Work(
            w.name,
            tuple(cut(r.table, k) for r, k in zip(rows[n], keep[n], strict=True)),
            w.refused,
        )
        for n, w in works.items()
    }


def _rows(table: Table, priced: Priced | None) -> _Rows:
    count = table.count
    if priced is None:
        never = np.full(count, inf)
        return _Rows(table, never, never, never, never)
    open_ = np.broadcast_to(np.asarray(priced.open), (count,))
    sure = np.broadcast_to(np.asarray(priced.sure), (count,))
    energy = priced.time if priced.energy is None else priced.energy
    return _Rows(
        table,
        np.where(open_, priced.time.lo, inf),
        np.where(sure, priced.time.hi, inf),
        np.where(open_, energy.lo, inf),
        np.where(sure, energy.hi, inf),
    )


def _beaten(rows: _Rows, all_: Sequence[_Rows], energy: bool) -> Array:
    """Rows that are open and that no design surely is below everywhere in the box."""
    if not energy:
        ceiling = min((float(r.time_most.min(initial=inf)) for r in all_), default=inf)
        return (rows.time < inf) & (rows.time <= ceiling)
    most = np.concatenate([r.time_most for r in all_])
    energies = np.concatenate([r.energy_most for r in all_])
    order = np.argsort(most, kind="stable")
    least = np.minimum.accumulate(np.concatenate([[inf], energies[order]]))
    before = np.searchsorted(most[order], rows.time, side="left")
    return (rows.time < inf) & (rows.energy <= least[before])


def _below_times(
    rows: Mapping[str, Sequence[_Rows]],
    keep: Mapping[str, list[Array]],
    problem: CodesignProblem,
    references: Mapping[str, float],
    cutoff: float,
) -> None:
    """Drop rows that are too slow in every scenario, the other kernels at their least."""
    least = {n: min(float(r.time.min(initial=inf)) for r in parts) for n, parts in rows.items()}
    ratios = {
        s.name: sum(n * least[k.name] for k, n in s.works) / references[s.name]
        for s in problem.scenarios
    }
    weights = {s.name: float(s.weight) for s in problem.scenarios}
    total = sum(weights[s] * r for s, r in ratios.items())
    room: dict[str, float] = {}
    for scenario in problem.scenarios:
        name = scenario.name
        # What one run of a kernel may take beyond its least before the objective is the cutoff.
        spare = cutoff - ratios[name]
        if problem.objective == "weighted":
            spare = (cutoff - total) / weights[name] if weights[name] > 0 else inf
        for kernel, count in scenario.works:
            extra = least[kernel.name] + spare * references[name] / count
            room[kernel.name] = max(room.get(kernel.name, -inf), extra + abs(extra) * _ROUNDING)
    for name, parts in rows.items():
        keep[name][:] = [k & (r.time <= room[name]) for r, k in zip(parts, keep[name], strict=True)]


def _below_product(
    rows: Mapping[str, Sequence[_Rows]],
    keep: Mapping[str, list[Array]],
    problem: CodesignProblem,
    cutoff: float,
) -> None:
    """Drop rows with which energy times time is at ``cutoff`` or more, whatever the others do."""
    slots = [
        _Slot(k.name, s.name, float(s.weight * n)) for s in problem.scenarios for k, n in s.works
    ]
    hulls = {
        name: float_hull(
            np.concatenate([r.time[r.time < inf] for r in parts]),
            np.concatenate([r.energy[r.time < inf] for r in parts]),
        )
        for name, parts in rows.items()
    }
    fitting = {name: [np.zeros(k.size, dtype=bool) for k in ks] for name, ks in keep.items()}
    if all(hull is not None for hull in hulls.values()):
        for i, slot in enumerate(slots):
            others = _summed([(hulls[o.work], o.count) for j, o in enumerate(slots) if j != i])
            for r, fits in zip(rows[slot.work], fitting[slot.work], strict=True):
                fits |= _reaches(r, slot.count, others, cutoff)
    for name in keep:
        keep[name][:] = [k & f for k, f in zip(keep[name], fitting[name], strict=True)]


def _summed(hulls: Sequence[tuple[tuple[Array, Array] | None, float]]) -> tuple[Array, Array]:
    """The lower hull of the sums of one point of each."""
    times, energies = np.zeros(1), np.zeros(1)
    for hull, count in hulls:
        assert hull is not None
        t = np.add.outer(times, count * hull[0]).ravel()
        e = np.add.outer(energies, count * hull[1]).ravel()
        places = lower_hull(list(zip(t.tolist(), e.tolist(), strict=True)))
        times, energies = t[places], e[places]
    return times, energies


def _reaches(rows: _Rows, count: float, others: tuple[Array, Array], cutoff: float) -> Array:
    """Rows with which some sum of the others has a product below ``cutoff``."""
    found = np.zeros(rows.time.size, dtype=bool)
    size = max(1, _CHUNK // others[0].size)
    for start in range(0, found.size, size):
        part = slice(start, start + size)
        time = np.add.outer(count * rows.time[part], others[0])
        energy = np.add.outer(count * rows.energy[part], others[1])
        least = (time * energy).min(axis=1)
        found[part] = least * (1 - _ROUNDING) < cutoff
    return found
