"""Blocking of parallel work: rows of an agent, lanes of a loop, strips of a fork.

``rows``       ``par grid i in M``            -> ``par grid b in ceil(M/R)``, R rows at a time
``lanes``      ``for d in 0 .. D`` (parallel) -> ``for p in 0 .. ceil(D/L)``, L cells at a time
``strips``     ``par grid i in E``            -> ``par grid b in ceil(E/J)``: ``for i in J of them``
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formwright.agent.rules.menus import FEW, LANES, ROWS, opened
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, splice
from formwright.agent.rules.values import ceil_div, is_name, least, minus, plus, times
from formwright.agent.rules.widen import DoesNotFitError, Widening, widened, widened_stages
from formwright.ir.expr import ONE, ZERO, Expr, Num, Var
from formwright.ir.program import Apply, For, Par, Stmt
from formwright.ir.rewrite import accesses, free_names, map_body, substitute
from formwright.ir.template import Template
from formwright.ir.values import names_of_access
from formwright.ir.walk import Block, Path, statements, walk

STRIPS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Space:
    """The name at ``path`` that is blocked, with what it runs over."""

    path: Path
    stmt: For | Par
    name: str
    lo: Expr
    hi: Expr

    @property
    def count(self) -> Expr:
        return minus(self.hi, self.lo)


def forks(template: Template) -> Iterator[Space]:
    for path, stmt in walk(template.program):
        if isinstance(stmt, Par) and stmt.kind == "grid":
            for name, extent in zip(stmt.vars, stmt.extents, strict=True):
                if not is_blocked(template, extent):
                    yield Space(path, stmt, name, ZERO, extent)


def loops(template: Template) -> Iterator[Space]:
    for path, stmt in walk(template.program):
        if isinstance(stmt, For) and not is_blocked(template, stmt.hi):
            yield Space(path, stmt, stmt.var, stmt.lo, stmt.hi)


def is_blocked(template: Template, extent: Expr) -> bool:
    """Whether a decision is in the extent already (a number of blocks, a number of cells)."""
    return isinstance(extent, Num) or bool(
        free_names(extent) & {d.name for d in template.decisions}
    )


def along_rows(body: Block, name: str) -> bool:
    """Whether cells of ``name`` lie side by side: some read ends in it, none has it further out."""
    found = False
    for stmt in statements(body):
        if isinstance(stmt, Apply):
            for access in accesses(stmt.value):
                found |= bool(access.index) and steps_by_one(access.index[-1], name)
                if any(name in free_names(i) for i in access.index[:-1]):
                    return False
    return found


def steps_by_one(index: Expr, name: str) -> bool:
    following = substitute(index, {name: plus(Var(name), ONE)})
    return is_name(index, name) or (name in free_names(index) and minus(following, index) == ONE)


def blocked(template: Template, space: Space, *, last: bool) -> Template | None:
    fresh = Fresh(template)
    size = fresh.var(*_sizes(space.name, last=last))
    block = fresh.var(*(("p", "q") if last else ("b",)), f"{space.name}b")
    cell = fresh.name(*(("l",) if last else ("r",)), f"{space.name}r")
    by = Widening(
        name=space.name,
        value=plus(plus(space.lo, times(block, size)), Var(cell)),
        cell=cell,
        extent=size,
        limit=minus(space.count, times(block, size)),
        last=last,
        tensors=frozenset(g.name for g in template.globals),
    )
    body = space.stmt.body
    names = {name: fresh.name(cell, f"{cell}2") for name in allocated(body)}
    try:
        inner = widened(body, by)
        realised = widened_stages(template.realised, body, by, names)
    except DoesNotFitError:
        return None
    count = ceil_div(space.count, size)
    new: Stmt
    if isinstance(space.stmt, For):
        new = replace(space.stmt, var=block.name, lo=ZERO, hi=count, body=inner)
    else:
        new = _other_extent(space, block.name, count, inner)
        if last:  # agents that follow one another read the same columns or panel
            new = _first(new, block.name)
    program = splice(template.program, space.path, (new,))
    changed = replace(template, program=program, realised=realised)
    return opened(changed, size.name, LANES if last else _menu(template, space))


def _first(fork: Par, name: str) -> Par:
    """The fork with ``name`` in front of its other indices."""
    order = sorted(range(len(fork.vars)), key=lambda n: fork.vars[n] != name)
    return replace(
        fork,
        vars=tuple(fork.vars[n] for n in order),
        extents=tuple(fork.extents[n] for n in order),
    )


def _menu(template: Template, space: Space) -> tuple[int, ...]:
    """Rows; few of them where the agent has rows of another index too."""
    assert isinstance(space.stmt, Par)
    rows = {d.name for d in template.decisions if d.menu[-1] <= ROWS[-1]}
    taken = any(free_names(e) & rows for e in space.stmt.extents)
    return FEW if taken else ROWS


def _sizes(name: str, *, last: bool) -> tuple[str, ...]:
    stem = name[0].upper() if name[0].isalpha() else "X"
    return (f"L{name}", f"Lanes_{name}") if last else (f"{stem}r", f"R{name}", f"Rows_{name}")


def _other_extent(space: Space, name: str, count: Expr, body: tuple[Stmt, ...]) -> Par:
    assert isinstance(space.stmt, Par)
    at = space.stmt.vars.index(space.name)
    names, extents = list(space.stmt.vars), list(space.stmt.extents)
    names[at], extents[at] = name, count
    return replace(space.stmt, vars=tuple(names), extents=tuple(extents), body=body)


def _rows(template: Template) -> Iterator[Change]:
    """Blocks of indices that save reads; where none of a grid does, of each for its registers."""
    spaces = [s for s in forks(template) if not along_rows(s.stmt.body, s.name)]
    reused = [(s, sorted(_reused(s))) for s in spaces]
    saving = {s.path for s, what in reused if what}
    for space, what in sorted(reused, key=lambda r: -len(r[1])):
        assert isinstance(space.stmt, Par)
        alone = not any(is_blocked(template, e) for e in space.stmt.extents)
        if not what and (space.path in saving or not alone):
            continue
        made = blocked(template, space, last=False)
        if made is not None:
            told = (
                f"one read of {', '.join(what)} serves all of them"
                if what
                else "each has its registers"
            )
            yield Change(made, f"an agent has a block of {space.name}: {told}")


def _reused(space: Space) -> frozenset[str]:
    """What agents share and no read names the index of: read once for a block of it."""
    local = allocated(space.stmt.body)
    read = [
        a
        for s in statements(space.stmt.body)
        if isinstance(s, Apply)
        for a in accesses(s.value)
        if a.buffer not in local
    ]
    named = {a.buffer for a in read if space.name in names_of_access(a)}
    return frozenset(a.buffer for a in read) - named


def _lanes(template: Template) -> Iterator[Change]:
    for space in (*forks(template), *loops(template)):
        if along_rows(space.stmt.body, space.name) and writes_by(space):
            made = blocked(template, space, last=True)
            if made is not None:
                yield Change(
                    made, f"cells of {space.name} side by side, a block of them in vectors"
                )


def writes_by(space: Space) -> bool:
    """Whether each cell of the name ends in a place of its own: a reduction over it does not."""
    local = allocated(space.stmt.body)
    outside = [
        s.destination
        for s in statements(space.stmt.body)
        if isinstance(s, Apply) and s.destination.buffer not in local
    ]
    return bool(outside) and all(any(space.name in free_names(i) for i in d.index) for d in outside)


def _strips(template: Template) -> Iterator[Change]:
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Par) or stmt.kind != "grid":
            continue
        for name, extent in zip(stmt.vars, stmt.extents, strict=True):
            if any(isinstance(s, For) and name in free_names(s.hi) for s in stmt.body):
                continue
            fresh = Fresh(template)
            size = fresh.var(f"J{name}", f"Strip_{name}")
            block, cell = fresh.var("jb", f"{name}b"), fresh.var("jr", f"{name}s")
            inside = least(size, minus(extent, times(block, size)))
            value = {name: plus(times(block, size), cell)}
            loop = For(cell.name, ZERO, inside, _substituted(stmt.body, value))
            space = Space(path, stmt, name, ZERO, extent)
            fork = _other_extent(space, block.name, ceil_div(extent, size), (loop,))
            realised = tuple(
                replace(r, index=tuple(substitute(i, value) for i in r.index))
                if r.buffer in allocated(stmt.body)
                else r
                for r in template.realised
            )
            made = replace(
                template, program=splice(template.program, path, (fork,)), realised=realised
            )
            yield Change(
                opened(made, size.name, STRIPS),
                f"an agent goes through a strip of {name}: fewer and larger agents, and what is "
                "near stays near",
            )


def _substituted(body: tuple[Stmt, ...], values: dict[str, Expr]) -> tuple[Stmt, ...]:
    return map_body(body, lambda e: substitute(e, values))


BLOCK_ROWS = Rule(
    "block-rows",
    "mapping",
    "An agent takes a block of a parallel index: registers for each of its rows.",
    _rows,
)
BLOCK_LANES = Rule(
    "block-lanes",
    "mapping",
    "A parallel index whose cells lie side by side is blocked into vectors.",
    _lanes,
)
STRIP = Rule(
    "strip",
    "mapping",
    "An agent takes a strip of a parallel index, one after another.",
    _strips,
)
