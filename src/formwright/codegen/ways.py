"""How an apply is written: which box variable is the lanes, which are written out, which loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from formwright.base.diagnostics import fail
from formwright.codegen.context import Context
from formwright.codegen.facts import largest
from formwright.codegen.fold import fold
from formwright.codegen.linear import linear
from formwright.ir.expr import Var
from formwright.ir.program import Access, Apply, BoxVar, Index, Op, Select, Value
from formwright.ir.rewrite import accesses, free_names

Target = OneOf["lanes", "row", "column", "sum", "point"]
"""The destination: vectors in registers, a row or a column in memory, one cell, a point."""

COSTLY = frozenset({"exp", "/", "sqrt", "rsqrt"})
"""Worth a vector even where its lanes are stored one by one."""


@dataclass(frozen=True, slots=True)
class Way:
    """How an apply is written; ``column`` is None where every point is a scalar."""

    column: BoxVar | None
    written: tuple[BoxVar, ...]
    looped: tuple[BoxVar, ...]
    target: Target


def way_of(apply: Apply, context: Context) -> Way:
    every = (apply.destination, *accesses(apply.value))
    box = {v.name: v for v in apply.box}
    column, written = None, dict[str, BoxVar]()
    for access in every:
        tile = context.tiles.get(access.buffer)
        if tile is None:
            continue
        lead = access.index if tile.vectors == 0 else access.index[:-1]
        written.update({i.name: box[i.name] for i in lead if isinstance(i, Var)})
        last = access.index[-1]
        if tile.vectors and isinstance(last, Var):
            column = box[last.name]
    if column is None:
        column = _column(apply, [v for v in apply.box if v.name not in written])
    if column is None and len(apply.box) == len(written) == 1 and _big(apply, context):
        raise fail("this apply is written out point by point and is too large", apply.span)
    looped = tuple(v for v in apply.box if v.name not in written and v is not column)
    return Way(column, tuple(written.values()), looped, _target(apply, column, context))


def _big(apply: Apply, context: Context) -> bool:
    return any((largest(v.extent) or 0) > 256 for v in apply.box)


def _target(apply: Apply, column: BoxVar | None, context: Context) -> Target:
    if column is None:
        return "point"
    if column.name in names_in(apply.destination):
        if apply.destination.buffer in context.tiles:
            return "lanes"
        return "row" if _along(apply.destination, column.name) else "column"
    if apply.op == "=":
        raise fail(
            f'"{column.name}" is not an index of what is written: "=" would write it many times',
            apply.span,
        )
    return "sum"


def _column(apply: Apply, free: Sequence[BoxVar]) -> BoxVar | None:
    """The box variable along rows of memory: of the destination, else of what is added up."""
    for var in reversed(free):
        if _along(apply.destination, var.name) is True and _fits(apply, var.name):
            return var
    if apply.op == "=":
        return _of_reads(apply, free)
    for var in reversed(free):
        reads = [_along(a, var.name) for a in accesses(apply.value)]
        if var.name not in names_in(apply.destination) and True in reads and _fits(apply, var.name):
            return var
    return None


def _of_reads(apply: Apply, free: Sequence[BoxVar]) -> BoxVar | None:
    """The variable along the rows of what is read, where that makes costly operations vectors."""
    if not _costly(apply.value):
        return None
    for var in reversed(free):
        reads = [_along(a, var.name) for a in accesses(apply.value)]
        if True in reads and False not in reads and _conditions_fit(apply.value, var.name):
            return var
    return None


def _costly(value: Value) -> bool:
    match value:
        case Op(name, args):
            return name in COSTLY or any(_costly(a) for a in args)
        case Select(_, then, other):
            return _costly(then) or _costly(other)
        case _:
            return False


def _fits(apply: Apply, name: str) -> bool:
    every = (apply.destination, *accesses(apply.value))
    return all(_along(a, name) is not False for a in every) and _conditions_fit(apply.value, name)


def _along(access: Access, name: str) -> bool | None:
    """Whether the name stands along the row; None when it is no part of the index."""
    inside = [*access.index[:-1], *([] if access.generation is None else [access.generation])]
    if any(name in free_names(i) for i in inside):
        return False
    form = linear(fold(access.index[-1]))
    if not form.mentions(name):
        return None
    return form.coefficient(name) == 1 and not form.hides(name)


def _conditions_fit(value: Value, name: str) -> bool:
    """Indices and conditions are linear in the name."""
    match value:
        case Index(expr):
            return not linear(fold(expr)).hides(name)
        case Op(_, args):
            return all(_conditions_fit(a, name) for a in args)
        case Select(_, then, other):
            return _conditions_fit(then, name) and _conditions_fit(other, name)
        case _:
            return True


def names_in(access: Access) -> frozenset[str]:
    return frozenset().union(*(free_names(i) for i in access.index))


def together(applies: Sequence[Apply], further: Apply, context: Context) -> bool:
    """Whether ``further`` goes over the same lanes of register tiles and reads none of the others.

    Written together they share what they read: gate and up projection of one token, say.
    """
    every = (*applies, further)
    written = [a.destination.buffer for a in every]
    if len(set(written)) != len(written) or any(a.box != further.box for a in every):
        return False
    if not all(name in context.tiles for name in written):
        return False
    if any(r.buffer in written for a in every for r in accesses(a.value)):
        return False
    ways = [way_of(a, context) for a in every]
    return all(w == ways[0] and w.target == "lanes" and not w.looped for w in ways)
