"""What the expressions of a program are about: divisions, counts of slots, ``mod``."""

from collections.abc import Iterator

from formwright.ir.expr import (
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
)
from formwright.ir.program import Alloc, Apply, Await, For, If, Par, Stmt, Wait
from formwright.ir.rewrite import accesses, free_names, map_body

Names = frozenset[str]


def parts(expr: Expr) -> Iterator[Expr]:
    """``expr`` and everything in it."""
    pending: list[Expr] = [expr]
    while pending:
        current = pending.pop()
        yield current
        match current:
            case Num() | Truth() | Var():
                pass
            case Arith(_, a, b) | Compare(_, a, b) | Logic(_, a, b):
                pending += (a, b)
            case Neg(a) | Round(_, a) | Not(a):
                pending.append(a)
            case MinMax(_, args) | Cell(_, args):
                pending += args
            case Cond(a, b, c) | Sum(_, a, b, c):
                pending += (a, b, c)


def has_mod(expr: Expr) -> bool:
    return any(isinstance(p, Arith) and p.op == "mod" for p in parts(expr))


def divisions(program: tuple[Stmt, ...]) -> Iterator[tuple[Names, Names]]:
    """The names above and below the line of each division of the program."""
    found: list[tuple[Names, Names]] = []

    def note(expr: Expr) -> Expr:
        for part in parts(expr):
            if isinstance(part, Arith) and part.op in ("/", "//"):
                found.append((free_names(part.left), free_names(part.right)))
        return expr

    map_body(program, note)
    yield from found


def schedule_names(program: tuple[Stmt, ...]) -> Names:
    """Names in rings, generations and counts: they say when, not how large.

    A loop variable or a size that bounds a generation is not among them.
    """
    found: set[str] = set()

    def walk(body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, Alloc):
                for buffer in stmt.buffers:
                    found.update(frozenset() if buffer.ring is None else free_names(buffer.ring))
            elif isinstance(stmt, Apply):
                for access in (stmt.destination, *accesses(stmt.value)):
                    if access.generation is not None:
                        found.update(free_names(access.generation))
            elif isinstance(stmt, Wait):
                found.update(free_names(stmt.pending))
            elif isinstance(stmt, Await):
                found.update(free_names(stmt.count))
                for expr in (stmt.index, stmt.phase):
                    found.update(frozenset() if expr is None else free_names(expr))
            elif isinstance(stmt, For | Par | If):
                walk(stmt.body)

    walk(program)
    return frozenset(found)


def has_asynchronous(body: tuple[Stmt, ...]) -> bool:
    """Some apply of the program is asynchronous."""
    for stmt in body:
        if isinstance(stmt, Apply) and stmt.asynchronous:
            return True
        if isinstance(stmt, For | Par | If) and has_asynchronous(stmt.body):
            return True
    return False
