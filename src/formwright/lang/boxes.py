"""The box of an apply: given, or read from the shapes of its buffers (rule P12)."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import (
    ONE,
    Arith,
    Cell,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.ir.program import (
    Access,
    BoxVar,
    Buffer,
    Index,
    Literal,
    Op,
    Read,
    Select,
    Value,
)
from formwright.ir.show import show_expr
from formwright.lang.draft import RawApply
from formwright.lang.names import Names


@dataclass(slots=True)
class Place:
    """Where a free name first stands, and the extents it has where it stands alone."""

    span: Span | None
    extents: list[tuple[Expr, Span | None]] = field(default_factory=list)
    in_tensor: bool = False
    in_unknown: bool = False


def free_places(
    destination: Access, value: Value, buffers: Mapping[str, Buffer], known: Container[str]
) -> dict[str, Place]:
    """The free names of an apply in the order in which its text first has them."""
    places: dict[str, Place] = {}
    _access_places(destination, buffers, known, places)
    for part in _parts(value):
        if isinstance(part, Access):
            _access_places(part, buffers, known, places)
        else:
            _expr_places(part, known, places)
    return places


def agreed_box(places: Mapping[str, Place]) -> tuple[BoxVar, ...] | None:
    """Each name with its extent, or None when one has no extent or two different ones."""
    found: list[BoxVar] = []
    for name, place in places.items():
        if not place.extents or any(e != place.extents[0][0] for e, _ in place.extents):
            return None
        found.append(BoxVar(name, place.extents[0][0]))
    return tuple(found)


def inferred_box(
    apply: RawApply, buffers: Mapping[str, Buffer], names: Names
) -> tuple[BoxVar, ...]:
    """The box of an apply that gives none; what it leaves open is told."""
    places = free_places(apply.destination, apply.value, buffers, names.table)
    found: list[BoxVar] = []
    for name, place in places.items():
        if place.extents:
            found.append(BoxVar(name, place.extents[0][0]))
            _agree(name, place, names)
        else:
            # Bound to something, so that the name is told once for this apply.
            found.append(BoxVar(name, ONE))
            if not place.in_unknown and name not in names.faults.tolerated:
                _no_extent(name, place, names)
    return tuple(found)


def _agree(name: str, place: Place, names: Names) -> None:
    first = place.extents[0][0]
    for extent, span in place.extents[1:]:
        if extent != first:
            names.faults.add(
                f'the extent of "{name}" is {show_expr(first)} before and {show_expr(extent)} here',
                span,
                f"say which: over ({name} < {show_expr(first)})",
            )
            return


def _no_extent(name: str, place: Place, names: Names) -> None:
    if place.in_tensor:
        names.faults.add(
            f'the extent of "{name}" is not given: it stands alone in no buffer of the program',
            place.span,
            f"give the box: over ({name} < …)",
        )
        return
    hint = names.faults.nearest(name, names.table)
    names.faults.add(
        f'the name "{name}" is unknown',
        place.span,
        hint or f"bind it with for or par, or give the box: over ({name} < …)",
    )


def _parts(value: Value) -> Iterator[Access | Expr]:
    """Accesses and index expressions of a value, left to right."""
    match value:
        case Literal():
            return
        case Read(access):
            yield access
        case Index(expr):
            yield expr
        case Op(_, args):
            for arg in args:
                yield from _parts(arg)
        case Select(cond, then, other):
            yield cond
            yield from _parts(then)
            yield from _parts(other)
        case _:
            assert_never(value)


def _access_places(
    access: Access, buffers: Mapping[str, Buffer], known: Container[str], places: dict[str, Place]
) -> None:
    if access.generation is not None:
        _expr_places(access.generation, known, places)
    buffer = buffers.get(access.buffer)
    for at, index in enumerate(access.index):
        _expr_places(index, known, places)
        if not isinstance(index, Var) or index.name not in places:
            continue
        if buffer is None or at >= len(buffer.shape):
            places[index.name].in_unknown = True
        elif buffer.home == "global":
            places[index.name].in_tensor = True
        else:
            places[index.name].extents.append((buffer.shape[at], index.span))


def _expr_places(expr: Expr, known: Container[str], places: dict[str, Place]) -> None:
    for var in free_in_order(expr):
        if var.name not in known and not var.name.startswith(("chip.", "bytes.")):
            places.setdefault(var.name, Place(var.span))


def free_in_order(expr: Expr) -> Iterator[Var]:
    """Free names of ``expr`` with their places, left to right."""
    match expr:
        case Num() | Truth():
            return
        case Var():
            yield expr
        case Arith(_, a, b) | Compare(_, a, b) | Logic(_, a, b):
            yield from free_in_order(a)
            yield from free_in_order(b)
        case Neg(a) | Round(_, a) | Not(a):
            yield from free_in_order(a)
        case MinMax(_, args) | Cell(_, args):
            for arg in args:
                yield from free_in_order(arg)
        case Cond(c, a, b):
            for part in (c, a, b):
                yield from free_in_order(part)
        case Sum(var, lo, hi, body):
            yield from free_in_order(lo)
            yield from free_in_order(hi)
            yield from (v for v in free_in_order(body) if v.name != var)
        case _:
            assert_never(expr)
