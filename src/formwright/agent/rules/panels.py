"""Lanes for an index that runs over rows: with its rows side by side in panels.

In ``a[t,f] = sum(d) X[t,d] * W[f,d]`` cells of ``f`` do not lie side by side, and sums over ``d``
have to be joined for each. With ``W`` in panels of L rows, ``Wp[fp, d, l]``, a vector has L cells.
"""

from collections.abc import Iterator

from formwright.agent.rules.block import (
    Space,
    along_rows,
    blocked,
    forks,
    loops,
    steps_by_one,
    writes_by,
)
from formwright.agent.rules.pack import packed_by
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, around
from formwright.ir.program import Apply, Par
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.template import Template
from formwright.ir.values import row_names
from formwright.ir.walk import statements


def _panels(template: Template) -> Iterator[Change]:
    inputs = frozenset(t.name for t in template.scope.workload.inputs)
    for space in (*forks(template), *loops(template)):
        if along_rows(space.stmt.body, space.name) or not writes_by(space):
            continue
        if not _stored_in_rows(space):
            continue
        if not _read_again(template, space, inputs):
            continue
        made = blocked(template, space, last=True)
        if made is None:
            continue
        cell = _cell(template, made)
        packed, tensors = packed_by(made, cell)
        if tensors:
            yield Change(
                packed,
                f"cells of {space.name} in vectors: {', '.join(dict.fromkeys(tensors))} in panels "
                "with them side by side",
            )


def _stored_in_rows(space: Space) -> bool:
    """Whether what leaves the block has the index at its end: vectors are stored whole."""
    local = allocated(space.stmt.body)
    return all(
        steps_by_one(s.destination.index[-1], space.name)
        for s in statements(space.stmt.body)
        if isinstance(s, Apply) and s.destination.buffer not in local
    )


def _read_again(template: Template, space: Space, inputs: frozenset[str]) -> bool:
    """Whether some agents read the same rows: panels are made once for all of them."""
    outer = [s for s in (*around(template.program, space.path), space.stmt) if isinstance(s, Par)]
    agents = {v for s in outer for v in s.vars} - {space.name}
    for stmt in statements(space.stmt.body):
        if isinstance(stmt, Apply):
            for access in accesses(stmt.value):
                rows = row_names(access)
                named = rows.union(*(free_names(i) for i in access.index[-1:]))
                if access.buffer in inputs and space.name in rows and agents - named:
                    return True
    return False


def _cell(before: Template, after: Template) -> str:
    """The name of the new index: the one box name of ``after`` over the new decision."""
    new = {d.name for d in after.decisions} - {d.name for d in before.decisions}
    return next(
        b.name
        for s in statements(after.program)
        if isinstance(s, Apply)
        for b in s.box
        if free_names(b.extent) & new
    )


PANELS = Rule(
    "panels",
    "mapping",
    "An index over rows is blocked into vectors, its tensors copied into panels of such rows.",
    _panels,
)
