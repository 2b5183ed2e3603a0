"""Values that a loop computes again and again, and keeping one of them in front of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.tree import allocated, around, at, binders, block_of, buffers_at, splice
from formwright.agent.rules.values import factors, minus, plus, product
from formwright.ir.expr import ONE, ZERO, Expr, Var
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    BoxVar,
    Buffer,
    For,
    Read,
    Stmt,
    Value,
)
from formwright.ir.rewrite import accesses, free_names, map_value, substitute
from formwright.ir.template import Template
from formwright.ir.values import names_of, parts, swapped
from formwright.ir.walk import Block, Path, statements, walk


@dataclass(frozen=True, slots=True)
class Cells:
    """A name of the value that takes part in its index: ``lo <= name < hi``."""

    name: str
    lo: Expr
    hi: Expr
    boxed: bool


@dataclass(frozen=True, slots=True)
class Again:
    """A value at ``path`` that the loop at ``outer`` computes again and again."""

    path: Path
    outer: Path
    old: Value
    """The part of the apply's value that is replaced: ``old`` by ``rest`` times the kept cell."""
    value: Value
    rest: tuple[tuple[Value, bool], ...]
    cells: tuple[Cells, ...]


def found_again(
    template: Template, wanted: Callable[[Value, For], Iterator[tuple[Value, Value]]]
) -> Iterator[Again]:
    """``wanted`` yields pairs: a part of a value, and what of it is to be kept."""
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Apply):
            continue
        done = list[Value]()  # the outermost loop is the one to leave
        for depth, outer in enumerate(around(template.program, path), 1):
            if not isinstance(outer, For):
                continue
            written = written_in(outer.body)
            for old, value in wanted(stmt.value, outer):
                if outer.var in names_of(value) or reads_of(value) & written or value in done:
                    continue
                cells = _cells(template, path, path[:depth], stmt, value)
                if cells is not None:
                    done.append(value)
                    rest = _without(old, value)
                    yield Again(path, path[:depth], old, value, rest, cells)


def written_in(body: tuple[Stmt, ...]) -> frozenset[str]:
    stored = {s.destination.buffer for s in statements(body) if isinstance(s, Apply)}
    return frozenset(stored) | allocated(body).keys()


def reads_of(value: Value) -> frozenset[str]:
    return frozenset(a.buffer for a in accesses(value))


def _without(old: Value, value: Value) -> tuple[tuple[Value, bool], ...]:
    if old == value:
        return ()
    gone = list(factors(value))
    rest = list[tuple[Value, bool]]()
    for factor in factors(old):
        if factor in gone:
            gone.remove(factor)
        else:
            rest.append(factor)
    return tuple(rest)


def _cells(
    template: Template, path: Path, outer: Path, apply: Apply, value: Value
) -> tuple[Cells, ...] | None:
    """The names below ``outer`` that the value depends on; None where their extents vary there."""
    inner = {n: b for n, b in binders(template.program, path).items() if len(b.path) > len(outer)}
    used = names_of(value)
    found = list[Cells]()
    for name, binder in inner.items():
        if name in used:
            if binder.lo is None:
                return None
            found.append(Cells(name, binder.lo, binder.hi, boxed=False))
    for var in apply.box:
        if var.name in used:
            found.append(Cells(var.name, ZERO, var.extent, boxed=True))
    varying = inner.keys() | {b.name for b in apply.box}
    for cells in found:
        if (free_names(cells.lo) | free_names(cells.hi)) & varying:
            return None
    return tuple(found)


def kept(template: Template, again: Again, stem: str) -> Template:
    """``template`` with the value in a buffer called like ``stem``: in front of the outer loop, or
    where an earlier loop has it."""
    fresh = Fresh(template)
    name = fresh.name(stem, f"{stem}_kept")
    sizes = _sizes(template, again)
    shape = tuple(sizes.get(c.name, minus(c.hi, c.lo)) for c in again.cells) or (ONE,)
    index = tuple(minus(Var(c.name), c.lo) for c in again.cells) or (ZERO,)
    alloc = Alloc((Buffer(name, shape, "scratch" if again.cells else "register"),))
    read = Read(Access(name, index))
    apply = at(template.program, again.path)
    assert isinstance(apply, Apply)
    new = product(((read, False), *again.rest)) if again.rest else read
    changed = replace(apply, value=swapped(apply.value, again.old, new))
    program = splice(template.program, again.path, (changed,))
    first = earlier_loop(template, again)
    if first is None:
        program = _everywhere(program, again, read)
        made = _computed(again, fresh, name)
        outer = at(program, again.outer)
        return replace(template, program=splice(program, again.outer, (alloc, *made, outer)))
    place, loop = first
    renaming = {again.cells[0].name: Var(loop.var)}
    value = _with_names(again.value, renaming)
    cell = Access(name, tuple(substitute(i, renaming) for i in index))
    body = list[Stmt]()
    stored = False
    for stmt in loop.body:
        if isinstance(stmt, Apply) and value in parts(stmt.value):
            if not stored:
                body.append(Apply((), cell, "=", value))
                stored = True
            stmt = replace(stmt, value=swapped(stmt.value, value, Read(cell)))
        body.append(stmt)
    return replace(
        template,
        program=splice(program, place, (alloc, replace(loop, body=tuple(body)))),
    )


def _everywhere(program: Block, again: Again, read: Read) -> Block:
    """The kept cell in all applies below the outer loop that need the same value."""
    for path, stmt in walk((at(program, again.outer),)):
        if not isinstance(stmt, Apply):
            continue
        place = (*again.outer, *path[1:])
        inner = {n: (b.lo, b.hi) for n, b in binders(program, place).items()}
        inner |= {b.name: (ZERO, b.extent) for b in stmt.box}
        if all(inner.get(c.name) == (c.lo, c.hi) for c in again.cells):
            value = swapped(stmt.value, again.value, read)
            if value != stmt.value:
                program = splice(program, place, (replace(stmt, value=value),))
    return program


def _sizes(template: Template, again: Again) -> dict[str, Expr]:
    """Extents by name where the value reads a buffer of the program at that very name.

    The range may depend on the agent (a causal mask); storage better does not.
    """
    buffers = buffers_at(template.program, again.outer)
    lows = {c.name: c.lo for c in again.cells}
    found = dict[str, Expr]()
    for access in accesses(again.value):
        buffer = buffers.get(access.buffer)
        for index, extent in zip(access.index, buffer.shape if buffer else (), strict=False):
            if isinstance(index, Var) and lows.get(index.name) == ZERO:
                found.setdefault(index.name, extent)
    return found


def earlier_loop(template: Template, again: Again) -> tuple[Path, For] | None:
    """A loop in front of the outer one, in its block, that computes the same value."""
    if len(again.cells) != 1 or again.cells[0].boxed:
        return None
    (cells,) = again.cells
    block = block_of(template.program, again.outer)
    for place in range(again.outer[-1]):
        stmt = block[place]
        if not isinstance(stmt, For) or (stmt.lo, stmt.hi) != (cells.lo, cells.hi):
            continue
        there = _with_names(again.value, {cells.name: Var(stmt.var)})
        for inner in stmt.body:
            if isinstance(inner, Apply) and there in parts(inner.value):
                return (*again.outer[:-1], place), stmt
    return None


def _with_names(value: Value, names: Mapping[str, Expr]) -> Value:
    return map_value(value, lambda e: substitute(e, names))


def _computed(again: Again, fresh: Fresh, name: str) -> tuple[Stmt, ...]:
    """One apply that fills the buffer, over a box with names of its own."""
    cells = {c.name: fresh.var(c.name, f"{c.name}2") for c in again.cells}
    values = {c.name: plus(c.lo, cells[c.name]) for c in again.cells}
    index = tuple(cells.values()) or (ZERO,)
    box = tuple(BoxVar(cells[c.name].name, minus(c.hi, c.lo)) for c in again.cells)
    return (Apply(box, Access(name, index), "=", _with_names(again.value, values)),)
