"""A program as a tree of loops around single scalar assignments, with its sizes put in.

Grids, boxes of an ``Apply`` and ``for`` are loops alike: the textual order of the program rules.
The body of a team stands once, since its agents share the points.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from formwright.ir.expr import ONE, ZERO, Expr, Num, Scalar
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.interval import Interval
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.rewrite import (
    accesses,
    map_access,
    map_buffer,
    map_value,
)
from formwright.ir.template import Template


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """``lo <= var < hi`` around ``body``; ``born``: the buffers that each iteration allocates."""

    var: str
    lo: Expr
    hi: Expr
    body: tuple["Node", ...]
    born: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    cond: Expr
    body: tuple["Node", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One assignment. ``assigns``: ``=``; otherwise the destination is read too (rule P3)."""

    reads: tuple[Access, ...]
    write: Access
    assigns: bool
    operations: Mapping[str, int]


Node = Loop | Guard | Point


@dataclass(frozen=True, slots=True)
class Nest:
    """``root`` is a loop of one iteration; ``fixed`` are ranges of names that no loop binds."""

    root: Loop
    buffers: Mapping[str, Buffer]
    fixed: Mapping[str, Interval]


def nest_of(
    template: Template, parameters: Mapping[str, Scalar], assignment: Mapping[str, int]
) -> Nest:
    """The tree of ``template`` at one design and one workload; every size in it is a number."""
    whole = inlined(template)
    building = _Building({**parameters, **assignment})
    names = {b.name: building.add(b) for b in whole.globals}
    body, born = building.block(whole.program, names)
    root = Loop("", ZERO, ONE, body, born)
    return Nest(root, building.buffers, building.agents)


class _Building:
    """Gives each allocation a name of its own; sizes are folded as they are met."""

    def __init__(self, known: Mapping[str, Scalar]) -> None:
        self.known = known
        self.buffers: dict[str, Buffer] = {}
        self.agents: dict[str, Interval] = {}

    def fold(self, expr: Expr) -> Expr:
        return folded(expr, self.known)

    def add(self, buffer: Buffer) -> str:
        key, number = buffer.name, 2
        while key in self.buffers:
            key, number = f"{buffer.name} ({number})", number + 1
        self.buffers[key] = map_buffer(buffer, self.fold)
        return key

    def block(
        self, body: tuple[Stmt, ...], names: Mapping[str, str]
    ) -> tuple[tuple[Node, ...], frozenset[str]]:
        """The nodes of a block, and the buffers that it allocates itself."""
        here = dict(names)
        found: list[Node] = []
        born: set[str] = set()
        for stmt in body:
            match stmt:
                case Alloc(buffers):
                    fresh = {b.name: self.add(b) for b in buffers}
                    here |= fresh
                    born |= set(fresh.values())
                case For(var, lo, hi, inner):
                    found.append(self.loop(var, self.fold(lo), self.fold(hi), inner, here))
                case Par("team", variables, extents, inner):
                    for name, extent in zip(variables, extents, strict=True):
                        self.agents[name] = _agents(self.fold(extent))
                    nodes, own = self.block(inner, here)
                    found.append(Loop("", ZERO, ONE, nodes, own))
                case Par(_, variables, extents, inner):
                    found.append(self.grid(variables, extents, inner, here))
                case If(cond, inner):
                    nodes, own = self.block(inner, here)
                    born |= own
                    found.append(Guard(self.fold(cond), nodes))
                case Apply():
                    found.append(self.apply(stmt, here))
                case Barrier() | Commit() | Wait() | Arrive() | Await() | Hint():
                    pass
                case _:
                    assert_never(stmt)
        return tuple(found), frozenset(born)

    def loop(
        self, var: str, lo: Expr, hi: Expr, body: tuple[Stmt, ...], names: Mapping[str, str]
    ) -> Loop:
        nodes, born = self.block(body, names)
        return Loop(var, lo, hi, nodes, born)

    def grid(
        self,
        variables: tuple[str, ...],
        extents: tuple[Expr, ...],
        body: tuple[Stmt, ...],
        names: Mapping[str, str],
    ) -> Loop:
        nodes, born = self.block(body, names)
        made = Loop(variables[-1], ZERO, self.fold(extents[-1]), nodes, born)
        for var, extent in zip(variables[-2::-1], extents[-2::-1], strict=True):
            made = Loop(var, ZERO, self.fold(extent), (made,))
        return made

    def apply(self, stmt: Apply, names: Mapping[str, str]) -> Node:
        value = map_value(stmt.value, self.fold)
        reads = tuple(self.access(a, names) for a in accesses(value))
        write = self.access(map_access(stmt.destination, self.fold), names)
        counts = Counter(operations(value))
        if stmt.op != "=":
            reads = (*reads, write)
            counts["+" if stmt.op == "+=" else "max"] += 1
        node: Node = Point(reads, write, stmt.op == "=", counts)
        for var in reversed(stmt.box):
            node = Loop(var.name, ZERO, self.fold(var.extent), (node,))
        return node

    def access(self, access: Access, names: Mapping[str, str]) -> Access:
        key = names[access.buffer]
        return Access(key, access.index, access.generation, access.clip, access.span)


def operations(value: Value) -> Iterator[str]:
    """The operations of one value by name; of a choice, those of the side with more."""
    match value:
        case Literal() | Read() | Index():
            return
        case Op(name, args):
            yield name
            for arg in args:
                yield from operations(arg)
        case Select(_, then, other):
            sides = [list(operations(then)), list(operations(other))]
            yield from max(sides, key=len)
        case _:
            assert_never(value)


def _agents(extent: Expr) -> Interval:
    return Interval(0, extent.value - 1) if isinstance(extent, Num) else Interval(0)
