"""Applies with registers, narrow element types, reductions or choices along a row, in vectors.

One box variable is the column (lanes), those that index register tiles are written out, the
others are loops. Whole vectors where the bounds are known, else the first lanes of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from formwright.base.diagnostics import fail
from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context
from formwright.codegen.facts import known_extent, largest
from formwright.codegen.fold import fold
from formwright.codegen.leaves import LANE, Cells, Named
from formwright.codegen.linear import Linear, linear, plus
from formwright.codegen.points import bind_box
from formwright.codegen.sums import Summed, at_once, finish, neutral, tree
from formwright.codegen.values import updated, value_text
from formwright.codegen.ways import Way, names_in, way_of
from formwright.ir.expr import Arith, Expr, Num, Var, num
from formwright.ir.program import Apply, BoxVar
from formwright.ir.rewrite import accesses

MOST_WRITTEN = 16
"""Vectors of a row without register lanes that are written out; longer rows get a loop."""


def emit_applies(applies: Sequence[Apply], context: Context) -> None:
    """One apply, or several that go together (see :func:`together`)."""
    way = way_of(applies[0], context)
    _loops(way.looped, context, lambda inside: _emit(applies, way, inside))


def _loops(box: Sequence[BoxVar], context: Context, body: Callable[[Context], None]) -> None:
    if not box:
        body(context)
        return
    var, extent = box[0].name, box[0].extent
    end = c_integer(extent, context.names)
    with context.writer.block(f"for (int64_t i_{var} = 0; i_{var} < {end}; i_{var}++)"):
        _loops(box[1:], bind_box(context, var, extent), body)


# Rows and vectors written out.


@dataclass(frozen=True, slots=True)
class Position:
    """A vector of the column: its first lane, how many lanes are wanted (None: all)."""

    at: Expr
    count: str | None = None
    size: tuple[Expr, ...] = ()


def _emit(applies: Sequence[Apply], way: Way, context: Context) -> None:
    apply = applies[0]
    if way.column is None:
        _group(applies, way, [None], context)
        return
    extent = known_extent(fold(way.column.extent), context)
    lanes = context.output.target.lanes
    most = largest(extent)
    registers = way.target == "lanes" or any(
        a.buffer in context.tiles and way.column.name in names_in(a) for a in accesses(apply.value)
    )
    if most is not None and (registers or most <= MOST_WRITTEN * lanes):
        with context.writer.block(""):
            positions = list(_positions(extent, most, way.column.name, context))
            if way.target == "sum":
                _sums(apply, way, positions, context)
            else:
                _group(applies, way, positions, context)
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


def _group(
    applies: Sequence[Apply], way: Way, positions: Sequence[Position | None], context: Context
) -> None:
    """Statements for every row and vector; what they share is loaded once, where it is first used.

    A load that is named earlier than that would take a register from the tile. A row that is
    perhaps not in the box has loads of its own, below its test.
    """
    rows = list(_rows(way, context))
    by_vector = _by_vector(applies, way, len(rows), len(positions))
    named, body = Named(), list[str]()
    turns = (
        [[(row, position) for row in rows] for position in positions]
        if by_vector
        else [[(row, position) for position in positions] for row in rows]
    )
    for turn in turns:
        lines = list[str]()
        for (values, test), position in turn:
            loads = Named() if test else named
            cells = _cells(way, position, values, loads, by_vector, context)
            for apply in applies:
                text = _statement(apply, way, cells)
                parts = [*loads.take(), text]
                lines += [f"if ({test}) {{ {' '.join(parts)} }}"] if test else parts
                if test:
                    loads.forget()
        named.turn()
        body += lines
    with context.writer.block(""):
        for line in body:
            context.writer.line(line)


def _by_vector(applies: Sequence[Apply], way: Way, rows: int, vectors: int) -> bool:
    """Vectors outside, rows inside, unless that keeps more loads alive than the other way."""
    if way.column is None:
        return True
    written = {v.name for v in way.written}
    spread = along = 0
    for access in {a for apply in applies for a in accesses(apply.value)}:
        names = names_in(access)
        if way.column.name in names and names.isdisjoint(written):
            along += 1
        if way.column.name not in names and not names.isdisjoint(written):
            spread += 1
    return spread * rows <= along * vectors or along == 0


def _statement(apply: Apply, way: Way, cells: Cells) -> str:
    access, context = apply.destination, cells.context
    tile = context.tiles.get(access.buffer)
    if tile is not None:
        cell = cells.cell(access, tile)
        text = updated(apply.op, cell, apply.value, cells)
        if cells.count is not None:
            text = f"fw_choose(fw_first({cells.count}), {text}, {cell})"
        return f"{cell} = {text};"
    if way.target == "column":
        return _lane_by_lane(apply, cells)
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
        store = kind.stream if access.buffer == context.streamed else kind.store
        text = store(pointer, updated(apply.op, kind.load(pointer), apply.value, cells))
    else:
        old = kind.load_part(pointer, count)
        text = kind.store_part(pointer, updated(apply.op, old, apply.value, cells), count)
    return f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text


def _lane_by_lane(apply: Apply, cells: Cells) -> str:
    """A vector stored down a column: each lane where it belongs."""
    kind = cells.context.place(apply.destination.buffer).kind
    lines = [f"const fw_vec lanes = {value_text(apply.value, cells)};"]
    for lane in range(cells.context.output.target.lanes):
        placed = cells.placed(apply.destination, lane)
        tests = cells.tests(cells.found(placed))
        tests += [f"{lane} < {cells.count}"] if cells.count is not None else []
        text = kind.put(cells.pointer(placed), f"lanes[{lane}]")
        lines.append(f"if ({' && '.join(tests)}) {{ {text} }}" if tests else text)
    return f"{{ {' '.join(lines)} }}"


# Sums and maxima over lanes.


def _sums(apply: Apply, way: Way, positions: Sequence[Position], context: Context) -> None:
    """Vectors added up as a tree, then the lanes, of several rows at once where all are there."""
    body, rows = list[str](), list(_rows(way, context))
    while rows:
        count = at_once(apply, [test for _, test in rows], context)
        some, rows = rows[:count], rows[count:]
        named, found = Named(), list[Summed]()
        for values, _ in some:
            cells = [_cells(way, p, values, named, False, context) for p in positions]
            vectors = [_masked(apply, c) for c in cells]
            found.append(Summed(values, tree(apply.op, vectors, context)))
        text = " ".join([*named.take(), *finish(apply, found, context)])
        test = some[0][1]
        body.append(f"if ({test}) {{ {text} }}" if test else f"{{ {text} }}")
    with context.writer.block(""):
        for line in body:
            context.writer.line(line)


def _masked(apply: Apply, cells: Cells) -> str:
    """The value in a vector; lanes that are not wanted have what changes nothing."""
    text = value_text(apply.value, cells)
    if cells.count is None:
        return text
    return f"fw_choose(fw_first({cells.count}), {text}, {neutral(apply)})"


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
        _group([apply], way, [position], inside)

    with context.writer.block(""):
        _steps(way, extent, 1, context, body)


def _long_sum(apply: Apply, way: Way, extent: Expr, context: Context) -> None:
    """Several vectors of partial sums for each row that is written out."""
    rows, out = list(_rows(way, context)), context.writer
    each = max(1, min(4, 8 // max(1, len(rows))))
    with out.block(""):
        for at in range(len(rows)):
            names = ", ".join(f"sum_{at}_{k} = {neutral(apply)}" for k in range(each))
            out.line(f"fw_vec {names};")

        def body(k: int, position: Position, inside: Context) -> None:
            named, lines = Named(), list[str]()
            for at, (values, test) in enumerate(rows):
                loads = Named() if test else named
                cells = _cells(way, position, values, loads, True, inside)
                cell = f"sum_{at}_{k}"
                text = updated(apply.op, cell, apply.value, cells)
                if cells.count is not None:
                    text = f"fw_choose(fw_first({cells.count}), {text}, {cell})"
                line = [*loads.take(), f"{cell} = {text};"]
                lines += [f"if ({test}) {{ {' '.join(line)} }}"] if test else line
            with out.block(""):
                for text in lines:
                    out.line(text)

        _steps(way, extent, each, context, body)
        left = [
            (test, Summed(values, tree(apply.op, [f"sum_{at}_{k}" for k in range(each)], context)))
            for at, (values, test) in enumerate(rows)
        ]
        while left:
            count = at_once(apply, [test for test, _ in left], context)
            some, left = left[:count], left[count:]
            text, test = " ".join(finish(apply, [row for _, row in some], context)), some[0][0]
            out.line(f"if ({test}) {{ {text} }}" if test else f"{{ {text} }}")
