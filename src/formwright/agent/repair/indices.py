"""Edits of what cell an access means: its indices, its generation, its buffer."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

from formwright.agent.repair.donors import Donors, all_words, in_sight, words_at
from formwright.agent.repair.edits import Edit
from formwright.agent.repair.expressions import Sized, Words, neighbours
from formwright.agent.repair.places import Place, line_of, statements, with_access
from formwright.agent.rules.naming import Fresh
from formwright.ir.expr import Expr, Var
from formwright.ir.program import Access, Apply, BoxVar
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.ir.values import all_accesses


def index_edits(template: Template, known: Donors) -> Iterator[Edit]:
    """Every access of every apply, then the lines of ``realise``."""
    for place, at, stmt in statements(template):
        if isinstance(stmt, Apply):
            words = words_at(place, stmt)
            for number, access in enumerate(all_accesses(stmt)):
                for new, size in _accesses(place, access, words, known):
                    yield Edit(
                        partial(_put, place, at, stmt, number, new), "index", (line_of(stmt),), size
                    )
            for whole in _whole_axes(place, stmt):
                yield Edit(place.with_stmt(at, whole), "index", (line_of(stmt),), 1)
    yield from _realised(template, known)


def _whole_axes(place: Place, apply: Apply) -> Iterator[Apply]:
    """A cell of an axis becomes all cells of that axis: what is set for one is set for each."""
    access, taken = apply.destination, {v.name for v in apply.box}
    buffer = place.buffers.get(access.buffer)
    if buffer is None or len(buffer.shape) != len(access.index):
        return
    for number, index in enumerate(access.index):
        if not set(free_names(index)) & taken:
            name = Fresh(place.template).name("at")
            box = (*apply.box, BoxVar(name, buffer.shape[number]))
            yield replace(apply, box=box, destination=_with_index(access, number, Var(name)))


def _put(place: Place, at: int, apply: Apply, number: int, new: Access) -> Template:
    return place.with_stmt(at, with_access(apply, number, new))()


def _accesses(
    place: Place, access: Access, words: Words, known: Donors
) -> Iterator[tuple[Access, int]]:
    for number, index in enumerate(access.index):
        for new, size in _indices(place, access, number, index, words, known):
            if new != index:
                yield _with_index(access, number, new), size
    for one, two in combinations(range(len(access.index)), 2):
        if access.index[one] != access.index[two]:
            swapped = list(access.index)
            swapped[one], swapped[two] = swapped[two], swapped[one]
            yield replace(access, index=tuple(swapped)), 1
    if access.generation is not None:
        given = [(g, 1) for g in known.generations if in_sight(g, words)]
        for new, size in (*given, *neighbours(access.generation, words)):
            if new != access.generation:
                yield replace(access, generation=new), size
    for name, buffer in place.buffers.items():
        if name != access.buffer and len(buffer.shape) == len(access.index):
            ringed = (buffer.ring is None) == (access.generation is None)
            if ringed and buffer.home == place.buffers[access.buffer].home:
                yield replace(access, buffer=name), 2


def _indices(
    place: Place, access: Access, number: int, index: Expr, words: Words, known: Donors
) -> Iterator[Sized]:
    buffer = place.buffers.get(access.buffer)
    if buffer is not None and number < len(buffer.shape):
        for new in known.of_extent(buffer.shape[number]):
            if in_sight(new, words):
                yield new, 0
    yield from neighbours(index, words)


def _with_index(access: Access, number: int, new: Expr) -> Access:
    return replace(access, index=(*access.index[:number], new, *access.index[number + 1 :]))


def _realised(template: Template, known: Donors) -> Iterator[Edit]:
    words = all_words(template)
    for at, kept in enumerate(template.realised):
        own = Words(((*words.kinds[0],), kept.names, *words.kinds[2:]), words.factors)
        line = next(w for w in template.scope.stages if w.output.name == kept.stage)
        for number, index in enumerate(kept.index):
            extent = line.output.extents[number]
            given = [(e, 0) for e in _of_name(known, extent) if in_sight(e, own)]
            for new, size in (*given, *neighbours(index, own)):
                if new == index:
                    continue
                changed = replace(
                    kept, index=(*kept.index[:number], new, *kept.index[number + 1 :])
                )
                rows = (*template.realised[:at], changed, *template.realised[at + 1 :])
                lines = (kept.span.line,) if kept.span else ()
                yield Edit(partial(replace, template, realised=rows), "index", lines, size)


def _of_name(known: Donors, extent: str) -> tuple[Expr, ...]:
    return known.of_extent(Var(extent))
