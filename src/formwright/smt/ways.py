"""Every expression of a template with the way to it: loops, forks, guards, selects."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from formwright.ir.expr import ZERO, Arith, Compare, Expr, Var
from formwright.ir.program import (
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
from formwright.ir.template import Template
from formwright.smt.lazy import Divisor, Way, divisors, expressions_in, expressions_of

Names = tuple[str, ...]


def section_divisors(template: Template, section: str) -> Iterator[Divisor]:
    """The divisors of ``scope``, ``constraints``, ``requires``, ``program`` or ``cost``."""
    match section:
        case "scope":
            roots = scope_conditions(template)
        case "constraints":
            roots = [c.condition for c in template.constraints]
        case "requires":
            roots = [r.condition for r in template.requires]
        case "program":
            yield from program_divisors(template.program, (), ())
            return
        case "cost" if template.cost is not None:
            roots = []
            for bound in template.cost.bounds:
                roots += [bound.value, *([] if bound.guard is None else [bound.guard])]
            roots += template.cost.prefer
            roots += [] if template.cost.energy is None else [template.cost.energy]
        case _:
            return
    for root in roots:
        yield from divisors(root)


def scope_conditions(template: Template) -> list[Expr]:
    """What the scope says of its names, relations last."""
    scope = template.scope
    stated = [p.condition for p in scope.parameters]
    return [*(c for c in stated if c is not None), *scope.relations]


def program_divisors(block: Sequence[Stmt], way: Way, bound: Names) -> Iterator[Divisor]:
    """The divisors of a program, hints included: what a hint names is computed."""
    for stmt in block:
        for more, expr in _own(stmt):
            yield from divisors(expr, (*way, *more), (*bound, *_binds(stmt)))
        match stmt:
            case For(_, _, _, body) | Par(_, _, _, body) | If(_, body):
                inner = (*way, *step(stmt))
                yield from program_divisors(body, inner, (*bound, *_binds(stmt)))
            case _:
                pass


def _own(stmt: Stmt) -> Iterator[tuple[Way, Expr]]:
    """The expressions of a statement itself, each with what holds beyond the way to it."""
    match stmt:
        case Alloc(buffers):
            for buffer in buffers:
                for size in buffer.shape:
                    yield (), size
                if buffer.ring is not None:
                    yield (), Arith("mod", ZERO, buffer.ring, buffer.span)
        case For(_, lo, hi):
            yield (), lo
            yield (), hi
        case Par(_, _, extents):
            for extent in extents:
                yield (), extent
        case If(cond):
            yield (), cond
        case Apply(box, destination, _, value):
            for axis in box:
                yield (), axis.extent
            inside = step(stmt)
            for expr in expressions_in(destination):
                yield inside, expr
            yield from expressions_of(value, inside)
        case Wait(pending):
            yield (), pending
        case Arrive(_, place):
            if place is not None:
                yield (), place
        case Await(_, count, place, phase):
            yield (), count
            if place is not None:
                yield (), place
            if phase is not None:
                yield (), Arith("mod", ZERO, phase, stmt.span)
        case Hint(_, factor, access):
            yield (), factor
            if access is not None:
                for expr in expressions_in(access):
                    yield (), expr
        case Barrier() | Commit():
            return
        case _:
            assert_never(stmt)


def _binds(stmt: Stmt) -> Names:
    match stmt:
        case For(var):
            return (var,)
        case Par(_, names):
            return names
        case Apply(box):
            return tuple(axis.name for axis in box)
        case _:
            return ()


def step(stmt: Stmt) -> Way:
    """What holds inside a statement: ranges of what it binds, its guard."""
    match stmt:
        case For(var, lo, hi):
            return (Compare("<=", lo, Var(var)), Compare("<", Var(var), hi))
        case Par(_, names, extents):
            return tuple(c for n, e in zip(names, extents, strict=True) for c in _range(n, e))
        case If(cond):
            return (cond,)
        case Apply(box):
            return tuple(c for axis in box for c in _range(axis.name, axis.extent))
        case _:
            return ()


def _range(name: str, extent: Expr) -> Way:
    return (Compare("<=", ZERO, Var(name)), Compare("<", Var(name), extent))
