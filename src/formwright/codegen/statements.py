"""Statements to C: driver, phases and register-tile functions, by rules P1 to P11.

A ``par grid`` of the driver becomes a phase that the runtime spreads over threads; one below
another agent is a loop, and a ``par team`` is its body run once by one agent (``W = 1``),
its barriers nothing: schedules that the rules allow.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from formwright.base.diagnostics import fail
from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.context import Context, Tile, Writer, bind, place_buffers
from formwright.codegen.places import address, form_text
from formwright.codegen.points import emit_points
from formwright.codegen.tiles import (
    applies,
    declare,
    emit_tile_apply,
    fits_registers,
    specialised,
    tile_of,
    touches_tile,
)
from formwright.ir.expr import ONE, ZERO, Expr, Num, num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.ir.rewrite import accesses

MOST_UNROLL = 16


def emit_block(block: Sequence[Stmt], context: Context) -> Context:
    """The statements of a block in order; the result sees what its allocs placed."""
    unroll = 1
    for at, stmt in enumerate(block):
        if isinstance(stmt, Alloc):
            registers = [
                b
                for b in stmt.buffers
                if b.home == "register" and fits_registers(b, block[at + 1 :], context)
            ]
            memory = tuple(b for b in stmt.buffers if b not in registers)
            context = place_buffers(context, replace(stmt, buffers=memory))
            if registers:
                emit_tile(replace(stmt, buffers=tuple(registers)), block[at + 1 :], context)
                return context
            continue
        _emit(stmt, context, unroll)
        unroll = _factor(stmt) if isinstance(stmt, Hint) and stmt.kind == "unroll" else 1
    return context


def _factor(hint: Hint) -> int:
    if not isinstance(hint.factor, Num) or not 1 <= hint.factor.value <= MOST_UNROLL:
        raise fail(f"unroll takes a number from 1 to {MOST_UNROLL}", hint.span)
    return int(hint.factor.value)


def _emit(stmt: Stmt, context: Context, unroll: int) -> None:
    out = context.writer
    match stmt:
        case For():
            _emit_for(stmt, context, unroll)
        case Par("grid") if context.level == "driver":
            _emit_phase(stmt, context)
        case Par("grid", variables, extents, body):
            _emit_nest(list(zip(variables, extents, strict=True)), body, context)
        case Par(_, variables, extents, body):
            _emit_nest([(v, ONE) for v in variables], body, context)
        case If(cond, body):
            with out.block(f"if ({c_truth(cond, context.names)})"):
                emit_block(body, context)
        case Apply():
            if touches_tile(stmt, context):
                emit_tile_apply(stmt, context)
            else:
                emit_points(stmt, context)
        case Hint("prefetch", _, access) if access is not None:
            out.line(f"__builtin_prefetch({_cell(access, context)});")
        case Hint() | Barrier() | Commit() | Wait():
            return
        case Arrive() | Await():
            raise fail("C is not emitted for counters: one agent cannot wait for itself", stmt.span)
        case Alloc():
            raise AssertionError("allocs are placed by the block")
        case _:
            assert_never(stmt)


def _cell(access: Access, context: Context) -> str:
    place = context.place(access.buffer)
    return f"{place.name} + {address(place, access, {}, context.names)}"


def _emit_for(stmt: For, context: Context, unroll: int) -> None:
    """A loop; unrolled, the iterations that do not fill a round follow it."""
    inside, out, name = bind(context, stmt.var, stmt.lo, stmt.hi), context.writer, f"i_{stmt.var}"
    lo, hi = c_integer(stmt.lo, context.names), c_integer(stmt.hi, context.names)
    if unroll == 1:
        with out.block(
            f"for (int64_t {name} = {lo}, end_{name} = {hi}; {name} < end_{name}; {name}++)"
        ):
            _tell(context, name)
            emit_block(stmt.body, inside)
        return
    with out.block(""):
        out.line(f"int64_t {name} = {lo};")
        out.line(f"const int64_t end_{name} = {hi};")
        with out.block(f"for (; {name} + {unroll} <= end_{name}; {name} += {unroll})"):
            for step in range(unroll):
                shifted = {**inside.names, stmt.var: f"({name} + {step})" if step else name}
                with out.block(""):
                    emit_block(stmt.body, replace(inside, names=shifted))
        with out.block(f"for (; {name} < end_{name}; {name}++)"):
            emit_block(stmt.body, inside)


def _tell(context: Context, name: str) -> None:
    if context.level == "driver":
        context.writer.line(f"e->{name} = {name};")


def _emit_nest(nest: Sequence[tuple[str, Expr]], body: Sequence[Stmt], context: Context) -> None:
    if not nest:
        emit_block(body, context)
        return
    (var, extent), rest = nest[0], nest[1:]
    inside, end = bind(context, var, ZERO, extent), c_integer(extent, context.names)
    with context.writer.block(f"for (int64_t i_{var} = 0; i_{var} < {end}; i_{var}++)"):
        _tell(context, f"i_{var}")
        _emit_nest(rest, body, inside)


def _emit_phase(par: Par, context: Context) -> None:
    """``static void phase_n(lo, hi, agent, env)``: agents in the order of their index."""
    output, phase = context.output, Writer()
    name = output.fresh("phase")
    agent = replace(context, writer=phase, level="agent", locals=())
    for var, extent in zip(par.vars, par.extents, strict=True):
        agent = bind(agent, var, ZERO, extent)
    head = f"static void {name}(int64_t lo, int64_t hi, int32_t agent, const void *env)"
    with phase.block(head):
        phase.line("const fw_env *const e = env;")
        phase.line("char *const slice = e->slices + agent * e->slice_bytes;")
        phase.line("(void)slice;")
        unpack(context, phase)
        with phase.block("for (int64_t at = lo; at < hi; at++)"):
            _coordinates(par, context, phase)
            emit_block(par.body, agent)
    output.functions.append(phase.text())
    count = " * ".join(c_integer(extent, context.names) for extent in par.extents)
    context.writer.line(f"fw_parallel({name}, e, {count}, e->threads);")


def _coordinates(par: Par, context: Context, phase: Writer) -> None:
    """The last variable runs fastest."""
    rest = "at"
    for var, extent in reversed(list(zip(par.vars, par.extents, strict=True))[1:]):
        size = c_integer(extent, context.names)
        phase.line(f"const int64_t i_{var} = {rest} % ({size});")
        rest = f"{rest} / ({size})"
    phase.line(f"const int64_t i_{par.vars[0]} = {rest};")


def unpack(context: Context, writer: Writer) -> None:
    """What the driver has in sight, as constants of the function."""
    for kind, name in context.environment:
        space = "" if kind.endswith("*") else " "
        writer.line(f"{kind}{space}const {name} FW_MAYBE = e->{name};")


def emit_tile(alloc: Alloc, rest: Sequence[Stmt], context: Context) -> None:
    """The rest of a block that has tiles: in a function of its own, unless it is in one already."""
    tiles = {b.name: replace(tile_of(b, context)) for b in alloc.buffers}
    special = None
    if not context.tiles and len(tiles) == 1:
        special = specialised(next(iter(tiles.values())), alloc, rest, context)
    if special is None:
        inside = replace(context, tiles={**context.tiles, **tiles})
        for tile in tiles.values():
            declare(tile, context.writer)
        emit_block(rest, inside)
        return
    _emit_tile_function(alloc.buffers[0].name, special, rest, context)


def _emit_tile_function(buffer: str, tile: Tile, rest: Sequence[Stmt], context: Context) -> None:
    output, body = context.output, Writer()
    name = output.fresh("tile")
    inside = replace(context, writer=body, level="agent", tiles={buffer: tile})
    given = ["const fw_env *const e", *(_declared(k, n) for k, n in context.locals)]
    constants = [
        "const int64_t columns",
        "const int rows",
        "const int vectors",
        "const int partial",
    ]
    with body.block(f"FW_INLINE void {name}({', '.join([*given, *constants])})"):
        unpack(context, body)
        body.line("(void)columns, (void)partial;")
        _prefetch_stores(buffer, rest, inside)
        declare(tile, body)
        emit_block(rest, inside)
    output.functions.append(body.text())
    output.functions.append(_ragged_function(name, tile, context).text())
    _call_tile(name, tile, context)


def _declared(kind: str, name: str) -> str:
    return f"{kind}const {name}" if kind.endswith("*") else f"const {kind} {name}"


def _prefetch_stores(buffer: str, rest: Sequence[Stmt], context: Context) -> None:
    """The rows that the tile is stored to, asked for before it is computed."""
    stores = [a for a in applies(rest) if a.destination.buffer != buffer]
    if not stores:
        return
    first, tile = stores[0], context.tiles[buffer]
    place = context.place(first.destination.buffer)
    read = next(a for a in accesses(first.value) if a.buffer == buffer)
    row, column = [getattr(i, "name", "") for i in read.index]
    width = tile.vectors * context.output.target.lanes
    for at in range(tile.rows):
        cells = []
        for last in (0, width - 1):
            values: dict[str, Expr] = {row: num(at), column: num(last)}
            offset = address(place, first.destination, values, context.names)
            cells.append(f"__builtin_prefetch({place.name} + {offset}, 1);")
        context.writer.line(f"if ({at} < rows) {{ {' '.join(cells)} }}")


def _ragged_function(name: str, tile: Tile, context: Context) -> Writer:
    """Smaller tiles: fewer vectors with all rows, fewer rows with all vectors."""
    out = Writer()
    given = [_declared(k, n) for k, n in context.locals]
    arguments = ", ".join(["e", *(n for _, n in context.locals)])
    parameters = ["const fw_env *const e", *given, "const int64_t height", "const int64_t columns"]
    head = f"static __attribute__((noinline)) void {name}_ragged({', '.join(parameters)})"
    lanes = context.output.target.lanes
    with out.block(head):
        full = f"switch (height >= {tile.rows} ? fw_ceil_div(columns, {lanes}) : 0)"
        with out.block(full):
            out.line("case 0: break;")
            for vectors in range(1, tile.vectors + 1):
                label = "default" if vectors == tile.vectors else f"case {vectors}"
                call = f"{name}({arguments}, columns, {tile.rows}, {vectors}, 1)"
                out.line(f"{label}: {call}; return;")
        with out.block("switch (height)"):
            for rows in range(1, tile.rows):
                call = f"{name}({arguments}, columns, {rows}, {tile.vectors}, 1)"
                out.line(f"case {rows}: {call}; return;")
    return out


def _call_tile(name: str, tile: Tile, context: Context) -> None:
    if tile.row_bound is None or tile.column_bound is None:
        raise AssertionError("a special tile has bounds")
    out, names = context.writer, context.names
    left = [
        f"{c_integer(b.limit, names)} - ({form_text(b.form, {}, names)})"
        for b in (tile.row_bound, tile.column_bound)
    ]
    width = tile.vectors * context.output.target.lanes
    arguments = ", ".join(["e", *(n for _, n in context.locals)])
    with out.block(""):
        out.line(f"const int64_t height = {left[0]}, columns = {left[1]};")
        out.line(f"if (height >= {tile.rows} && columns >= {width})")
        out.line(f"    {name}({arguments}, columns, {tile.rows}, {tile.vectors}, 0);")
        out.line("else if (height > 0 && columns > 0)")
        out.line(f"    {name}_ragged({arguments}, height, columns);")
