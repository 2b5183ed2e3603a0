"""Statements to C: driver, phases and register-tile functions, by rules P1 to P11.

A ``par grid`` of the driver becomes a phase that the runtime spreads over threads; one below
another agent is a loop, and a ``par team`` is its body run once by one agent (``W = 1``),
its barriers nothing: schedules that the rules allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from formwright.base.diagnostics import fail
from formwright.codegen.applies import emit_applies
from formwright.codegen.cexpr import c_integer, c_truth
from formwright.codegen.coded import emit_row_product, row_product_of
from formwright.codegen.context import INDENT, Context, Tile, Writer, bind, place_buffers
from formwright.codegen.elements import F32
from formwright.codegen.facts import MOST_SPLITS, fact_text, turning, wanted
from formwright.codegen.linear import Linear, without
from formwright.codegen.matrix import Product, cleared, emit_product, product_of
from formwright.codegen.packing import emit_packing, packing_of
from formwright.codegen.places import address, form_text
from formwright.codegen.points import emit_rows
from formwright.codegen.tile_functions import emit_tile_function, unpack
from formwright.codegen.tiles import declare, emit_tile_apply, specialised, tile_of
from formwright.codegen.ways import together
from formwright.ir.expr import ONE, ZERO, Expr, Num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.ir.rewrite import accesses
from formwright.ir.walk import statements

MOST_UNROLL = 16


def emit_block(block: Sequence[Stmt], context: Context) -> Context:
    """The statements of a block in order; the result sees what its allocs placed."""
    unroll, done = 1, 0
    for at, stmt in enumerate(block):
        if at < done:
            continue
        if isinstance(stmt, Alloc):
            registers = [b for b in stmt.buffers if _in_registers(b, block[at + 1 :], context)]
            memory = tuple(b for b in stmt.buffers if b not in registers)
            context = place_buffers(context, replace(stmt, buffers=memory))
            if registers:
                emit_tile(replace(stmt, buffers=tuple(registers)), block[at + 1 :], context)
                return context
            continue
        stored = _stored_product(block[at : at + 2], context)
        if stored is not None:
            emit_product(*stored, context)
            done = at + 2
            continue
        run = _run(block[at:], context) if isinstance(stmt, Apply) else []
        if len(run) > 1:
            emit_applies(run, context)
            done = at + len(run)
            continue
        _emit(stmt, _streaming(block[at - 1 : at], stmt, context), unroll)
        unroll = _factor(stmt) if isinstance(stmt, Hint) and stmt.kind == "unroll" else 1
    return context


def _stored_product(pair: Sequence[Stmt], context: Context) -> tuple[Product, str] | None:
    """The product of the second statement, when the first sets to zero what it adds to, perhaps
    on a condition; and when it is added, as C."""
    match pair:
        case [Apply(op="=") as first, Apply() as second]:
            add = "0"
        case [If(cond, (Apply(op="=") as first,)), Apply() as second]:
            add = f"!({c_truth(cond, context.names)})"
        case _:
            return None
    product = product_of(second, context)
    return (product, add) if product is not None and cleared(first, product) else None


def _run(block: Sequence[Stmt], context: Context) -> list[Apply]:
    """The applies at the start of a block that are written together; empty when it is just one."""
    run: list[Apply] = []
    for stmt in block:
        if not isinstance(stmt, Apply) or stmt.destination.buffer not in context.tiles:
            break
        if context.tiles[stmt.destination.buffer].special:
            break
        if run and not together(run, stmt, context):
            break
        run.append(stmt)
    return run


def _streaming(before: Sequence[Stmt], stmt: Stmt, context: Context) -> Context:
    """``context`` for an apply behind ``hint stream``; the driver's own stores are as any."""
    match before:
        case [Hint("stream", _, access)] if access is not None and isinstance(stmt, Apply):
            return replace(context, streamed=access.buffer if context.level == "agent" else None)
        case _:
            return context


def streams(block: Sequence[Stmt]) -> bool:
    """Whether some apply of the block may store past the caches."""
    return any(isinstance(s, Hint) and s.kind == "stream" for s in statements(block))


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
            _emit_apply(stmt, context)
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


def _emit_apply(apply: Apply, context: Context) -> None:
    product = product_of(apply, context)
    if product is not None:
        emit_product(product, "1", context)
        return
    rows = row_product_of(apply, context)
    if rows is not None:
        emit_row_product(rows, context)
        return
    packing = packing_of(apply, context)
    if packing is not None:
        emit_packing(packing, context)
        return
    touched = [context.tiles[a.buffer] for a in _accesses(apply) if a.buffer in context.tiles]
    if any(tile.special for tile in touched):
        emit_tile_apply(apply, context)
    elif touched or _only_in_vectors(apply, context) or not emit_rows(apply, context):
        emit_applies([apply], context)


def _accesses(apply: Apply) -> tuple[Access, ...]:
    return (apply.destination, *accesses(apply.value))


def _only_in_vectors(apply: Apply, context: Context) -> bool:
    """What :func:`emit_rows` does not write: other types than f32, stores past the caches."""
    return _narrow(apply, context) or context.streamed == apply.destination.buffer


def _narrow(apply: Apply, context: Context) -> bool:
    """Some tensor or buffer has another element type than f32."""
    places = [context.places.get(a.buffer) for a in _accesses(apply)]
    return any(place is not None and place.kind != F32 for place in places)


def _in_registers(buffer: Buffer, rest: Sequence[Stmt], context: Context) -> bool:
    """Agents forked below the driver are C functions of their own: they share memory only."""
    shared = context.level == "driver" and any(isinstance(s, Par) for s in statements(rest))
    return id(buffer) in context.output.lanes and not shared


def _cell(access: Access, context: Context) -> str:
    place = context.place(access.buffer)
    return f"{place.name} + {address(place, access, {}, context.names)}"


def _emit_for(stmt: For, context: Context, unroll: int) -> None:
    """A loop; unrolled, the iterations that do not fill a round follow it.

    Iterations up to ``main_v`` are known to be inside all bounds; those after it test them.
    """
    inside, out, name = bind(context, stmt.var, stmt.lo, stmt.hi), context.writer, f"i_{stmt.var}"
    lo, hi = c_integer(stmt.lo, context.names), c_integer(stmt.hi, context.names)
    split = _splits(stmt, inside) if context.level == "agent" else ()
    if unroll == 1 and not split:
        with out.block(
            f"for (int64_t {name} = {lo}, end_{name} = {hi}; {name} < end_{name}; {name}++)"
        ):
            _tell(context, name)
            emit_block(stmt.body, inside)
        return
    with out.block(""):
        out.line(f"int64_t {name} = {lo};")
        out.line(f"const int64_t end_{name} = {hi};")
        if not split:
            _rounds(stmt, inside, unroll, f"end_{name}")
            return
        ends = [_last(form, stmt.var, inside) for form in split]
        end = f"end_{name}"
        for text in ends:
            end = f"fw_min({end}, {text})"
        out.line(f"const int64_t main_{name} = {end};")
        deeper = replace(inside, splits=inside.splits + 1)
        known = replace(deeper, facts=(*inside.facts, *split))
        _rounds(stmt, known, unroll, f"main_{name}")
        _rounds(stmt, deeper, 1, f"end_{name}")


def _rounds(stmt: For, inside: Context, unroll: int, end: str) -> None:
    out, name = inside.writer, f"i_{stmt.var}"
    if unroll > 1:
        with out.block(f"for (; {name} + {unroll} <= {end}; {name} += {unroll})"):
            for step in range(unroll):
                shifted = {**inside.names, stmt.var: f"({name} + {step})" if step else name}
                with out.block(""):
                    emit_block(stmt.body, replace(inside, names=shifted))
    with out.block(f"for (; {name} < {end}; {name}++)"):
        emit_block(stmt.body, inside)


def _splits(stmt: For, inside: Context) -> tuple[Linear, ...]:
    """Facts that hold up to some iteration and would spare the body its tests."""
    if inside.splits >= MOST_SPLITS or any(t.special for t in inside.tiles.values()):
        return ()
    forms = wanted(stmt.body, inside, _uses_facts, _declared)
    return tuple(f for f in forms if turning(f, stmt.var) is not None)


def _last(form: Linear, var: str, context: Context) -> str:
    """The first iteration where ``rest - k * var >= 0`` no longer holds."""
    step, rest = turning(form, var), form_text(without(form, var), {}, context.names)
    return f"{rest} + 1" if step == 1 else f"fw_floor_div({rest}, {step}) + 1"


def _emit_versions(block: Sequence[Stmt], context: Context) -> None:
    """The block, twice where facts about this agent would spare its loops their tests."""
    forms = wanted(block, context, _uses_facts, _declared) if context.splits < MOST_SPLITS else ()
    if not forms:
        emit_block(block, context)
        return
    deeper, out = replace(context, splits=context.splits + 1), context.writer
    with out.block(f"if ({' && '.join(fact_text(f, context) for f in forms)})"):
        emit_block(block, replace(deeper, facts=(*context.facts, *forms)))
    with out.block("else"):
        emit_block(block, deeper)


def _uses_facts(apply: Apply, context: Context) -> bool:
    if any(of(apply, context) is not None for of in (product_of, row_product_of, packing_of)):
        return False
    return any(a.buffer in context.tiles for a in _accesses(apply)) or _narrow(apply, context)


def _declared(alloc: Alloc, rest: Sequence[Stmt], context: Context) -> Context | None:
    """``context`` with the register tiles of ``alloc``; None for one that sees to its bounds."""
    tiles = {b.name: tile_of(b, context) for b in alloc.buffers if _in_registers(b, rest, context)}
    if _special(tiles, alloc, rest, context) is not None:
        return None
    return replace(context, tiles={**context.tiles, **tiles})


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
        begin, output.multiplies = len(phase.lines), False
        with phase.block("for (int64_t at = lo; at < hi; at++)"):
            _coordinates(par, context, phase)
            _emit_versions(par.body, agent)
        if output.multiplies:
            phase.lines.insert(begin, INDENT + "fw_units_begin();")
            phase.line("fw_units_end();")
        if streams(par.body):
            phase.line("fw_stream_end();")
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


def emit_tile(alloc: Alloc, rest: Sequence[Stmt], context: Context) -> None:
    """The rest of a block that has tiles: in a function of its own where that spares bounds."""
    tiles = {b.name: tile_of(b, context) for b in alloc.buffers}
    special = _special(tiles, alloc, rest, context)
    if special is not None:
        emit_tile_function(alloc.buffers[0].name, special, rest, context, emit_block)
        return
    for tile in tiles.values():
        declare(tile, context.writer)
    emit_block(rest, replace(context, tiles={**context.tiles, **tiles}))


def _special(
    tiles: Mapping[str, Tile], alloc: Alloc, rest: Sequence[Stmt], context: Context
) -> Tile | None:
    if context.tiles or len(tiles) != 1:
        return None
    return specialised(next(iter(tiles.values())), alloc, rest, context)
