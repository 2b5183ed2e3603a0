"""Values that a loop computes again in every iteration are computed once, in front of it.

``keep``   a function of what is read (``exp(s[j] - m)`` in a loop over d) goes into scratch; where
           an earlier loop has the same value, it is kept there.
``copy``   cells of a tensor that an outer loop reads again go into scratch, with the factors that
           stand beside them and do not change either.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import (
    Block,
    Path,
    allocated,
    around,
    at,
    binders,
    body_of,
    buffers_at,
    splice,
    statements,
    walk,
)
from formwright.agent.rules.values import (
    factors,
    minus,
    names_of,
    parts,
    plus,
    product,
    swapped,
)
from formwright.ir.expr import ONE, ZERO, Expr, Var, num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    BoxVar,
    Buffer,
    For,
    Literal,
    Op,
    Read,
    Stmt,
    Value,
)
from formwright.ir.rewrite import accesses, free_names, map_value, substitute
from formwright.ir.show import show_value
from formwright.ir.template import Template

_HEAVY = ("exp", "sqrt", "rsqrt", "/")


@dataclass(frozen=True, slots=True)
class _Cells:
    """A name of the value that takes part in its index: ``lo <= name < hi``."""

    name: str
    lo: Expr
    hi: Expr
    boxed: bool


@dataclass(frozen=True, slots=True)
class _Again:
    """A value at ``path`` that the loop at ``outer`` computes again and again."""

    path: Path
    outer: Path
    old: Value
    """The part of the apply's value that is replaced: ``old`` by ``rest`` times the kept cell."""
    value: Value
    rest: tuple[tuple[Value, bool], ...]
    cells: tuple[_Cells, ...]


def _found(
    template: Template, wanted: Callable[[Value, For], Iterator[tuple[Value, Value]]]
) -> Iterator[_Again]:
    """``wanted`` yields pairs: a part of a value, and what of it is to be kept."""
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Apply):
            continue
        done = list[Value]()  # the outermost loop is the one to leave
        for depth, outer in enumerate(around(template.program, path), 1):
            if not isinstance(outer, For):
                continue
            written = _written(outer.body)
            for old, value in wanted(stmt.value, outer):
                if outer.var in names_of(value) or _reads(value) & written or value in done:
                    continue
                cells = _cells(template, path, path[:depth], stmt, value)
                if cells is not None:
                    done.append(value)
                    rest = _without(old, value)
                    yield _Again(path, path[:depth], old, value, rest, cells)


def _written(body: tuple[Stmt, ...]) -> frozenset[str]:
    stored = {s.destination.buffer for s in statements(body) if isinstance(s, Apply)}
    return frozenset(stored) | allocated(body).keys()


def _reads(value: Value) -> frozenset[str]:
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
) -> tuple[_Cells, ...] | None:
    """The names below ``outer`` that the value depends on; None where their extents vary there."""
    inner = {n: b for n, b in binders(template.program, path).items() if len(b.path) > len(outer)}
    used = names_of(value)
    found = list[_Cells]()
    for name, binder in inner.items():
        if name in used:
            if binder.lo is None:
                return None
            found.append(_Cells(name, binder.lo, binder.hi, boxed=False))
    for var in apply.box:
        if var.name in used:
            found.append(_Cells(var.name, ZERO, var.extent, boxed=True))
    varying = inner.keys() | {b.name for b in apply.box}
    for cells in found:
        if (free_names(cells.lo) | free_names(cells.hi)) & varying:
            return None
    return tuple(found)


def _kept(template: Template, again: _Again, stem: str) -> Template:
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
    earlier = _earlier(template, again)
    if earlier is None:
        program = _everywhere(program, again, read)
        made = _computed(again, fresh, name)
        outer = at(program, again.outer)
        return replace(template, program=splice(program, again.outer, (alloc, *made, outer)))
    place, loop = earlier
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


def _everywhere(program: Block, again: _Again, read: Read) -> Block:
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


def _sizes(template: Template, again: _Again) -> dict[str, Expr]:
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


def _earlier(template: Template, again: _Again) -> tuple[Path, For] | None:
    """A loop in front of the outer one, in its block, that computes the same value."""
    if len(again.cells) != 1 or again.cells[0].boxed:
        return None
    (cells,) = again.cells
    block = (
        template.program
        if len(again.outer) == 1
        else body_of(at(template.program, again.outer[:-1]))
    )
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


def _computed(again: _Again, fresh: Fresh, name: str) -> tuple[Stmt, ...]:
    """One apply that fills the buffer, over a box with names of its own."""
    cells = {c.name: fresh.var(c.name, f"{c.name}2") for c in again.cells}
    values = {c.name: plus(c.lo, cells[c.name]) for c in again.cells}
    index = tuple(cells.values()) or (ZERO,)
    box = tuple(BoxVar(cells[c.name].name, minus(c.hi, c.lo)) for c in again.cells)
    return (Apply(box, Access(name, index), "=", _with_names(again.value, values)),)


def _heavy(value: Value, outer: For) -> Iterator[tuple[Value, Value]]:
    """Functions of what is read, whole: the outermost part that the loop does not change."""
    taken = list[Value]()
    for part in parts(value):
        if any(part in tuple(parts(t)) for t in taken) or outer.var in names_of(part):
            continue
        if isinstance(part, Op) and part.name in _HEAVY and _reads(part):
            taken.append(part)
            yield part, part
    for part in parts(value):
        if isinstance(part, Op) and part.name == "/" and outer.var in names_of(part):
            below = tuple(f for f, down in factors(part) if down and _reads(f))
            still = tuple((f, True) for f in below if outer.var not in names_of(f))
            if still:
                yield part, product(((Literal(num(1).value), False), *still))


def _cells_of_tensors(
    tensors: frozenset[str],
) -> Callable[[Value, For], Iterator[tuple[Value, Value]]]:
    def wanted(value: Value, outer: For) -> Iterator[tuple[Value, Value]]:
        terms = factors(value)
        still = tuple(
            (f, down)
            for f, down in terms
            if outer.var not in names_of(f) and (isinstance(f, Read) or not _reads(f))
        )
        if len(still) == len(terms) or not _reads(product(still)) & tensors:
            return
        yield value, product(still)

    return wanted


def _twice(template: Template) -> Iterator[Change]:
    """Functions that two loops over the same range compute, one behind the other."""
    for path, later in walk(template.program):
        if not isinstance(later, For):
            continue
        for place, stmt in enumerate(later.body):
            if not isinstance(stmt, Apply) or stmt.box:
                continue
            for value in _of_loop(stmt.value, later):
                cells = (_Cells(later.var, later.lo, later.hi, boxed=False),)
                again = _Again((*path, place), path, value, value, (), cells)
                if _earlier(template, again) is not None:
                    yield Change(
                        _kept(template, again, "w"),
                        f"{show_value(value)} is computed by two loops over {later.var}: kept by "
                        "the first",
                    )


def _of_loop(value: Value, loop: For) -> Iterator[Value]:
    """The outermost functions that depend on the loop's name, of what the loop does not write."""
    written = _written(loop.body)
    for part in parts(value):
        named = loop.var in names_of(part)
        if isinstance(part, Op) and part.name in _HEAVY[:3] and named:
            if not _reads(part) & written:
                yield part
            return


def _keeps(template: Template) -> Iterator[Change]:
    yield from _twice(template)
    for again in _found(template, _heavy):
        loop = at(template.program, again.outer)
        assert isinstance(loop, For)
        yield Change(
            _kept(template, again, "w"),
            f"{show_value(again.value)} is the same for every {loop.var}: computed once, kept",
        )


def _copies(template: Template) -> Iterator[Change]:
    tensors = frozenset(g.name for g in template.globals)
    for again in _found(template, _cells_of_tensors(tensors)):
        loop = at(template.program, again.outer)
        assert isinstance(loop, For)
        if not again.cells:
            continue
        yield Change(
            _kept(template, again, "t"),
            f"{show_value(again.value)} is read for every {loop.var}: copied once into scratch",
        )


KEEP = Rule(
    "keep",
    "mapping",
    "A value that a loop computes again in every iteration is computed once and kept in scratch.",
    _keeps,
)
COPY = Rule(
    "copy",
    "mapping",
    "Cells of a tensor that a loop reads again are copied once into scratch.",
    _copies,
)
