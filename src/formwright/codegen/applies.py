"""Applies with registers, narrow element types, reductions or choices along a row, in vectors.

One box variable is the column (lanes), those that index register tiles are written out, the
others are loops. Whole vectors where the bounds are known, else the first lanes of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal as OneOf

from formwright.base.diagnostics import fail
from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context
from formwright.codegen.facts import known_extent, largest
from formwright.codegen.fold import fold
from formwright.codegen.leaves import LANE, Cells, Named
from formwright.codegen.linear import Linear, linear, plus
from formwright.codegen.points import bind_box
from formwright.codegen.values import updated, value_text
from formwright.ir.expr import Arith, Expr, Num, Var, num
from formwright.ir.program import Access, Apply, BoxVar, Index, Op, Select, Value
from formwright.ir.rewrite import accesses, free_names

MOST_WRITTEN = 16
"""Vectors of a row without register lanes that are written out; longer rows get a loop."""

Target = OneOf["lanes", "row", "sum", "point"]
"""The destination: vectors in registers, a row in memory, a cell for all lanes, a point."""


@dataclass(frozen=True, slots=True)
class Way:
    """How an apply is written; ``column`` is None where every point is a scalar."""

    column: BoxVar | None
    written: tuple[BoxVar, ...]
    looped: tuple[BoxVar, ...]
    target: Target


def emit_apply(apply: Apply, context: Context) -> None:
    way = _way(apply, context)
    _loops(way.looped, context, lambda inside: _emit(apply, way, inside))


def _loops(box: Sequence[BoxVar], context: Context, body: Callable[[Context], None]) -> None:
    if not box:
        body(context)
        return
    var, extent = box[0].name, box[0].extent
    end = c_integer(extent, context.names)
    with context.writer.block(f"for (int64_t i_{var} = 0; i_{var} < {end}; i_{var}++)"):
        _loops(box[1:], bind_box(context, var, extent), body)


# The way.


def _way(apply: Apply, context: Context) -> Way:
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
        column = _column(apply, [v for v in apply.box if v.name not in written], context)
    if column is None and len(apply.box) == len(written) == 1 and _big(apply, context):
        raise fail("this apply is written out point by point and is too large", apply.span)
    looped = tuple(v for v in apply.box if v.name not in written and v is not column)
    return Way(column, tuple(written.values()), looped, _target(apply, column, context))


def _big(apply: Apply, context: Context) -> bool:
    return any((largest(v.extent) or 0) > 256 for v in apply.box)


def _target(apply: Apply, column: BoxVar | None, context: Context) -> Target:
    if column is None:
        return "point"
    if column.name in _names(apply.destination):
        return "lanes" if apply.destination.buffer in context.tiles else "row"
    if apply.op == "=":
        raise fail(
            f'"{column.name}" is not an index of what is written: "=" would write it many times',
            apply.span,
        )
    return "sum"


def _column(apply: Apply, free: Sequence[BoxVar], context: Context) -> BoxVar | None:
    """The box variable along rows of memory: of the destination, else of what is added up."""
    for var in reversed(free):
        if _along(apply.destination, var.name) is True and _fits(apply, var.name, context):
            return var
    if apply.op == "=":
        return None
    for var in reversed(free):
        reads = [_along(a, var.name) for a in accesses(apply.value)]
        if (
            var.name not in _names(apply.destination)
            and True in reads
            and _fits(apply, var.name, context)
        ):
            return var
    return None


def _fits(apply: Apply, name: str, context: Context) -> bool:
    return all(
        _along(a, name) is not False for a in (apply.destination, *accesses(apply.value))
    ) and _conditions_fit(apply.value, name)


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


def _names(access: Access) -> frozenset[str]:
    return frozenset().union(*(free_names(i) for i in access.index))


# Rows and vectors written out.


@dataclass(frozen=True, slots=True)
class Position:
    """A vector of the column: its first lane, how many lanes are wanted (None: all)."""

    at: Expr
    count: str | None = None
    size: tuple[Expr, ...] = ()


def _emit(apply: Apply, way: Way, context: Context) -> None:
    if way.column is None:
        _group(apply, way, [None], context)
        return
    extent = known_extent(fold(way.column.extent), context)
    lanes = context.output.target.lanes
    most = largest(extent)
    registers = way.target == "lanes" or any(
        a.buffer in context.tiles and way.column.name in _names(a) for a in accesses(apply.value)
    )
    if most is not None and (registers or most <= MOST_WRITTEN * lanes):
        with context.writer.block(""):
            positions = list(_positions(extent, most, way.column.name, context))
            _whole(apply, way, positions, context)
        return
    if registers:
        raise fail("a register tile is used in whole rows of a constant length", apply.span)
    if way.target == "sum":
        _long_sum(apply, way, extent, context)
    else:
        _long_row(apply, way, extent, context)


def _positions(extent: Expr, most: int, name: str, context: Context) -> Iterator[Position]:
    lanes = context.output.target.lanes
    end = None
    if not isinstance(extent, Num):
        end = f"end_{name}"
        context.writer.line(f"const int64_t {end} = {c_integer(extent, context.names)};")
    for at in range(0, most, lanes):
        left: Expr = fold(Arith("-", extent, num(at)))
        if end is not None:
            yield Position(num(at), f"{end} - {at}" if at else end, _uppers(extent, at))
        elif most - at >= lanes:
            yield Position(num(at))
        else:
            yield Position(num(at), str(most - at), (left,))


def _uppers(extent: Expr, at: int) -> tuple[Expr, ...]:
    """What bounds the lanes from ``at`` on: the arguments of a minimum, each less ``at``."""
    args = getattr(extent, "args", (extent,))
    return tuple(fold(Arith("-", a, num(at))) for a in args)


def _whole(apply: Apply, way: Way, positions: Sequence[Position], context: Context) -> None:
    if way.target == "sum":
        _sums(apply, way, positions, context)
    else:
        _group(apply, way, positions, context)


def _rows(way: Way, context: Context) -> Iterator[tuple[dict[str, Expr], str]]:
    """Values of the names that are written out, and the test that they are in the box."""
    extents = [known_extent(fold(v.extent), context) for v in way.written]
    counts = [largest(e) or 0 for e in extents]
    for point in product(*(range(c) for c in counts)):
        tests = [
            f"{at} < {c_integer(extent, context.names)}"
            for at, extent in zip(point, extents, strict=True)
            if not isinstance(extent, Num)
        ]
        values: dict[str, Expr] = {
            v.name: num(at) for v, at in zip(way.written, point, strict=True)
        }
        yield values, " && ".join(tests)


def _cells(
    way: Way,
    position: Position | None,
    values: Mapping[str, Expr],
    named: Named,
    by_vector: bool,
    context: Context,
) -> Cells:
    if position is None or way.column is None:
        return Cells(context, values, named)
    return Cells(
        context,
        values,
        named,
        way.column.name,
        position.at,
        position.count,
        position.size,
        by_vector,
    )


def _group(apply: Apply, way: Way, positions: Sequence[Position | None], context: Context) -> None:
    """Statements for every row and vector; what they share is loaded once, where it is first used.

    A load that is named earlier than that would take a register from the tile.
    """
    rows = list(_rows(way, context))
    by_vector = _by_vector(apply, way, len(rows), len(positions))
    named, body = Named(), list[str]()
    turns = (
        [[(row, position) for row in rows] for position in positions]
        if by_vector
        else [[(row, position) for position in positions] for row in rows]
    )
    for turn in turns:
        lines = list[str]()
        for (values, test), position in turn:
            text = _statement(apply, _cells(way, position, values, named, by_vector, context))
            lines += named.take()
            lines.append(f"if ({test}) {{ {text} }}" if test else text)
        named.turn()
        body += lines
    with context.writer.block(""):
        for line in body:
            context.writer.line(line)


def _by_vector(apply: Apply, way: Way, rows: int, vectors: int) -> bool:
    """Vectors outside, rows inside, unless that keeps more loads alive than the other way."""
    if way.column is None:
        return True
    written = {v.name for v in way.written}
    spread = along = 0
    for access in set(accesses(apply.value)):
        names = _names(access)
        if way.column.name in names and names.isdisjoint(written):
            along += 1
        if way.column.name not in names and not names.isdisjoint(written):
            spread += 1
    return spread * rows <= along * vectors or along == 0


def _statement(apply: Apply, cells: Cells) -> str:
    access, context = apply.destination, cells.context
    tile = context.tiles.get(access.buffer)
    if tile is not None:
        cell = cells.cell(access, tile)
        text = updated(apply.op, cell, apply.value, cells)
        if cells.count is not None:
            text = f"fw_choose(fw_first({cells.count}), {text}, {cell})"
        return f"{cell} = {text};"
    placed = cells.placed(access)
    found, pointer = cells.found(placed), cells.pointer(placed)
    kind = context.place(access.buffer).kind
    if not cells.vector:
        tests = cells.tests(found)
        text = kind.put(pointer, updated(apply.op, kind.get(pointer), apply.value, cells))
        return f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text
    count = cells.lanes(found)
    tests = cells.tests(b for b in found if not b.form.mentions(LANE))
    if count is None:
        text = kind.store(pointer, updated(apply.op, kind.load(pointer), apply.value, cells))
    else:
        old = kind.load_part(pointer, count)
        text = kind.store_part(pointer, updated(apply.op, old, apply.value, cells), count)
    return f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text


# Sums and maxima over lanes.


def _sums(apply: Apply, way: Way, positions: Sequence[Position], context: Context) -> None:
    """Vectors added up as a tree, then the lanes."""
    named, body = Named(), list[str]()
    for values, test in _rows(way, context):
        vectors = [
            _masked(apply, _cells(way, position, values, named, False, context))
            for position in positions
        ]
        text = _finish(apply, _tree(apply.op, vectors), values, context)
        lines = [*named.turn(), text]
        body.append(f"if ({test}) {{ {' '.join(lines)} }}" if test else f"{{ {' '.join(lines)} }}")
    with context.writer.block(""):
        for line in (*named.top, *body):
            context.writer.line(line)


def _masked(apply: Apply, cells: Cells) -> str:
    """The value in a vector; lanes that are not wanted have what changes nothing."""
    text = value_text(apply.value, cells)
    if cells.count is None:
        return text
    return f"fw_choose(fw_first({cells.count}), {text}, {_neutral(apply)})"


def _neutral(apply: Apply) -> str:
    return "(fw_vec){0}" if apply.op == "+=" else "fw_all(-INFINITY)"


def _tree(op: str, vectors: Sequence[str]) -> str:
    found = list(vectors)
    while len(found) > 1:
        pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
        found = [_both(op, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return found[0]


def _both(op: str, a: str, b: str) -> str:
    return f"({a} + {b})" if op == "+=" else f"fw_vec_max({a}, {b})"


def _finish(apply: Apply, vector: str, values: Mapping[str, Expr], context: Context) -> str:
    """The destination with the lanes of ``vector`` put together."""
    access, cells = apply.destination, Cells(context, values, Named())
    lanes = f"fw_sum({vector})" if apply.op == "+=" else f"fw_greatest({vector})"

    def into(old: str) -> str:
        return f"{old} + {lanes}" if apply.op == "+=" else f"fw_larger({lanes}, {old})"

    tile = context.tiles.get(access.buffer)
    if tile is not None:
        cell = cells.cell(access, tile)
        return f"{cell} = {into(cell)};"
    placed = cells.placed(access)
    kind, pointer = context.place(access.buffer).kind, cells.pointer(placed)
    tests = cells.tests(cells.found(placed))
    text = kind.put(pointer, into(kind.get(pointer)))
    return f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text


# Rows whose length comes at run time.


def _steps(
    way: Way,
    extent: Expr,
    each: int,
    context: Context,
    body: Callable[[int, Position, Context], None],
) -> None:
    """Loops over the column: ``each`` vectors at a time, one at a time, then the rest of one."""
    if way.column is None:
        raise AssertionError("a long row has a column")
    out, lanes, name = context.writer, context.output.target.lanes, way.column.name
    end = c_integer(extent, context.names)
    inside = bind_box(context, name, extent)
    out.line(f"int64_t i_{name} = 0;")
    out.line(f"const int64_t end_{name} = {end};")
    for count in sorted({each, 1}, reverse=True):
        step = count * lanes
        fact = plus(plus(linear(extent), Linear(step, ()), -1), linear(Var(name)), -1)
        known = replace(inside, facts=(*inside.facts, *_each(extent, step, name), fact))
        head = f"for (; i_{name} + {step} <= end_{name}; i_{name} += {step})"
        with out.block(head):
            for at in range(count):
                position = Position(fold(Arith("+", Var(name), num(at * lanes))))
                body(at, position, known)
    with out.block(f"if (i_{name} < end_{name})"):
        uppers = tuple(fold(Arith("-", a, Var(name))) for a in getattr(extent, "args", (extent,)))
        body(0, Position(Var(name), f"end_{name} - i_{name}", uppers), inside)


def _each(extent: Expr, step: int, name: str) -> tuple[Linear, ...]:
    """The same for each argument of a minimum."""
    return tuple(
        plus(plus(linear(a), Linear(step, ()), -1), linear(Var(name)), -1)
        for a in getattr(extent, "args", ())
    )


def _long_row(apply: Apply, way: Way, extent: Expr, context: Context) -> None:
    def body(_: int, position: Position, inside: Context) -> None:
        _group(apply, way, [position], inside)

    with context.writer.block(""):
        _steps(way, extent, 1, context, body)


def _long_sum(apply: Apply, way: Way, extent: Expr, context: Context) -> None:
    """Several vectors of partial sums for each row that is written out."""
    rows, out = list(_rows(way, context)), context.writer
    each = max(1, min(4, 8 // max(1, len(rows))))
    with out.block(""):
        for at in range(len(rows)):
            names = ", ".join(f"sum_{at}_{k} = {_neutral(apply)}" for k in range(each))
            out.line(f"fw_vec {names};")

        def body(k: int, position: Position, inside: Context) -> None:
            named, lines = Named(), list[str]()
            for at, (values, test) in enumerate(rows):
                cells = _cells(way, position, values, named, True, inside)
                cell = f"sum_{at}_{k}"
                text = updated(apply.op, cell, apply.value, cells)
                if cells.count is not None:
                    text = f"fw_choose(fw_first({cells.count}), {text}, {cell})"
                lines.append(f"{f'if ({test}) ' if test else ''}{cell} = {text};")
            with out.block(""):
                for line in (*named.top, *named.turn(), *lines):
                    out.line(line)

        _steps(way, extent, each, context, body)
        for at, (values, test) in enumerate(rows):
            vector = _tree(apply.op, [f"sum_{at}_{k}" for k in range(each)])
            text = _finish(apply, vector, values, context)
            out.line(f"if ({test}) {{ {text} }}" if test else text)
