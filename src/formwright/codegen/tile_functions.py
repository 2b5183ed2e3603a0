"""C functions for register tiles that are only computed and stored: whole ones and ragged ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from formwright.codegen.cexpr import c_integer
from formwright.codegen.context import Context, Tile, Writer
from formwright.codegen.places import address, form_text
from formwright.codegen.tiles import applies, declare
from formwright.ir.expr import Expr, num
from formwright.ir.program import Stmt
from formwright.ir.rewrite import accesses

EmitBlock = Callable[[Sequence[Stmt], Context], Context]


def unpack(context: Context, writer: Writer) -> None:
    """What the driver has in sight, as constants of the function."""
    for kind, name in context.environment:
        space = "" if kind.endswith("*") else " "
        writer.line(f"{kind}{space}const {name} FW_MAYBE = e->{name};")


def emit_tile_function(
    buffer: str, tile: Tile, rest: Sequence[Stmt], context: Context, emit_block: EmitBlock
) -> None:
    """The rest of a block with one special tile, as a function, and the call of it."""
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
