"""Runs of statements: a site with a value for every name on its way from the root."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from formwright.ir.expr import Expr
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.smt.atoms import Atoms
from formwright.smt.encode import number, truth
from formwright.smt.lazy import Reach
from formwright.smt.sites import Frame, Home, Site, names_in
from formwright.smt.terms import ZERO, Formula, Poly, conj, eq, le, lt, negated, symbol


@dataclass(frozen=True, slots=True)
class Instance:
    """``env`` gives each name on the path of ``site`` its value; a team's name is the owner."""

    site: Site
    env: Mapping[str, Poly]


@dataclass(frozen=True, slots=True)
class Cell:
    """What an access names: ``inside`` is whether it is within the shape."""

    index: tuple[Poly, ...]
    generation: Poly | None
    ring: Poly | None
    inside: Formula


@dataclass(frozen=True, slots=True)
class Held:
    """What was made of ``source``, which is held so that nothing else gets its identity."""

    source: object
    value: Any


def fresh(site: Site, tag: str, shared: Mapping[str, Poly], depth: int) -> Instance:
    """An arbitrary run of ``site``; the first ``depth`` steps take their values of ``shared``."""
    env: dict[str, Poly] = {}
    for level, frame in enumerate(site.frames):
        for name in frame.binds():
            env[name] = shared[name] if level < depth else symbol(f"{name}@{tag}")
    return Instance(site, env)


def guards(
    instance: Instance,
    atoms: Atoms,
    start: int = 0,
    stop: int | None = None,
    roles: bool = True,
) -> list[Formula]:
    """What makes the run happen: bounds of loops, forks and boxes, and conditions.

    Without ``roles``, guards that name the agent are left out.
    """
    left_out = () if roles else instance.site.roles
    found: list[Formula] = []
    for level, frame in enumerate(instance.site.frames[:stop]):
        if level >= start and level not in left_out:
            found.extend(_known_guards(frame, instance.env, atoms))
    return found


def _known_guards(frame: Frame, env: Mapping[str, Poly], atoms: Atoms) -> tuple[Formula, ...]:
    """The guards of a frame, made once for the values of the names that it reads and binds."""
    node, same = frame.node, _identity(frame.node)
    names = atoms.memo.get(("names", *same))
    if not isinstance(names, Held):
        names = Held(node, tuple(sorted(names_in(node) | set(frame.binds()))))
        atoms.memo["names", *same] = names
    key = ("guards", *same, tuple(env.get(n) for n in names.value))
    found = atoms.memo.get(key)
    if not isinstance(found, Held):
        found = Held(node, tuple(_frame_guards(frame, env, atoms)))
        atoms.memo[key] = found
    made: tuple[Formula, ...] = found.value
    return made


def _identity(node: Stmt) -> tuple[object, ...]:
    """The parts of a statement that its guards are made of: a slice has them all again."""
    match node:
        case For(var, lo, hi):
            return ("for", var, id(lo), id(hi))
        case Par(kind, names, extents):
            return (kind, names, *(id(e) for e in extents))
        case If(cond):
            return ("if", id(cond))
        case _:
            return ("leaf", id(node))


def _frame_guards(frame: Frame, env: Mapping[str, Poly], atoms: Atoms) -> list[Formula]:
    node = frame.node
    match node:
        case For(var, lo, hi):
            return [le(number(lo, env, atoms), env[var]), lt(env[var], number(hi, env, atoms))]
        case Par(_, names, extents):
            return _ranges(names, extents, env, atoms)
        case If(cond):
            return [truth(cond, env, atoms)]
        case Apply(box):
            return _ranges([b.name for b in box], [b.extent for b in box], env, atoms)
        case Alloc() | Barrier() | Commit() | Wait() | Arrive() | Await() | Hint():
            return []
        case _:
            assert_never(node)


def _ranges(
    names: Sequence[str], extents: Sequence[Expr], env: Mapping[str, Poly], atoms: Atoms
) -> list[Formula]:
    found: list[Formula] = []
    for name, extent in zip(names, extents, strict=True):
        found += [le(ZERO, env[name]), lt(env[name], number(extent, env, atoms))]
    return found


def cell(instance: Instance, access: Access, atoms: Atoms) -> Cell:
    """The cell that ``access`` means in this run."""
    home = instance.site.home(access)
    key = ("cell", id(access), id(home.buffer), home.depth, tuple(instance.env.items()))
    found = atoms.memo.get(key)
    if not isinstance(found, Held):
        found = Held((access, home), _cell(instance, access, home, atoms))
        atoms.memo[key] = found
    made = found.value
    assert isinstance(made, Cell)
    return made


def _cell(instance: Instance, access: Access, home: Home, atoms: Atoms) -> Cell:
    above = {n for f in instance.site.frames[: home.depth] for n in f.binds()}
    outer = {n: p for n, p in instance.env.items() if n in above}
    index = tuple(number(i, instance.env, atoms) for i in access.index)
    shape = [number(s, outer, atoms) for s in home.buffer.shape]
    inside = conj(
        part
        for place, size in zip(index, shape, strict=True)
        for part in (le(ZERO, place), lt(place, size))
    )
    ring = home.buffer.ring
    return Cell(
        index,
        None if access.generation is None else number(access.generation, instance.env, atoms),
        None if ring is None else number(ring, outer, atoms),
        inside,
    )


def same_index(left: Cell, right: Cell) -> Formula:
    return conj(eq(a, b) for a, b in zip(left.index, right.index, strict=True))


def same_generation(left: Cell, right: Cell) -> Formula:
    if left.generation is None or right.generation is None:
        return conj(())
    return eq(left.generation, right.generation)


def team_names(site: Site) -> frozenset[str]:
    """The names of the agents of the team that runs ``site``."""
    return frozenset() if site.team is None else frozenset(site.frames[site.team].binds())


def differ(left: Instance, right: Instance, start: int = 0) -> Formula:
    """Not one and the same run: who owns a point does not make it another."""
    if left.site is not right.site:
        return conj(())
    owners = team_names(left.site)
    names = [n for f in left.site.frames[start:] for n in f.binds() if n not in owners]
    return negated(conj(eq(left.env[n], right.env[n]) for n in names))


def present(instance: Instance, reach: Reach, what: Cell, atoms: Atoms) -> list[Formula]:
    """The run happens, makes the access, and it is not clipped away."""
    found = guards(instance, atoms)
    found += [truth(c, instance.env, atoms) for c in reach.when]
    return [*found, what.inside] if reach.access.clip else found
