"""What the designs of a table cost at least on the chips of a box, each on chips that admit it.

A design whose wall needs 132 KiB of a field runs on no chip with less: there it is priced with the
field at 132 KiB or more, though the box begins at 1 KiB. Without this the memory that a design
needs would be paid by another part of the box.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from formwright.base.memo import by_identity
from formwright.chip.library import Library
from formwright.ir.band_arrays import Band, Value, Verdicts, between, conjunction
from formwright.ir.bands import Bands
from formwright.ir.expr import Compare, Expr, Var
from formwright.ir.int_arrays import Array, Ints
from formwright.ir.rational_arrays import Exact
from formwright.ir.vectorise import Truths
from formwright.walls.table import Priced, Span, Table, in_scope

Menus = Mapping[str, Array]
"""The menu of each field in floats rounded down, by ``chip.NAME``."""


@by_identity
def menus_of(library: Library) -> Menus:
    """Values that floats do not hold exactly are rounded down."""
    found: dict[str, Array] = {}
    for field in library.fields:
        near = np.array([float(v) for v in field.menu])
        over = np.array([Fraction(n) > v for n, v in zip(near.tolist(), field.menu, strict=True)])
        found[f"chip.{field.name}"] = np.where(over, np.nextafter(near, -np.inf), near)
    return found


def floored(table: Table, span: Span, menus: Menus) -> Priced | None:
    """As :meth:`Table.priced` with all walls up; rows that are not open have no meaning."""
    shape = table.formulation
    if table.count == 0 or not in_scope(shape, span):
        return None
    given: dict[str, Value] = dict(table.given)
    for name in shape.fields:
        given[f"chip.{name}"] = between(*span[f"chip.{name}"])
    with np.errstate(all="ignore"):
        walls = Bands(given)
        verdicts = [walls.truths(n.remainder) for n in shape.needs]
        raised = _raised(table, given, walls, menus)
        pass_ = Bands({**given, **raised}) if raised else walls
        time = pass_.number(shape.time.remainder)
        energy = None if shape.energy is None else pass_.number(shape.energy.remainder)
    return Priced(
        conjunction([v.may for v in verdicts]),
        conjunction([v.sure for v in verdicts]),
        time,
        energy,
    )


def cut(table: Table, keep: Array) -> Table:
    """The rows of ``table`` where ``keep`` holds."""
    places = np.flatnonzero(keep)
    return Table(
        table.formulation,
        {name: column[places] for name, column in table.columns.items()},
        {name: _cells(value, places) for name, value in table.atoms.items()},
        {name: _taken(value, places) for name, value in table.given.items()},
        table.enumerated,
        table.ties,
    )


def _raised(
    table: Table, given: Mapping[str, Value], walls: Bands, menus: Menus
) -> dict[str, Value]:
    """Fields whose lower end is a column: the least menu value that the row's walls allow."""
    found: dict[str, Value] = {}
    for need in table.formulation.needs:
        for name, least in _needs(need.remainder):
            span = given[name]
            assert isinstance(span, Band)
            if span.lo == span.hi:
                continue
            menu = menus[name]
            low = np.asarray(walls.number(least).lo)
            place = np.minimum(np.searchsorted(menu, low, side="left"), menu.size - 1)
            before = found.get(name, span)
            assert isinstance(before, Band)
            lows = np.minimum(np.maximum(menu[place], before.lo), span.hi)
            found[name] = Band(lows, span.hi, span.least, span.most, span.whole)
    return found


def _needs(condition: Expr) -> Iterator[tuple[str, Expr]]:
    """Fields that a condition bounds from below, with what by."""
    match condition:
        case Compare("<=" | "<", least, Var(name)) if name.startswith("chip."):
            yield name, least
        case Compare(">=" | ">", Var(name), least) if name.startswith("chip."):
            yield name, least


def _taken(value: Value, places: Array) -> Value:
    if isinstance(value, Verdicts):
        sure, may = np.asarray(value.sure), np.asarray(value.may)
        return Verdicts(_rows(sure, places), _rows(may, places))
    low = _rows(np.asarray(value.lo), places)
    high = low if value.hi is value.lo else _rows(np.asarray(value.hi), places)
    least, most = float(low.min(initial=np.inf)), float(high.max(initial=-np.inf))
    return Band(low, high, least, most, value.whole)


def _cells(value: Exact | Truths, places: Array) -> Exact | Truths:
    bad = value.bad if isinstance(value.bad, bool) else value.bad[places]
    if isinstance(value, Truths):
        return Truths(_rows(np.asarray(value.value), places), bad)
    num, den = (
        x if isinstance(x.a, int) else Ints(x.a[places], x.lo, x.hi) for x in (value.num, value.den)
    )
    return Exact(num, den, bad)


def _rows(column: Array, places: Array) -> Array:
    return column[places] if column.ndim else column
