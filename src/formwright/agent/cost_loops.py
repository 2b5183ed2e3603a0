"""A program as applies with the loops around them, each loop with the number of its iterations.

Counts are expressions over extents and decisions alone. Where a bound names another loop it is
taken as it is on average (``t + 1`` keys of ``T``); a tail, ``min(L, D - p*L)``, as it is in the
first iteration, which is the full block.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from formwright.agent.cost_terms import add, at_least_one, minus, mul, quotient, tidy
from formwright.agent.rules.values import is_number
from formwright.ir.expr import (
    ONE,
    ZERO,
    Arith,
    Cell,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
    num,
)
from formwright.ir.program import Alloc, Apply, Buffer, For, Hint, If, Par, Stmt
from formwright.ir.rewrite import accesses, free_names, map_children, substitute


@dataclass(frozen=True, slots=True)
class Loop:
    """``kind``: a grid's index, a ``for``, or a name of the apply's box (the innermost)."""

    name: str
    count: Expr
    kind: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """An apply: ``loops`` around it, outermost first, its box, and how often it is reached.

    ``share``: of the iterations, those that reach it (guards). ``block``: which block of statements
    it stands in, and ``place`` where.
    """

    apply: Apply
    loops: tuple[Loop, ...]
    box: tuple[Loop, ...]
    share: Expr
    block: int
    place: int


@dataclass(slots=True)
class Grid:
    """A phase: the agents of a ``par``, or one agent for statements outside of any."""

    loops: tuple[Loop, ...]
    leaves: list[Leaf] = field(default_factory=list)
    overhead: list[Expr] = field(default_factory=list)
    """Iterations of ``for`` loops, of all agents."""


@dataclass(slots=True)
class Walk:
    """What a program does. ``depths``: how many loops stand around each allocation."""

    grids: list[Grid] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, Buffer] = field(default_factory=dict)
    ranges: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)
    blocks: int = 0


def walked(program: tuple[Stmt, ...], tensors: tuple[Buffer, ...] = ()) -> Walk:
    """Every apply of ``program``, by phases. ``tensors`` have the shapes that clips end at."""
    walk = Walk(tensors={t.name: t for t in tensors})
    _block(walk, program, None, (), ONE)
    return walk


def _block(
    walk: Walk, body: tuple[Stmt, ...], grid: Grid | None, loops: tuple[Loop, ...], share: Expr
) -> None:
    walk.blocks += 1
    number = walk.blocks
    for place, stmt in enumerate(body):
        match stmt:
            case Alloc(buffers):
                for buffer in buffers:
                    walk.buffers[buffer.name] = buffer
                    walk.depths[buffer.name] = len(loops)
            case For(var, lo, hi, inner):
                count = tidy(_typical(minus(hi, lo), walk.ranges))
                walk.ranges[var] = (lo, hi)
                around = (*loops, Loop(var, count, "for"))
                home = grid or _alone(walk)
                home.overhead.append(mul([*(a.count for a in around), share]))
                _block(walk, inner, home, around, share)
            case Par(kind, names, extents, inner):
                new = []
                for name, extent in zip(names, extents, strict=True):
                    walk.ranges[name] = (ZERO, extent)
                    counted = tidy(_typical(extent, walk.ranges))
                    if kind == "grid":
                        new.append(Loop(name, counted, "grid" if grid is None else "for"))
                if grid is None and kind == "grid":
                    home = Grid(tuple(new))
                    walk.grids.append(home)
                else:
                    home = grid or _alone(walk)
                _block(walk, inner, home, (*loops, *new), share)
            case If(cond, inner):
                part = _part(cond, walk, loops)
                _block(walk, inner, grid, loops, mul([share, part]))
            case Apply(box):
                cells = []
                for b in box:
                    walk.ranges[b.name] = (ZERO, b.extent)
                    count = tidy(_typical(b.extent, walk.ranges))
                    cells.append(Loop(b.name, _clipped(count, b.name, stmt, walk), "box"))
                home = grid or _alone(walk)
                home.leaves.append(Leaf(stmt, loops, tuple(cells), share, number, place))
            case Hint():
                continue
            case _:
                continue


def _clipped(count: Expr, name: str, apply: Apply, walk: Walk) -> Expr:
    """``count``, or what a dimension has where ``name`` runs through it with a clip."""
    for access in (apply.destination, *accesses(apply.value)):
        tensor = walk.tensors.get(access.buffer)
        if tensor is not None and access.clip:
            for index, extent in zip(access.index, tensor.shape, strict=True):
                # A tail has its bound already.
                if name in free_names(index) and not isinstance(count, MinMax):
                    count = MinMax("min", (count, extent))
    return count


def _alone(walk: Walk) -> Grid:
    """The phase of statements outside of any grid."""
    if not walk.grids or walk.grids[-1].loops:
        walk.grids.append(Grid(()))
    return walk.grids[-1]


def _part(cond: Expr, walk: Walk, loops: tuple[Loop, ...]) -> Expr:
    """The share of iterations in which ``cond`` holds, as far as its form tells."""
    names = free_names(cond)
    if not names & walk.ranges.keys():
        return Cond(cond, ONE, ZERO)
    counts = {loop.name: loop.count for loop in loops}
    match cond:
        case Compare("=", Var(name), _) if name in counts:
            return quotient(ONE, at_least_one(counts[name]))
        case _:
            return ONE


def _typical(expr: Expr, ranges: Mapping[str, tuple[Expr, Expr]]) -> Expr:
    """``expr`` without the names of loops: on average, of a tail the full block."""
    return _mean(expr, ranges, 0)


_DEEPEST = 8
"""Bounds that lean on bounds; beyond this a name counts as its lower end."""


def _mean(expr: Expr, ranges: Mapping[str, tuple[Expr, Expr]], depth: int) -> Expr:
    if not free_names(expr) & ranges.keys():
        return expr
    match expr:
        case Var(name):
            lo, hi = ranges[name]
            if depth > _DEEPEST:
                return ZERO
            ends = add([_mean(lo, ranges, depth + 1), _mean(minus(hi, num(1)), ranges, depth + 1)])
            return tidy(quotient(ends, num(2)))
        case MinMax("min", args):
            return MinMax("min", tuple(_least_arg(a, ranges, depth) for a in args))
        case Arith("//" | "mod"):
            return _first(expr, ranges)
        case Cond(cond, then, other):
            return Cond(
                _first(cond, ranges), _mean(then, ranges, depth), _mean(other, ranges, depth)
            )
        case Arith() | Neg() | MinMax() | Round():
            return map_children(expr, lambda e: _mean(e, ranges, depth))
        case Num() | Truth() | Cell() | Compare() | Logic() | Not() | Sum():
            return _first(expr, ranges)
        case _:
            assert_never(expr)


def _least_arg(arg: Expr, ranges: Mapping[str, tuple[Expr, Expr]], depth: int) -> Expr:
    if any(_falls(arg, name) for name in free_names(arg) & ranges.keys()):
        return _first(arg, ranges)
    return _mean(arg, ranges, depth)


def _falls(expr: Expr, name: str) -> bool:
    """Does ``expr`` become less as ``name`` grows? By its form: something less a product."""
    match expr:
        case Arith("-", left, right):
            return name in free_names(right) or _falls(left, name)
        case Arith("+", left, right):
            return _falls(left, name) or _falls(right, name)
        case _:
            return False


def _first(expr: Expr, ranges: Mapping[str, tuple[Expr, Expr]]) -> Expr:
    """``expr`` in the first iteration of all loops that it names."""
    for _ in range(_DEEPEST):
        names = free_names(expr) & ranges.keys()
        if not names:
            break
        expr = substitute(expr, {n: ranges[n][0] for n in names})
    return tidy(substitute(expr, dict.fromkeys(free_names(expr) & ranges.keys(), ZERO)))


def times_reached(leaf: Leaf) -> Expr:
    """How often the apply is met, by all agents together."""
    return mul([*(loop.count for loop in leaf.loops), leaf.share])


def is_single(loop: Loop) -> bool:
    return is_number(loop.count, 1)
