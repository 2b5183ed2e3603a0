"""Iterations whose results nobody reads: a loop that fills a buffer ends where its readers end.

``for j in 0 .. T: s[j] = …`` in front of loops over ``0 .. t + 1`` that read ``s[j]`` needs no more
than ``t + 1`` iterations.
"""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, binders, block_of, splice
from formwright.ir.expr import Expr, Num, Var
from formwright.ir.program import Access, Alloc, Apply, For
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.ir.walk import Path, statements, walk


def _narrowed(template: Template) -> Iterator[Change]:
    for path, loop in walk(template.program):
        if not isinstance(loop, For):
            continue
        place = _filled(template, loop)
        if place is None:
            continue
        name, index = place
        end = _end(template, path, name, index)
        if end is not None and end != loop.hi:
            new = replace(loop, hi=end)
            yield Change(
                replace(template, program=splice(template.program, path, (new,))),
                f"{name} is filled up to {show_expr(end)}, where its readers end",
            )


def _filled(template: Template, loop: For) -> tuple[str, int] | None:
    """The one buffer that the loop fills, and which of its indices is the loop's name."""
    local = allocated(loop.body)
    stored = [
        s.destination
        for s in statements(loop.body)
        if isinstance(s, Apply) and s.destination.buffer not in local
    ]
    names = {d.buffer for d in stored}
    if len(names) != 1 or names & {g.name for g in template.globals}:
        return None
    places = {_place(d, loop.var) for d in stored}
    (place,) = places if len(places) == 1 else (None,)
    return None if place is None else (stored[0].buffer, place)


def _place(access: Access, name: str) -> int | None:
    for at, index in enumerate(access.index):
        if isinstance(index, Var) and index.name == name:
            return at
    return None


def _end(template: Template, path: Path, name: str, index: int) -> Expr | None:
    """Where all readers behind the loop end, if they end at one place that is in sight there."""
    block = block_of(template.program, path)
    owner = next(
        (
            n
            for n, s in enumerate(block)
            if isinstance(s, Alloc) and any(b.name == name for b in s.buffers)
        ),
        None,
    )
    if owner is None or owner > path[-1]:
        return None
    ends = set[Expr]()
    for place in range(owner + 1, len(block)):
        if place == path[-1]:
            continue
        for inner, stmt in walk((block[place],)):
            if isinstance(stmt, Apply):
                where = (*path[:-1], place, *inner[1:])
                for access in accesses(stmt.value):
                    if access.buffer == name:
                        ends.add(_reader(template, where, stmt, access.index[index]))
    ends = {e for e in ends if not isinstance(e, Num)}
    if len(ends) != 1:
        return None
    (end,) = ends
    here = binders(template.program, path).keys()
    return end if free_names(end) <= here | {p.name for p in template.scope.extents} else None


def _reader(template: Template, path: Path, stmt: Apply, index: Expr) -> Expr:
    """One past the last cell that the index names; the index itself where that is not told."""
    if isinstance(index, Num):
        return index
    if isinstance(index, Var):
        binder = binders(template.program, path).get(index.name)
        if binder is not None:
            return binder.hi
        for var in stmt.box:
            if var.name == index.name:
                return var.extent
    return Var("?")


NARROW = Rule(
    "narrow",
    "mapping",
    "A loop that fills a buffer ends where the loops that read it end.",
    _narrowed,
)
