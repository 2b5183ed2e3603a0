"""Hints: rows asked for ahead, stores past the caches. They have no meaning (P11), only a time.

Each is a decision, 0 for none, so that the solver and the measurement may refuse it.
"""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.rules.menus import opened
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import around, block_of, splice
from formwright.agent.rules.values import plus
from formwright.ir.expr import ZERO, Compare, Expr, Var, num
from formwright.ir.fold import folded
from formwright.ir.program import Access, Apply, For, Hint, If, Par
from formwright.ir.rewrite import accesses, free_names, substitute
from formwright.ir.template import Template
from formwright.ir.values import row_names
from formwright.ir.walk import Path, statements, walk

AHEAD = (0, 1, 2, 4, 8)


def _prefetches(template: Template) -> Iterator[Change]:
    """Rows of a tensor that the next iterations of an outer loop read."""
    tensors = frozenset(g.name for g in template.globals)
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Apply) or _hinted(template, path, "prefetch"):
            continue
        steps = _stepping(template, path)
        inner = next((s for s in reversed(steps) if isinstance(s, For)), None)
        if inner is None:
            continue
        for access in dict.fromkeys(accesses(stmt.value)):
            row = _row(access, steps, inner, stmt)
            if access.buffer in tensors and row is not None:
                yield _asked(template, path, stmt, access, row)


def _stepping(template: Template, path: Path) -> list[For | Par]:
    return [s for s in around(template.program, path) if isinstance(s, (For, Par))]


def _row(access: Access, steps: list[For | Par], inner: For, stmt: Apply) -> str | None:
    """The name that steps to the next row: the innermost in front of the last index.

    Only where the last index moves with the innermost loop: then a vector is asked for each step.
    """
    boxed = {b.name for b in stmt.box}
    if not access.index or inner.var not in free_names(access.index[-1]) - boxed:
        return None
    rows = row_names(access)
    for step in reversed(steps):
        names = (step.var,) if isinstance(step, For) else tuple(reversed(step.vars))
        for name in names:
            if name in rows:
                return name
    return None


def _asked(template: Template, path: Path, stmt: Apply, access: Access, row: str) -> Change:
    fresh = Fresh(template)
    far = fresh.var("Pf", "Ahead")
    boxed: dict[str, Expr] = {b.name: ZERO for b in stmt.box}
    later = {**boxed, row: plus(Var(row), far)}
    index = tuple(folded(substitute(i, later)) for i in access.index)
    asked = If(
        Compare(">", far, num(0)),
        (Hint("prefetch", access=replace(access, index=index, clip=False)),),
    )
    program = splice(template.program, path, (asked, stmt))
    made = opened(replace(template, program=program), far.name, AHEAD)
    return Change(made, f"{access.buffer} is asked for {far.name} steps of {row} ahead")


def _hinted(template: Template, path: Path, kind: str) -> bool:
    """Whether a hint of the kind stands in the same block."""
    block = block_of(template.program, path)
    return any(isinstance(s, Hint) and s.kind == kind for s in statements(block))


def _streams(template: Template) -> Iterator[Change]:
    """Stores of the output that nothing reads again."""
    output = template.scope.workload.output.name
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Apply) or stmt.destination.buffer != output or stmt.op != "=":
            continue
        inside = any(isinstance(s, Par) for s in around(template.program, path))
        if not inside or _hinted(template, path, "stream") or not _row_store(stmt):
            continue
        fresh = Fresh(template)
        past = fresh.var("St", "Past")
        zeros: dict[str, Expr] = {b.name: ZERO for b in stmt.box}
        index = tuple(folded(substitute(i, zeros)) for i in stmt.destination.index)
        target = replace(stmt.destination, index=index, clip=False)
        hint = If(Compare("=", past, num(1)), (Hint("stream", access=target),))
        program = splice(template.program, path, (hint, stmt))
        made = opened(replace(template, program=program), past.name, (0, 1))
        yield Change(made, f"{output} is not read again soon: stored past the caches or not")


def _row_store(stmt: Apply) -> bool:
    """Whether a box name runs along the last index: whole vectors are stored."""
    last = stmt.destination.index[-1] if stmt.destination.index else ZERO
    return any(b.name in free_names(last) for b in stmt.box)


PREFETCH = Rule(
    "prefetch",
    "schedule",
    "Rows of a tensor that later iterations read are asked for ahead.",
    _prefetches,
)
STREAM = Rule(
    "stream",
    "schedule",
    "Stores of the output go past the caches.",
    _streams,
)
