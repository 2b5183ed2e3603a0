"""Places in a program: paths, what stands around them, and edits at them."""

from collections.abc import Sequence
from dataclasses import dataclass

from formwright.ir.expr import Expr
from formwright.ir.program import Alloc, Buffer, For, Par, Stmt
from formwright.ir.walk import Block, Path, body_of, statements, with_body


def around(program: Block, path: Path) -> tuple[Stmt, ...]:
    """The statements whose blocks enclose the one at ``path``, outermost first."""
    found = list[Stmt]()
    block = program
    for at in path[:-1]:
        found.append(block[at])
        block = body_of(block[at])
    return tuple(found)


def at(program: Block, path: Path) -> Stmt:
    """The statement at ``path``."""
    stmt = program[path[0]]
    for step in path[1:]:
        stmt = body_of(stmt)[step]
    return stmt


def block_of(program: Block, path: Path) -> Block:
    """The block in which the statement at ``path`` stands."""
    return program if len(path) == 1 else body_of(at(program, path[:-1]))


def splice(program: Block, path: Path, new: Sequence[Stmt]) -> Block:
    """``program`` with ``new`` in the place of the statement at ``path``."""
    first, rest = path[0], path[1:]
    if not rest:
        return (*program[:first], *new, *program[first + 1 :])
    stmt = program[first]
    inner = with_body(stmt, splice(body_of(stmt), rest, new))
    return (*program[:first], inner, *program[first + 1 :])


@dataclass(frozen=True, slots=True)
class Binder:
    """What gives a name its values: ``lo <= name < hi``, by a loop or a fork."""

    name: str
    lo: Expr | None
    """None for agents, who start at 0."""
    hi: Expr
    path: Path


def binders(program: Block, path: Path) -> dict[str, Binder]:
    """The loops and forks around ``path``, by name, outermost first."""
    found = dict[str, Binder]()
    for depth, stmt in enumerate(around(program, path), 1):
        match stmt:
            case For(var, lo, hi, _):
                found[var] = Binder(var, lo, hi, path[:depth])
            case Par(_, names, extents, _):
                for name, extent in zip(names, extents, strict=True):
                    found[name] = Binder(name, None, extent, path[:depth])
            case _:
                pass
    return found


def buffers_at(program: Block, path: Path) -> dict[str, Buffer]:
    """The buffers in sight of the statement at ``path``."""
    found = dict[str, Buffer]()
    block = program
    for step in path:
        for stmt in block[:step]:
            if isinstance(stmt, Alloc):
                found.update((b.name, b) for b in stmt.buffers)
        block = body_of(block[step])
    return found


def allocated(block: Block) -> dict[str, Buffer]:
    """All buffers that ``block`` allocates, at any depth. Names may stand in two places."""
    return {b.name: b for s in statements(block) if isinstance(s, Alloc) for b in s.buffers}
