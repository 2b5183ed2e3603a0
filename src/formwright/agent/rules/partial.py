"""A reduction in partial results: one for each lane, joined when the loop has ended.

``for k in 0 .. K: acc[r] += v``   becomes
``part[r,l] = 0``, ``for p in 0 .. ceil(K/L): part[r,l] += v over (l < min(L, K - p*L))`` and
``acc[r] += part[r,l]``. A maximum's partial results begin with what the maximum began with.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formwright.agent.rules.block import along_rows, is_blocked
from formwright.agent.rules.menus import LANES, opened
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, block_of, buffers_at, splice
from formwright.agent.rules.values import ceil_div, least, minus, plus, renamed, times, zero
from formwright.ir.expr import ZERO, Expr, Var
from formwright.ir.program import Access, Alloc, Apply, BoxVar, Buffer, For, Hint, Read, Stmt, Value
from formwright.ir.rewrite import map_value, substitute
from formwright.ir.template import Template
from formwright.ir.values import names_of_access, names_of_stmt
from formwright.ir.walk import Block, Path, walk


@dataclass(frozen=True, slots=True)
class _Partial:
    """One accumulation of the loop, and where its partial results are kept."""

    apply: Apply
    start: Value
    buffer: Buffer
    index: tuple[Expr, ...]


def _partial_sums(template: Template) -> Iterator[Change]:
    for path, loop in walk(template.program):
        if (
            isinstance(loop, For)
            and not is_blocked(template, loop.hi)
            and along_rows(loop.body, loop.var)
        ):
            made = _spread(template, path, loop)
            if made is not None:
                yield Change(
                    made,
                    f"the reduction over {loop.var} in lanes of partial results, which are "
                    "joined when it ends",
                )


def _spread(template: Template, path: Path, loop: For) -> Template | None:
    if not all(isinstance(s, (Apply, Alloc, Hint)) for s in loop.body):
        return None
    fresh = Fresh(template)
    size = fresh.var(f"L{loop.var}", f"Lanes_{loop.var}")
    block, cell = fresh.var("p", "q", f"{loop.var}b"), fresh.var("l", f"{loop.var}r")
    before = block_of(template.program, path)[: path[-1]]
    buffers = buffers_at(template.program, path)
    local = allocated(loop.body)
    partials = dict[int, _Partial]()
    for place, stmt in enumerate(loop.body):
        if not isinstance(stmt, Apply) or stmt.destination.buffer in local:
            continue
        if loop.var in names_of_access(stmt.destination):
            continue
        start = _start(stmt, before)
        if start is None or stmt.destination.buffer not in buffers:
            return None
        partials[place] = _partial(stmt, start, fresh, size, cell)
    if not partials or local:
        return None
    inner = _inside(loop, partials, size, block, cell)
    count = ceil_div(minus(loop.hi, loop.lo), size)
    lanes = BoxVar(cell.name, size)
    new: list[Stmt] = [Alloc(tuple(p.buffer for p in partials.values()))]
    for p in partials.values():
        begin = Access(p.buffer.name, p.index)
        new.append(Apply((*_rows(p.apply), lanes), begin, "=", p.start))
    new.append(For(block.name, ZERO, count, inner))
    for p in partials.values():
        kept = Read(Access(p.buffer.name, p.index))
        new.append(Apply((*_rows(p.apply), lanes), p.apply.destination, p.apply.op, kept))
    program = splice(template.program, path, new)
    return opened(replace(template, program=program), size.name, LANES)


def _rows(apply: Apply) -> tuple[BoxVar, ...]:
    """The part of the box that the destination names; the rest is summed."""
    named = names_of_access(apply.destination)
    return tuple(b for b in apply.box if b.name in named)


def _partial(apply: Apply, start: Value, fresh: Fresh, size: Var, cell: Var) -> _Partial:
    rows = _rows(apply)
    name = fresh.name(f"{apply.destination.buffer}_part")
    shape = (*(b.extent for b in rows), size)
    index = (*(Var(b.name) for b in rows), cell)
    return _Partial(apply, start, Buffer(name, shape, "register"), index)


def _start(apply: Apply, before: Block) -> Value | None:
    """What partial results begin with: 0 of a sum; of a maximum the value that its own begins with.

    None where it is not found in front of the loop, or where it is named by other names.
    """
    if apply.op == "+=":
        return zero()
    if apply.op != "max=":
        return None
    for stmt in reversed(before):
        if isinstance(stmt, Apply) and stmt.destination.buffer == apply.destination.buffer:
            return _first_value(stmt, apply.destination)
    return None


def _first_value(first: Apply, cell: Access) -> Value | None:
    if first.op != "=" or len(first.destination.index) != len(cell.index):
        return None
    boxed = {b.name for b in first.box}
    names = dict[str, Expr]()
    for mine, theirs in zip(cell.index, first.destination.index, strict=True):
        if isinstance(theirs, Var) and theirs.name in boxed:
            names[theirs.name] = mine
        elif theirs != mine:
            return None
    return map_value(first.value, lambda e: substitute(e, names))


def _inside(
    loop: For, partials: dict[int, _Partial], size: Var, block: Var, cell: Var
) -> tuple[Stmt, ...]:
    value = plus(plus(loop.lo, times(block, size)), cell)
    limit = least(size, minus(minus(loop.hi, loop.lo), times(block, size)))
    found = list[Stmt]()
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, Hint):
            found.append(renamed(stmt, {loop.var: plus(loop.lo, times(block, size))}))
            continue
        if not isinstance(stmt, Apply):
            found.append(stmt)
            continue
        partial = partials.get(place)
        changed = renamed(stmt, {loop.var: value}) if loop.var in names_of_stmt(stmt) else stmt
        assert isinstance(changed, Apply)
        if partial is not None:
            changed = replace(changed, destination=Access(partial.buffer.name, partial.index))
        found.append(replace(changed, box=(*changed.box, BoxVar(cell.name, limit))))
    return tuple(found)


PARTIAL_SUMS = Rule(
    "partial-results",
    "mapping",
    "A reduction is spread over lanes: partial results, joined when its loop ends.",
    _partial_sums,
)
