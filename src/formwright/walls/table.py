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
from formwright.ir import rational_arrays as rationals
from formwright.ir.bands import Band, Bands, Mask, Value, Verdicts, between, conjunction, quotients
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr, Var
from formwright.ir.int_arrays import Array
from formwright.ir.interval import Interval, bounds
from formwright.ir.rational_arrays import Exact, NeedsExactError
from formwright.ir.rewrite import free_names
from formwright.ir.vectorise import Evaluator, Given, Truths, Values, exactly
from formwright.milp.monotone import Direction, direction
from formwright.walls.dominance import Key, undominated
from formwright.walls.formulation import Figure, Formulation, Need
from formwright.walls.rows import designs_of
from formwright.walls.split import sides

Span = Mapping[str, tuple[int | Fraction, int | Fraction]]
"""Least and greatest value of each field of a box of chips, by ``chip.NAME``."""

EXACT_TIES = 1 << 16
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
    """``columns`` are the decisions of the rows, ``given`` the values of their atoms.

    ``enumerated`` designs were looked at; ``ties`` says that none was dropped that ties.
    """

    formulation: Formulation
    columns: dict[str, Array]
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
        evaluator = Evaluator(dict(columns))
        count = (len(designs),)
        places = np.arange(len(designs))
        given = {n: _taken(evaluator.run(e), count, places) for n, e in shape.atoms.items()}
        return Table(shape, columns, given, len(designs), True)

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
        return Table(shape, empty, {}, 0, True)
    (block,) = designs.blocks(LARGEST + 1)
    evaluator = Evaluator(dict(block.arrays))
    atoms = {name: _evaluated(evaluator, expr) for name, expr in shape.atoms.items()}
    ties = designs.count <= EXACT_TIES
    rank = _rank(shape, block.arrays, block.shape)
    keys = _keys(shape, library, atoms, block.shape, with_energy)
    places = undominated([*keys, *([Key(rank, rank)] if ties else [])], rank)
    # Rows in the order of their decisions: the first of equal ones is the least.
    places = places[np.argsort(rank[places])]
    columns = designs.columns(block, places)
    given = {name: _taken(value, block.shape, places) for name, value in atoms.items()}
    return Table(shape, columns, given, designs.count, ties)


def _evaluated(evaluator: Evaluator, expr: Expr) -> Values:
    """An atom at every design. Where it has no value at some, it stands behind a guard: then it
    is worked out as far as it goes, and the rows without a value are unbounded."""
    return evaluator.run(expr)


def _rank(shape: Formulation, arrays: Mapping[str, Given], full: tuple[int, ...]) -> Array:
    """The place of each design in the order of its decisions."""
    total: Array = np.zeros((1,) * len(full), dtype=np.int64)
    for name, menu in zip(shape.names, shape.menus, strict=True):
        place = np.searchsorted(np.array(menu), np.asarray(arrays[name]))
        total = total * len(menu) + place
    return np.broadcast_to(total, full).reshape(-1)


def _keys(
    shape: Formulation,
    library: Library,
    atoms: Mapping[str, Values],
    full: tuple[int, ...],
    with_energy: bool,
) -> list[Key]:
    """One key for each atom, or two where nothing is known of how a figure moves with it."""
    chips = {f"chip.{f.name}": Interval(min(f.menu), max(f.menu)) for f in library.fields}
    ranges = chips | {name: _range(value) for name, value in atoms.items()}
    figures: list[Figure] = [shape.time, *shape.prefer]
    if with_energy and shape.energy is not None:
        figures.append(shape.energy)
    keys: list[Key] = []
    for name, value in atoms.items():
        part = Var(name)
        moves = [direction(f.remainder, part, ranges) for f in figures]
        moves += [_need_direction(n, part, ranges) for n in shape.needs]
        sign = _agreed(moves)
        if sign == 0:
            continue
        low, high = _ends(value, full)
        if sign is None or sign > 0:
            keys.append(Key(low, high))
        if sign is None or sign < 0:
            turned = -high
            keys.append(Key(turned, turned if high is low else -low))
    return keys


def _need_direction(need: Need, part: Var, ranges: Mapping[str, Interval]) -> Direction:
    excess = sides(need.remainder)
    if excess is None:
        return 0 if part.name not in free_names(need.remainder) else None
    return direction(excess, part, ranges)


def _agreed(moves: Sequence[Direction]) -> Direction:
    if None in moves:
        return None
    signs = set(moves) - {0}
    return None if len(signs) > 1 else (signs.pop() if signs else 0)


def _range(value: Values) -> Interval:
    if isinstance(value, Truths):
        return Interval(0, 1)
    if isinstance(value, Exact):
        num, den = value.num, value.den
        corners = [Fraction(n, d) for n in (num.lo, num.hi) for d in (den.lo, den.hi)]
        return Interval(min(corners), max(corners))
    low, high = float(np.min(value.value)), float(np.max(value.value))
    return Interval(Fraction(low - value.error), Fraction(high + value.error))


def _ends(value: Values, full: tuple[int, ...]) -> tuple[Array, Array]:
    """The keys of an atom in every design; one array where they are exact."""
    if isinstance(value, Truths):
        held = _spread(np.asarray(value.value).astype(np.int64), full)
        return held, held
    if value.bad is not False:
        return _unsure(value, full)
    if isinstance(value, Exact):
        num, den = value.num, value.den
        if isinstance(den.a, int):
            exact = _spread(np.asarray(num.a), full)
            return exact, exact
        if max(abs(num.lo), abs(num.hi)) * den.hi < 2**52:
            # Different quotients of integers this small are different floats, in order.
            near = _spread(np.asarray(num.a) / np.asarray(den.a), full)
            return near, near
    return _unsure(value, full)


def _unsure(value: rationals.Number, full: tuple[int, ...]) -> tuple[Array, Array]:
    band = _band(value)
    low, high = _spread(np.asarray(band.lo), full), _spread(np.asarray(band.hi), full)
    if value.bad is not False:
        bad = _spread(np.asarray(value.bad), full)
        low, high = np.where(bad, -np.inf, low), np.where(bad, np.inf, high)
    return low, high


def _spread(column: Array, full: tuple[int, ...]) -> Array:
    return np.broadcast_to(column, full).reshape(-1)


def _band(value: rationals.Number) -> Band:
    if isinstance(value, Exact):
        den = value.den.a
        return quotients(np.asarray(value.num.a), den if isinstance(den, int) else np.asarray(den))
    try:
        near = rationals.approx(value)
    except NeedsExactError:
        raise InputError([Diagnostic("a cost is past the range of floats")]) from None
    low, high = near.value - near.error, near.value + near.error
    return Band(low, high, float(np.min(low)), float(np.max(high)))


def _taken(value: Values, full: tuple[int, ...], places: Array) -> Value:
    """An atom at the rows that stay, as bands. A place without a value is unbounded."""
    if isinstance(value, Truths):
        held = _spread(np.asarray(value.value), full)[places]
        return Verdicts(held, held)
    if isinstance(value, Exact) and value.bad is False:
        num = _spread(np.asarray(value.num.a), full)[places]
        if isinstance(value.den.a, int):
            return quotients(num, value.den.a)
        return quotients(num, _spread(np.asarray(value.den.a), full)[places])
    low, high = _unsure(value, full)
    lo, hi = low[places].astype(np.float64), high[places].astype(np.float64)
    return Band(lo, hi, float(lo.min()), float(hi.max()))
