"""Buffers in vector registers: when one fits there, and its applies written out.

A block that allocates a register buffer becomes a C function of its own with the constants
``rows``, ``vectors`` and ``partial``: the whole tile in the interior, smaller ones at ragged ends.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from formwright.base.diagnostics import fail
from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.context import Context, Tile, Writer
from formwright.codegen.elements import F32
from formwright.codegen.fold import fold
from formwright.codegen.linear import linear, range_of, surely_nonnegative, without
from formwright.codegen.places import Bound, Place, address, bound_text, bounds
from formwright.codegen.points import bind_box, lanes_inside
from formwright.codegen.values import updated, value_text
from formwright.ir.expr import ZERO, Expr, Num, Var, num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    BoxVar,
    Buffer,
    Stmt,
    Value,
)
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.walk import statements


def applies(block: Sequence[Stmt]) -> Iterator[Apply]:
    return (stmt for stmt in statements(block) if isinstance(stmt, Apply))


def _of(apply: Apply, buffer: str) -> list[Access]:
    return [a for a in (apply.destination, *accesses(apply.value)) if a.buffer == buffer]


def tile_of(buffer: Buffer, context: Context) -> Tile:
    """The tile of a register buffer: vectors where its last dimension is lanes, else scalars."""
    sizes = tuple(int(s.value) for s in buffer.shape if isinstance(s, Num))
    if not context.output.lanes[id(buffer)]:
        return Tile(f"r_{buffer.name}", sizes, 0)
    return Tile(f"r_{buffer.name}", sizes[:-1], sizes[-1] // context.output.target.lanes)


def specialised(tile: Tile, alloc: Alloc, block: Sequence[Stmt], context: Context) -> Tile | None:
    """The tile with the bounds of its stores, where cells outside them are never read.

    That holds when the block does nothing but compute the tile and store it, clipped, at
    ``base + row, base + column``, every time at the same place.
    """
    buffer = alloc.buffers[0]
    if len(alloc.buffers) != 1 or len(buffer.shape) != 2 or tile.vectors == 0:
        return None
    if any(_other_type(a, context) for apply in applies(block) for a in _every(apply)):
        return None
    if not all(_whole_rows(apply, buffer) for apply in applies(block)):
        return None
    found: set[tuple[Bound, ...]] = set()
    for apply in applies(block):
        if apply.destination.buffer == buffer.name:
            if any(a.index != apply.destination.index for a in _of(apply, buffer.name)):
                return None
            continue
        reads = _of(apply, buffer.name)
        limits = _store_limits(apply, reads, context) if len(reads) == 1 else None
        if limits is None:
            return None
        found.add(limits)
    if len(found) != 1:
        return None
    row, column = found.pop()
    return replace(tile, row_bound=row, column_bound=column, special=True)


def _whole_rows(apply: Apply, buffer: Buffer) -> bool:
    """Not where a box has ends of its own (``l < min(L, N - p*L)``): only clips end a tile."""
    extents = {v.name: v.extent for v in apply.box}
    return all(
        isinstance(last := access.index[-1], Var) and extents.get(last.name) == buffer.shape[-1]
        for access in _of(apply, buffer.name)
    )


def _every(apply: Apply) -> tuple[Access, ...]:
    return (apply.destination, *accesses(apply.value))


def _other_type(access: Access, context: Context) -> bool:
    place = context.places.get(access.buffer)
    return place is not None and place.kind != F32


def _store_limits(
    apply: Apply, reads: Sequence[Access], context: Context
) -> tuple[Bound, Bound] | None:
    destination, index = apply.destination, reads[0].index
    place = context.places.get(destination.buffer)
    if place is None or place.home != "tensor" or not destination.clip or len(place.shape) != 2:
        return None
    limits: list[Bound] = []
    for at, (cell, own) in enumerate(zip(destination.index, index, strict=True)):
        if not isinstance(own, Var):
            return None
        form = linear(fold(cell))
        if form.coefficient(own.name) != 1 or form.hides(own.name):
            return None
        base = Bound(at, without(form, own.name), place.shape[at], False, True)
        if not surely_nonnegative(base.form, context.ranges):
            return None
        if any(base.form.mentions(v.name) for v in apply.box):
            return None
        limits.append(base)
    return limits[0], limits[1]


# Applies on tiles.


@dataclass(slots=True)
class TileLeaves:
    """Leaves at one row and one vector of a tile; each load is named once, before its first use."""

    context: Context
    row: str | None
    column: str
    tile: Tile
    shared: Writer
    known: dict[str, str]
    at_row: int = 0
    at_vector: int = 0
    own: Writer = field(default_factory=Writer)
    vector: bool = True
    multiply_add: str = "fw_fma"

    @property
    def calls(self) -> bool:
        return self.context.output.calls

    def constant(self, _value: Value) -> str | None:
        return None

    def read(self, access: Access) -> str:
        if access.buffer in self.context.tiles:
            return self.cell(access)
        place, names = self.context.place(access.buffer), self.context.names
        cell = f"{place.name} + {address(place, access, self._values(), names)}"
        found = [b for b in bounds(place, access, self.context.ranges) if not self._cut_rows(b)]
        if not _mentions(access, self.column):
            tests = [bound_text(b, self._values(), names) for b in found]
            load = f"*({cell})"
            text = (
                f"fw_splat({' && '.join(tests)} ? {load} : 0.0f)" if tests else f"fw_splat({load})"
            )
            return self._named(text, access)
        form = linear(fold(access.index[-1]))
        if form.coefficient(self.column) != 1 or form.hides(self.column):
            raise fail(f"{access.buffer} is not read in rows along the register tile", access.span)
        return self._named(self._load(cell, found), access)

    def cell(self, access: Access) -> str:
        """The C variable of this vector of a tile."""
        tile = self.context.tiles[access.buffer]
        row = access.index[0] if len(access.index) == 2 else ZERO
        at = int(row.value) if isinstance(row, Num) else self.at_row
        return f"{tile.name}_{at}_{self.at_vector}"

    def store(self, access: Access, op: str, apply: Apply) -> str:
        """One vector of the destination of ``apply``."""
        if access.buffer in self.context.tiles:
            cell = self.cell(access)
            return f"{cell} = {updated(op, cell, apply.value, self)};"
        place, names, lanes = self._place(access), self.context.names, self._lanes()
        cell = f"{place.name} + {address(place, access, self._values(), names)}"
        found = [b for b in bounds(place, access, self.context.ranges) if not self._cut_rows(b)]
        rest = [b for b in found if not self._cut_columns(b)]
        whole = f"fw_store({cell}, {updated(op, f'fw_load({cell})', apply.value, self)});"
        if not found:
            return whole
        count = lanes_inside(str(lanes), rest, self.column, self._values(), names)
        if len(rest) < len(found):
            left = f"columns - {self.at_vector * lanes}"
            count = left if not rest else f"fw_min({left}, {count})"
        text = updated(op, f"fw_load_part({cell}, {count})", apply.value, self)
        part = f"fw_store_part({cell}, {text}, {count});"
        return part if rest else f"if (partial) {part} else {whole}"

    def _place(self, access: Access) -> Place:
        return self.context.place(access.buffer)

    def _lanes(self) -> int:
        return self.context.output.target.lanes

    def _load(self, cell: str, found: Sequence[Bound]) -> str:
        lanes, names = self.context.output.target.lanes, self.context.names
        plain = f"fw_load({cell})"
        rest = [b for b in found if not self._cut_columns(b)]
        if self.tile.special:
            used = f"{self.at_vector} < vectors"
            if len(rest) < len(found):
                left = f"columns - {self.at_vector * lanes}"
                plain = f"(partial ? fw_load_part({cell}, {left}) : {plain})"
            plain = f"({used} ? {plain} : (fw_vec){{0}})"
        if not rest:
            return plain
        count = lanes_inside(str(lanes), rest, self.column, self._values(), names)
        return f"fw_load_part({cell}, {count})"

    def index(self, expr: Expr) -> str:
        if self.column in free_names(expr):
            raise fail("an index along the vector is no value of a register tile", expr.span)
        return f"fw_splat((float)({c_integer(expr, self._row_names())}))"

    def choice(self, cond: Expr, then: Value, other: Value) -> str:
        if self.column in free_names(cond):
            raise fail("a condition along the vector is not emitted on these tiles", cond.span)
        test = c_truth(cond, self._row_names())
        return f"({test} ? {value_text(then, self)} : {value_text(other, self)})"

    def _values(self) -> dict[str, Expr]:
        lanes = self.context.output.target.lanes
        values: dict[str, Expr] = {self.column: num(self.at_vector * lanes)}
        if self.row is not None:
            values[self.row] = num(self.at_row)
        return values

    def _row_names(self) -> Mapping[str, str]:
        extra = {} if self.row is None else {self.row: str(self.at_row)}
        return {**self.context.names, **extra}

    def _cut_rows(self, bound: Bound) -> bool:
        """Rows beyond the store's bound are not computed."""
        row = self.tile.row_bound
        if row is None or self.row is None:
            return False
        form = bound.form
        return (
            form.coefficient(self.row) == 1
            and without(form, self.row) == row.form
            and (bound.limit, bound.below) == (row.limit, False)
        )

    def _cut_columns(self, bound: Bound) -> bool:
        column = self.tile.column_bound
        return (
            column is not None
            and without(bound.form, self.column) == column.form
            and bound.form.coefficient(self.column) == 1
            and (bound.limit, bound.below) == (column.limit, False)
        )

    def _named(self, text: str, access: Access) -> str:
        if text not in self.known:
            self.known[text] = f"x{len(self.known)}"
            own_row = self.row is not None and _mentions(access, self.row)
            writer = self.own if own_row else self.shared
            writer.line(f"const fw_vec {self.known[text]} = {text};")
        return self.known[text]


def _mentions(access: Access, name: str) -> bool:
    inside = list(access.index) + ([] if access.generation is None else [access.generation])
    return any(name in free_names(index) for index in inside)


def declare(tile: Tile, writer: Writer) -> None:
    """The variables of a tile. Only those of a special one are surely written before a read."""
    start = "" if tile.special else " = {0}"
    for index in product(*(range(size) for size in tile.leading)):
        name = "_".join([tile.name, *map(str, index)])
        if tile.vectors == 0:
            writer.line(f"float {name} = 0.0f;")
            continue
        names = ", ".join(f"{name}_{v}{start}" for v in range(tile.vectors))
        writer.line(f"fw_vec {names};")


def emit_tile_apply(apply: Apply, context: Context) -> None:
    """One apply that touches tiles: rows and vectors written out, other box variables looped."""
    row, column = _roles(apply, context)
    rest = [v for v in apply.box if v.name not in (row, column)]
    _loops(rest, context, lambda inside: _emit_unrolled(apply, row, column, inside))


def _loops(box: Sequence[BoxVar], context: Context, body: Callable[[Context], None]) -> None:
    if not box:
        body(context)
        return
    var, extent = box[0].name, box[0].extent
    end = c_integer(extent, context.names)
    with context.writer.block(f"for (int64_t i_{var} = 0; i_{var} < {end}; i_{var}++)"):
        _loops(box[1:], bind_box(context, var, extent), body)


def _roles(apply: Apply, context: Context) -> tuple[str | None, str]:
    """The box variables that are the row and the column of the tiles of ``apply``."""
    rows, columns = set[str](), set[str]()
    extents = {v.name: v.extent for v in apply.box}
    for access in (apply.destination, *accesses(apply.value)):
        if access.buffer not in context.tiles:
            continue
        tile = context.tiles[access.buffer]
        *first, last = [i.name if isinstance(i, Var) else None for i in access.index]
        if last is None or extents[last] != num(tile.vectors * context.output.target.lanes):
            raise fail("a register tile is used in whole rows only", access.span)
        columns.add(last)
        rows.update(name for name in first if name is not None)
    if len(rows) > 1 or len(columns) > 1:
        raise fail("register tiles of one apply are indexed by the same names", apply.span)
    row = next(iter(rows), None)
    if row is not None and not isinstance(extents[row], Num):
        raise fail("the rows of a register tile are a constant number", apply.span)
    return row, next(iter(columns))


def _emit_unrolled(apply: Apply, row: str | None, column: str, context: Context) -> None:
    tile = next(context.tiles[a.buffer] for a in _tile_accesses(apply, context))
    count = 1 if row is None else _extent(apply, row)
    ranges = context
    for var in apply.box:
        if var.name in (row, column):
            ranges = replace(ranges, ranges={**ranges.ranges, var.name: range_of(ZERO, var.extent)})
    shared, known = Writer(), dict[str, str]()
    leaves = TileLeaves(ranges, row, column, tile, shared, known)
    bodies: list[tuple[list[str], list[str]]] = []
    for leaves.at_row in range(count):
        leaves.own = Writer()
        stores: list[str] = []
        for leaves.at_vector in range(tile.vectors):
            text = leaves.store(apply.destination, apply.op, apply)
            guard = f"if ({leaves.at_vector} < vectors) " if tile.special else ""
            stores.append(f"{guard}{{ {text} }}" if guard else text)
        bodies.append((leaves.own.lines, stores))
    out = context.writer
    with out.block(""):
        for line in shared.lines:
            out.line(line)
        for at, (own, stores) in enumerate(bodies):
            head = f"if ({at} < rows)" if tile.special and row is not None else ""
            with out.block(head):
                for line in (*own, *stores):
                    out.line(line)


def _tile_accesses(apply: Apply, context: Context) -> list[Access]:
    every = (apply.destination, *accesses(apply.value))
    return [a for a in every if a.buffer in context.tiles]


def _extent(apply: Apply, name: str) -> int:
    extent = next(v.extent for v in apply.box if v.name == name)
    return int(extent.value) if isinstance(extent, Num) else 0
