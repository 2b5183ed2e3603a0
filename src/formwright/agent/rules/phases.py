"""A stage in a grid of its own: more agents, and one stage for all that read it.

What an agent computes for itself in one of its loops (``sc[j]`` for all ``j``) goes into scratch
that all agents share, filled by a grid of its own with the loop as a further index, in blocks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from formwright.agent.rules.menus import opened
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated
from formwright.agent.rules.values import ceil_div, least, minus, plus, times
from formwright.ir.expr import Expr, Var
from formwright.ir.program import Access, Alloc, Apply, Buffer, For, Par, Stmt
from formwright.ir.rewrite import accesses, free_names, substitute
from formwright.ir.template import Realised, Template
from formwright.ir.values import map_accesses, names_of_access
from formwright.ir.walk import Block, body_of, statements, with_body

BLOCKS = (16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class _Stage:
    """The loop at ``place`` of the grid fills ``buffer`` and nothing else that is read later."""

    grid: Par
    place: int
    loop: For
    buffer: Buffer
    needed: Block
    """The statements in front of the loop that it needs, storage included."""


def _phases(template: Template) -> Iterator[Change]:
    for at, grid in enumerate(template.program):
        if isinstance(grid, Par) and grid.kind == "grid":
            for place, loop in enumerate(grid.body):
                stage = _stage(template, grid, place, loop)
                if stage is not None:
                    yield Change(
                        _in_phases(template, at, stage),
                        f"{stage.buffer.name} is filled by a grid of its own, in blocks of "
                        f"{stage.loop.var}: more agents than before",
                    )


def _stage(template: Template, grid: Par, place: int, loop: Stmt) -> _Stage | None:
    if not isinstance(loop, For) or place == len(grid.body) - 1:
        return None
    here = {b.name: b for s in grid.body if isinstance(s, Alloc) for b in s.buffers}
    local = allocated(loop.body)
    stored = {
        s.destination.buffer: s.destination
        for s in statements(loop.body)
        if isinstance(s, Apply) and s.destination.buffer not in local
    }
    if len(stored) != 1:
        return None
    ((name, cell),) = stored.items()
    buffer = here.get(name)
    if buffer is None or buffer.home != "scratch" or loop.var not in names_of_access(cell):
        return None
    if any(free_names(s) & set(grid.vars) for s in buffer.shape):
        return None
    if (free_names(loop.lo) | free_names(loop.hi)) & set(grid.vars):
        return None
    others = (*grid.body[:place], *grid.body[place + 1 :])
    if any(isinstance(s, Apply) and s.destination.buffer == name for s in statements(others)):
        return None
    needed = _needed(grid.body[:place], loop)
    kept = {r.buffer for r in template.realised}
    if kept & allocated(needed).keys():
        return None
    return _Stage(grid, place, loop, buffer, needed)


def _needed(front: Sequence[Stmt], loop: For) -> Block:
    """Of ``front`` what the loop reads, and what that reads."""
    wanted = {a.buffer for s in statements((loop,)) if isinstance(s, Apply) for a in _read(s)}
    chosen = set[int]()
    for place in reversed(range(len(front))):
        applies = [s for s in statements((front[place],)) if isinstance(s, Apply)]
        if any(s.destination.buffer in wanted for s in applies):
            chosen.add(place)
            wanted |= {a.buffer for s in applies for a in _read(s)}
            wanted |= {s.destination.buffer for s in applies}
    found = list[Stmt]()
    for place, stmt in enumerate(front):
        if isinstance(stmt, Alloc):
            kept = tuple(b for b in stmt.buffers if b.name in wanted)
            if kept:
                found.append(replace(stmt, buffers=kept))
        elif place in chosen:
            found.append(stmt)
    return tuple(found)


def _read(apply: Apply) -> tuple[Access, ...]:
    return tuple(accesses(apply.value))


def _in_phases(template: Template, at: int, stage: _Stage) -> Template:
    fresh = Fresh(template)
    size = fresh.var(f"B{stage.loop.var}", f"Block_{stage.loop.var}")
    block = fresh.var(f"{stage.loop.var}b", f"{stage.loop.var}_block")
    grid, loop, name = stage.grid, stage.loop, stage.buffer.name
    shared = replace(stage.buffer, shape=(*grid.extents, *stage.buffer.shape))
    agents = tuple(Var(v) for v in grid.vars)
    start = plus(loop.lo, times(block, size))
    part = replace(loop, lo=start, hi=least(loop.hi, plus(start, size)))
    first = Par(
        "grid",
        (*grid.vars, block.name),
        (*grid.extents, ceil_div(minus(loop.hi, loop.lo), size)),
        _shared((*stage.needed, part), name, agents),
    )
    rest = (*grid.body[: stage.place], *grid.body[stage.place + 1 :])
    second = replace(grid, body=_shared(_without(rest, name), name, agents))
    program = (
        *template.program[:at],
        Alloc((shared,)),
        first,
        second,
        *template.program[at + 1 :],
    )
    realised = tuple(_with_agents(r, stage, fresh) for r in template.realised)
    return opened(replace(template, program=program, realised=realised), size.name, BLOCKS)


def _with_agents(realised: Realised, stage: _Stage, fresh: Fresh) -> Realised:
    if realised.buffer != stage.buffer.name:
        return realised
    names = {v: fresh.name(v, f"{v}2") for v in stage.grid.vars}
    values: dict[str, Expr] = {v: Var(n) for v, n in names.items()}
    index = tuple(substitute(i, values) for i in realised.index)
    return replace(realised, index=index, names=(*names.values(), *realised.names))


def _without(block: Block, name: str) -> Block:
    """``block`` without the storage of ``name``."""
    found = list[Stmt]()
    for stmt in block:
        if isinstance(stmt, Alloc):
            kept = tuple(b for b in stmt.buffers if b.name != name)
            if kept:
                found.append(replace(stmt, buffers=kept))
        else:
            found.append(stmt)
    return tuple(found)


def _shared(block: Block, name: str, agents: tuple[Expr, ...]) -> Block:
    """Accesses of ``name`` say whose they are."""

    def change(access: Access) -> Access:
        if access.buffer != name:
            return access
        return replace(access, index=(*agents, *access.index))

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Apply):
            value = map_accesses(stmt.value, change)
            return replace(stmt, destination=change(stmt.destination), value=value)
        body = tuple(each(s) for s in body_of(stmt))
        return with_body(stmt, body) if body else stmt

    return tuple(each(s) for s in block)


PHASES = Rule(
    "phases",
    "mapping",
    "What an agent computes in a loop of its own is computed by a grid of its own.",
    _phases,
)
