"""The designs of one template and kernel that can be best on some chip, and what they cost there.

Built once: the designs that the chip-free constraints allow, their atoms as columns, without the
rows that another row is no worse than on every chip. Then a chip, or a box of chips, costs one pass
over the columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.chip.library import Library
from formwright.ir.band_arrays import (
    Band,
    Mask,
    Value,
    Verdicts,
    between,
    conjunction,
    point,
    quotients,
)
from formwright.ir.bands import Bands
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.ir.int_arrays import Array
from formwright.ir.interval import Interval, bounds
from formwright.ir.rational_arrays import Exact
from formwright.ir.rewrite import free_names
from formwright.ir.vectorise import Given, Truths, exactly
from formwright.milp.dominance import undominated
from formwright.milp.grid import Axis
from formwright.walls.columns import column_of
from formwright.walls.formulation import Figure, Formulation
from formwright.walls.keys import keys_of
from formwright.walls.rows import designs_of

Span = Mapping[str, tuple[int | Fraction, int | Fraction]]
"""Least and greatest value of each field of a box of chips, by ``chip.NAME``."""

EXACT_TIES = 1 << 14
"""Up to this many designs, all that tie stay, so that the last rule of a tie (the least decisions)
is met too. Beyond, it is met among the rows that stay."""

LARGEST = 3 * 10**7
"""Designs that are held at once."""


@dataclass(frozen=True, slots=True)
class Priced:
    """Every row at a box of chips: ``open`` where its walls may admit it on some chip of it,
    ``sure`` where they admit it on all."""

    open: Mask
    sure: Mask
    time: Band
    energy: Band | None


@dataclass(slots=True)
class Table:
    """``columns`` are the decisions of the rows, ``atoms`` the exact values of their atoms and
    ``given`` the same in floats.

    ``enumerated`` designs were looked at; ``ties`` says that none was dropped that ties.
    """

    formulation: Formulation
    columns: dict[str, Array]
    atoms: dict[str, Exact | Truths]
    given: dict[str, Value]
    enumerated: int
    ties: bool

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values())))

    def priced(self, span: Span, removed: frozenset[str]) -> Priced | None:
        """All rows on the chips of ``span``, the walls on the fields ``removed`` dropped.

        ``None`` where no chip of it is in the template's scope, or there is no row.
        """
        shape = self.formulation
        if self.count == 0 or not in_scope(shape, span):
            return None
        given: dict[str, Value] = dict(self.given)
        for field in shape.fields:
            given[f"chip.{field}"] = between(*span[f"chip.{field}"])
        with np.errstate(all="ignore"):
            pass_ = Bands(given)
            kept = [n for n in shape.needs if not n.fields & removed]
            verdicts = [pass_.truths(n.remainder) for n in kept]
            time = pass_.number(shape.time.remainder)
            energy = None if shape.energy is None else pass_.number(shape.energy.remainder)
        return Priced(
            conjunction([v.may for v in verdicts]),
            conjunction([v.sure for v in verdicts]),
            time,
            energy,
        )

    def figure(self, figure: Figure, place: int, chip: Mapping[str, int | Fraction]) -> Fraction:
        """A figure of one row on a chip, exactly.

        Raises :class:`EvaluationError` where it has no value.
        """
        values: dict[str, Scalar] = {}
        for name in figure.names:
            atom = self.atoms.get(name)
            values[name] = chip[name] if atom is None else _cell(atom, place)
        return Fraction(evaluate(figure.remainder, values))

    def exact(
        self, expr: Expr, places: Array, chip: Mapping[str, int | Fraction]
    ) -> list[Fraction]:
        """``expr`` (over decisions and fields) at rows, exactly.

        Raises :class:`EvaluationError` where it has no value.
        """
        named = free_names(expr)
        picked = {n: c[places] for n, c in self.columns.items() if n in named}
        fields = {n: v for n, v in chip.items() if n in named}
        if not picked:
            picked = {"$row": np.zeros(places.size, dtype=np.int64)}
        given: dict[str, Given] = {**fields, **picked}
        return [Fraction(v) for v in exactly(expr, given)]

    def admitted(
        self, places: Array, chip: Mapping[str, int | Fraction], removed: frozenset[str]
    ) -> Array:
        """Of the rows at ``places``, those that every wall that is left admits, exactly."""
        for need in self.formulation.needs:
            if need.fields & removed or not places.size:
                continue
            condition = need.constraint.condition
            try:
                held = self.exact(condition, places, chip)
            except EvaluationError:
                held = [Fraction(self._holds(condition, p, chip)) for p in places]
            places = places[np.array([h == 1 for h in held], dtype=bool)]
        return places

    def _holds(self, condition: Expr, place: int, chip: Mapping[str, int | Fraction]) -> bool:
        try:
            return self.exact(condition, np.array([place]), chip) == [1]
        except EvaluationError:
            return False

    def of_designs(self, designs: Sequence[Mapping[str, int]]) -> "Table":
        """A table of these designs alone, whether or not they are rows of this one."""
        shape = self.formulation
        columns: dict[str, Array] = {
            n: np.array([d[n] for d in designs], dtype=np.int64) for n in shape.names
        }
        axes = (Axis(columns or {"$row": np.arange(len(designs))}),)
        rows = (np.arange(len(designs)),)
        atoms = {n: column_of(e, axes).at(rows) for n, e in shape.atoms.items()}
        return _table(shape, columns or axes[0].columns, atoms, len(designs), True)

    def design(self, place: int) -> dict[str, int]:
        return {name: int(self.columns[name][place]) for name in self.formulation.names}


def in_scope(shape: Formulation, span: Span) -> bool:
    """Whether some chip of ``span`` may be in the template's scope; exact for one chip."""
    ranges = {name: Interval(lo, hi) for name, (lo, hi) in span.items()}
    return all(bounds(condition, ranges).hi >= 1 for condition in shape.scope)


def tabulated(shape: Formulation, library: Library, with_energy: bool) -> Table:
    """The table of a formulation; ``with_energy`` if the energy is part of what is asked.

    Raises :class:`InputError` where there are too many designs.
    """
    what = f"{shape.template.name} for {shape.kernel}"
    designs = designs_of(shape.names, shape.menus, shape.own, {}, what)
    if designs.count > LARGEST:
        told = f"{what}: {designs.count:.2g} designs are more than {LARGEST:.0e}"
        hint = "shorten a menu, or add constraints that do not read the chip"
        raise InputError([Diagnostic(told, shape.template.span, hint)])
    if designs.count == 0:
        empty: dict[str, Array] = {n: np.empty(0, dtype=np.int64) for n in shape.names}
        return Table(shape, empty, {}, {}, 0, True)
    (block,) = designs.blocks(LARGEST + 1)
    atoms = {n: column_of(e, designs.axes) for n, e in shape.atoms.items()}
    ties = designs.count <= EXACT_TIES
    rank = _rank(shape, block.arrays, block.shape)
    figures = [shape.time.remainder]
    if with_energy and shape.energy is not None:
        figures.append(shape.energy.remainder)
    if ties:
        figures += [p.remainder for p in shape.prefer]
    keys = [_spread(k, block.shape) for k in keys_of(atoms, figures, shape.needs, library)]
    places = undominated([*keys, *([rank] if ties else [])], rank)
    # Rows in the order of their decisions: the first of equal ones is the least.
    places = places[np.argsort(rank[places])]
    columns = designs.columns(block, places)
    rows = np.unravel_index(places, block.shape)
    return _table(shape, columns, {n: c.at(rows) for n, c in atoms.items()}, designs.count, ties)


def _table(
    shape: Formulation,
    columns: dict[str, Array],
    atoms: dict[str, Exact | Truths],
    enumerated: int,
    ties: bool,
) -> Table:
    given = {name: _bands(value) for name, value in atoms.items()}
    return Table(shape, columns, atoms, given, enumerated, ties)


def _cell(value: Exact | Truths, place: int) -> Scalar:
    if isinstance(value, Truths):
        return bool(np.asarray(value.value)[place])
    num, den = (x.a if isinstance(x.a, int) else int(x.a[place]) for x in (value.num, value.den))
    if not isinstance(value.bad, bool) and value.bad[place]:
        raise EvaluationError("a part of the cost has no value")
    return num if den == 1 else Fraction(num, den)


def _spread(column: Array, full: tuple[int, ...]) -> Array:
    return np.broadcast_to(column, full).reshape(-1)


def _rank(shape: Formulation, arrays: Mapping[str, Given], full: tuple[int, ...]) -> Array:
    """The place of each design in the order of its decisions."""
    total: Array = np.zeros((1,) * len(full), dtype=np.int64)
    for name, menu in zip(shape.names, shape.menus, strict=True):
        place = np.searchsorted(np.array(menu), np.asarray(arrays[name]))
        total = total * len(menu) + place
    return _spread(total, full)


def _bands(value: Exact | Truths) -> Value:
    """An atom's flat columns as bands. A place without a value is unbounded."""
    if isinstance(value, Truths):
        held = np.asarray(value.value)
        return Verdicts(held, held)
    num, den = value.num.a, value.den.a
    if isinstance(num, int) and isinstance(den, int):
        return point(Fraction(num, den))
    band = quotients(np.asarray(num), den)
    if isinstance(value.bad, bool):
        return band
    low, high = np.where(value.bad, -np.inf, band.lo), np.where(value.bad, np.inf, band.hi)
    return Band(low, high, float(low.min()), float(high.max()))
