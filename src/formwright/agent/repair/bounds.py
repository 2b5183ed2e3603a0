"""Edits of where something is done: ranges, boxes, guards, masks and clips."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from formwright.agent.repair.donors import (
    Donors,
    conditions_of,
    in_sight,
    without,
    words_at,
)
from formwright.agent.repair.edits import Edit
from formwright.agent.repair.expressions import Sized, Words, changed, neighbours
from formwright.agent.repair.places import Place, line_of, places, statements
from formwright.ir.expr import ONE, ZERO, Arith, Compare, Expr, MinMax, Not, Var, num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    BoxVar,
    For,
    Hint,
    If,
    Literal,
    Par,
    Select,
    Stmt,
    Value,
)
from formwright.ir.rewrite import free_names, map_value, substitute
from formwright.ir.template import Definition, Template
from formwright.ir.values import all_accesses, map_accesses


def bound_edits(template: Template, known: Donors) -> Iterator[Edit]:
    """Ranges and guards that stand in the text, then those that may be missing."""
    for place, at, stmt in statements(template):
        words = words_at(place)
        line = (line_of(stmt),)
        match stmt:
            case For(var, lo, hi):
                ends = [e for e, _ in _tails(place, stmt.body, var, hi)]
                for new in (ZERO, *_other_bounds(template, var, "lo")):
                    yield from _range(place, at, replace(stmt, lo=new), stmt, line, 1, words)
                for new in (*ends, *_other_bounds(template, var, "hi")):
                    yield from _range(place, at, replace(stmt, hi=new), stmt, line, 0, words)
                for new, size in neighbours(lo, words):
                    yield from _range(place, at, replace(stmt, lo=new), stmt, line, size, words)
                for new, size in neighbours(hi, words):
                    yield from _range(place, at, replace(stmt, hi=new), stmt, line, size, words)
                for new, size in transplanted(hi, known, words):
                    yield from _range(place, at, replace(stmt, hi=new), stmt, line, size, words)
                new = MinMax("max", (ONE, hi))
                yield from _range(place, at, replace(stmt, hi=new), stmt, line, 2, words)
            case Par(_, names, extents):
                for number, extent in enumerate(extents):
                    given = [(e, 0) for e in _other_extents(template, names[number])]
                    given += transplanted(extent, known, words)
                    for new, size in (*given, *neighbours(extent, words)):
                        several = (*extents[:number], new, *extents[number + 1 :])
                        changed = replace(stmt, extents=several)
                        yield from _range(place, at, changed, stmt, line, size, words)
            case If(cond, body):
                yield Edit(place.with_stmt(at, *body), "bounds", line)
                given = [(g, 1) for g in (*known.guards, Not(cond)) if in_sight(g, words)]
                for new, size in (*given, *neighbours(cond, words)):
                    yield from _range(place, at, replace(stmt, cond=new), stmt, line, size, words)
            case Apply():
                yield from _apply(place, at, stmt, known)
            case _:
                pass
    yield from _guarded(template, known)
    yield from _definitions(template)


def transplanted(bound: Expr, known: Donors, words: Words) -> list[Sized]:
    """A part of ``bound`` replaced by a minimum or a rounding of another bound, and ``bound`` with
    a block's size as its limit."""
    parts = [p for p in known.parts if in_sight(p, words)]
    found = [(new, 1) for new, _ in changed(bound, lambda node: ((p, 1) for p in parts))]
    found += [(MinMax("min", (Var(name), bound)), 1) for name in words.factors]
    found += [(MinMax("min", (p, bound)), 2) for p in parts]
    return found


def _range(
    place: Place, at: int, new: Stmt, old: Stmt, line: tuple[int, ...], size: int, words: Words
) -> Iterator[Edit]:
    if new != old:
        yield Edit(place.with_stmt(at, new), "bounds", line, size)


def _tails(place: Place, body: tuple[Stmt, ...], var: str, hi: Expr) -> Iterator[tuple[Expr, int]]:
    """The ends that keep ``base + var`` inside a dimension, where an index is such a sum."""
    words = words_at(place)
    found: dict[Expr, None] = {}
    for extent, index in _indexed(place, body):
        base = without(index, var)
        if index == Var(var) and extent != hi and in_sight(extent, words):
            yield MinMax("min", (extent, hi)), 1
        if base is not None and in_sight(base, words) and in_sight(extent, words):
            found[Arith("-", extent, base)] = None
    for end in found:
        yield MinMax("min", (hi, end)), 0
        yield end, 1


def _indexed(place: Place, body: tuple[Stmt, ...]) -> Iterator[tuple[Expr, Expr]]:
    """Extents of dimensions with the indices that stand in them."""
    buffers = dict(place.buffers)
    for stmt in body:
        match stmt:
            case Alloc(several):
                buffers.update((b.name, b) for b in several)
            case Apply():
                for access in all_accesses(stmt):
                    buffer = buffers.get(access.buffer)
                    if buffer is not None:
                        yield from zip(buffer.shape, access.index, strict=False)
            case For() | Par() | If():
                yield from _indexed(replace(place, buffers=buffers), stmt.body)
            case _:
                pass


def _other_bounds(template: Template, var: str, end: str) -> Iterator[Expr]:
    """Ends of other loops with the same name."""
    for _, _, stmt in statements(template):
        if isinstance(stmt, For) and stmt.var == var:
            yield stmt.lo if end == "lo" else stmt.hi


def _other_extents(template: Template, name: str) -> Iterator[Expr]:
    for _, _, stmt in statements(template):
        if isinstance(stmt, Par):
            yield from (e for n, e in zip(stmt.vars, stmt.extents, strict=True) if n == name)
        if isinstance(stmt, For) and stmt.var == name:
            yield stmt.hi


def _apply(place: Place, at: int, stmt: Apply, known: Donors) -> Iterator[Edit]:
    line = (line_of(stmt),)
    words = words_at(place)
    for clip in (True, False):
        changed = _clipped(place, stmt, clip)
        if changed != stmt:
            yield Edit(place.with_stmt(at, changed), "bounds", line, 0 if clip else 1)
    for number, variable in enumerate(stmt.box):
        given = list(_tails(place, (stmt,), variable.name, variable.extent))
        given += transplanted(variable.extent, known, words)
        same = [(e, 0) for e in _boxes(place.template, variable.name) if in_sight(e, words)]
        for new, size in (*given, *same, *neighbours(variable.extent, words)):
            box = (
                *stmt.box[:number],
                BoxVar(variable.name, new),
                *stmt.box[number + 1 :],
            )
            if box != stmt.box:
                yield Edit(place.with_stmt(at, replace(stmt, box=box)), "bounds", line, size)
    own = words_at(place, stmt)
    for cond in dict.fromkeys(conditions_of(stmt.value)):
        given = [(m, 1) for m in known.masks if in_sight(m, own)]
        for new, size in (*given, *neighbours(cond, own)):
            value = _with_mask(stmt.value, cond, new)
            changed = replace(stmt, value=value)
            yield Edit(place.with_stmt(at, changed), "bounds", line, size)
    if stmt.op == "+=":
        for mask in masks_at(place.template, own, known):
            value = Select(mask, stmt.value, Literal(ZERO.value))
            yield Edit(place.with_stmt(at, replace(stmt, value=value)), "bounds", line, 2)


def masks_at(template: Template, words: Words, known: Donors) -> Iterator[Expr]:
    """Conditions of the program's selects, and those of the workload with each index as the
    program writes it."""
    found = dict.fromkeys(m for m in known.masks if in_sight(m, words))
    for line in template.scope.lines:
        extents = {
            **dict(zip(line.indices, line.output.extents, strict=True)),
            **dict(line.reductions),
        }
        for cond in conditions_of(line.value):
            partial = [cond]
            for name in sorted(free_names(cond) & extents.keys()):
                given = [e for e in known.of_extent(Var(extents[name])) if in_sight(e, words)]
                partial = [substitute(c, {name: e}) for c in partial for e in given[:4]]
            found.update(dict.fromkeys(c for c in partial if in_sight(c, words)))
    yield from list(found)[:24]


def _with_mask(value: Value, old: Expr, new: Expr) -> Value:
    return map_value(value, lambda e: new if e == old else e)


def _boxes(template: Template, name: str) -> Iterator[Expr]:
    for _, _, stmt in statements(template):
        if isinstance(stmt, Apply):
            yield from (b.extent for b in stmt.box if b.name == name)


def _clipped(place: Place, stmt: Apply, clip: bool) -> Apply:
    """The apply with ``clip`` on or off for all of its global tensors (rule L45)."""

    def one(access: Access) -> Access:
        is_global = place.buffers[access.buffer].home == "global"
        return replace(access, clip=clip) if is_global else access

    return replace(stmt, destination=one(stmt.destination), value=map_accesses(stmt.value, one))


def _guarded(template: Template, known: Donors) -> Iterator[Edit]:
    """Statements, alone or up to four beside one another, under a guard that they lack."""
    for place in places(template):
        conditions = list(guards_at(place, known))
        for first in range(len(place.body)):
            for last in range(first + 1, min(first + 4, len(place.body)) + 1):
                inside = place.body[first:last]
                if any(isinstance(s, Alloc) for s in inside):
                    break
                if all(isinstance(s, Hint) for s in inside):
                    continue
                for cond, size in conditions:
                    block = (*place.body[:first], If(cond, inside), *place.body[last:])
                    lines = tuple(line_of(s) for s in inside)
                    worth = size + (0 if last - first <= 2 else 1)
                    yield Edit(place.with_block(block), "bounds", lines, worth)


def guards_at(place: Place, known: Donors) -> Iterator[tuple[Expr, int]]:
    """Conditions that could guard a statement of this block, the likelier ones first."""
    words = words_at(place)
    found: dict[Expr, int] = {}
    for cond in known.guards:
        for one in (cond, opposite(cond)):
            if in_sight(one, words):
                found.setdefault(one, 1)
    for decision in place.template.decisions:
        if decision.menu == (0, 1):
            for value in (0, 1):
                found.setdefault(Compare("=", Var(decision.name), num(value)), 1)
    for var, hi in place.loops.items():
        found.setdefault(Compare("=", Var(var), ZERO), 1)
        found.setdefault(Compare(">", Var(var), ZERO), 1)
        found.setdefault(Compare("<", Arith("+", Var(var), ONE), hi), 2)
        for generation in known.generations:
            if var in free_names(generation) and in_sight(generation, words):
                found.setdefault(Compare("<", generation, hi), 1)
    for extent, index in _indexed(place, place.body):
        if in_sight(index, words) and in_sight(extent, words):
            found.setdefault(Compare("<", index, extent), 2)
    yield from found.items()


def opposite(cond: Expr) -> Expr:
    """The negation, as a comparison where it is one."""
    match cond:
        case Compare("=", left, right):
            return Compare(">", left, right) if right == ZERO else Compare("!=", left, right)
        case Compare("<", left, right):
            return Compare(">=", left, right)
        case Compare(">", left, right):
            return Compare("=" if right == ZERO else "<=", left, right)
        case Compare("<=", left, right):
            return Compare(">", left, right)
        case Compare(">=", left, right):
            return Compare("<", left, right)
        case _:
            return Not(cond)


def _definitions(template: Template) -> Iterator[Edit]:
    words = words_at(next(iter(places(template))))
    for at, definition in enumerate(template.definitions):
        for new, size in neighbours(definition.value, words):
            if definition.name in free_names(new):
                continue
            changed = Definition(definition.name, new, definition.span)
            rows = (*template.definitions[:at], changed, *template.definitions[at + 1 :])
            lines = (definition.span.line,) if definition.span else ()
            yield Edit(partial(replace, template, definitions=rows), "bounds", lines, size)
