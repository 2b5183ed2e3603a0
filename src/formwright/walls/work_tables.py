"""Kernels with their tables as what the program over both sides reads."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from formwright.base.diagnostics import fail
from formwright.chip.library import Library
from formwright.ir.band_arrays import Value, conjunction, point
from formwright.ir.bands import Bands
from formwright.ir.int_arrays import Array
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import free_names
from formwright.milp.dominance import undominated
from formwright.walls.formulation import Formulation, Need
from formwright.walls.inner import TemplateInner
from formwright.walls.joint import Design, JointWork
from formwright.walls.ranks import places_of
from formwright.walls.table import Table, in_scope


class WorkTables:
    """Of ``inner``, for objectives that join times. See :class:`~formwright.walls.joint.Tables`.

    Raises :class:`InputError` where the program cannot say what is asked: energies or limits.
    """

    def __init__(self, inner: TemplateInner) -> None:
        self.inner = inner
        self.library = inner.library
        problem = inner.problem
        if problem.objective == "energy-delay":
            raise fail("a product of energy and time is not linear: take branch and bound")
        if any(s.limits.power is not None or s.limits.rate is not None for s in problem.scenarios):
            raise fail("limits of scenarios are not in the program over both sides")
        tables = [t for w in inner.works.values() for t in w.tables]
        read = frozenset[str]().union(*(_read(t.formulation, self.library) for t in tables))
        self.reads = tuple(f.name for f in self.library.fields if f"chip.{f.name}" in read)

    @property
    def works(self) -> Sequence[JointWork]:
        shares: dict[str, dict[str, Fraction]] = {name: {} for name in self.inner.works}
        for scenario in self.inner.problem.scenarios:
            reference = self.inner.reference[scenario.name]
            for kernel, count in scenario.works:
                shares[kernel.name][scenario.name] = count / reference
        return tuple(JointWork(name, found) for name, found in shares.items())

    @property
    def weights(self) -> Mapping[str, Fraction] | None:
        if self.inner.problem.objective == "worst":
            return None
        return {s.name: s.weight for s in self.inner.problem.scenarios}

    def designs(self, work: str, places: Mapping[str, int]) -> Sequence[Design]:
        """Costs and needs in floats, needs rounded down."""
        span = {
            f"chip.{f.name}": (f.menu[places[f.name]],) * 2
            if f.name in places
            else (f.menu[0], f.menu[-1])
            for f in self.library.fields
        }
        found: list[Design] = []
        for table in self.inner.works[work].tables:
            if table.count and in_scope(table.formulation, span):
                found += self._rows(table, places)
        return found

    def _rows(self, table: Table, places: Mapping[str, int]) -> list[Design]:
        shape, count = table.formulation, table.count
        given: dict[str, Value] = dict(table.given)
        for field in self.library.fields:
            if field.name in places:
                given[f"chip.{field.name}"] = point(field.menu[places[field.name]])
        bands = Bands(given)
        settled = [n for n in shape.needs if free_names(n.remainder) <= given.keys()]
        with np.errstate(all="ignore"):
            fits = conjunction(bands.truths(n.remainder).may for n in settled)
            time = _column(bands.number(shape.time.remainder).lo, count)
            needs: dict[str, Array] = {}
            for need in shape.needs:
                if need not in settled and need.wall is not None and need.left is not None:
                    least = _column(bands.number(need.left).lo, count)
                    needs[need.wall] = np.maximum(least, needs.get(need.wall, least))
        open_ = np.flatnonzero(np.broadcast_to(np.asarray(fits), (count,)) & np.isfinite(time))
        columns = [time[open_], *(column[open_] for column in needs.values())]
        kept = undominated([places_of(c) for c in columns], np.arange(open_.size))
        return [
            Design(
                Fraction(float(columns[0][i])),
                {w: Fraction(float(c[i])) for w, c in zip(needs, columns[1:], strict=True)},
            )
            for i in kept
        ]


def _read(shape: Formulation, library: Library) -> frozenset[str]:
    """Fields that times, left sides of walls, other constraints and scopes read."""
    chips = {f"chip.{f.name}": Interval(f.menu[0], f.menu[-1]) for f in library.fields}
    exprs = [shape.time.remainder]
    exprs += [n.left if _is_level(n) and n.left is not None else n.remainder for n in shape.needs]
    exprs += [c for c in shape.scope if bounds(c, chips).lo < 1]
    named = frozenset[str]().union(*(free_names(e) for e in exprs))
    return named & {f"chip.{f}" for f in shape.fields}


def _is_level(need: Need) -> bool:
    """A wall that admits a design from a value of the chip on, that value included."""
    return need.wall is not None and need.left is not None and not need.strict


def _column(value: float | Array, count: int) -> Array:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (count,))
