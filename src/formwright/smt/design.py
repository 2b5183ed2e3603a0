"""Conditions on designs: K1, and the derived requirements ``fits`` and ``divisor``."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from formwright.ir.expr import (
    Arith,
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
from formwright.ir.program import Alloc, Apply, Buffer, For, If, Par, Stmt, Wait
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.show import show_expr
from formwright.ir.template import Requirement, Template
from formwright.smt.atoms import Atoms
from formwright.smt.encode import UnderivableError, truth
from formwright.smt.goals import Goal, Query
from formwright.smt.sites import Sites
from formwright.smt.terms import negated

FIELDS = {"shared": ("chip.shared_bytes", True), "register": ("chip.accumulators", False)}
"""The chip field that bounds a home, and whether it counts bytes or elements."""

BYTES = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2, "i32": 4, "i8": 1}


def implied_goals(template: Template, atoms: Atoms) -> Iterator[Goal]:
    """K1: each requirement follows from scope, menus and constraints."""
    for requirement in template.requires:

        def build(requirement: Requirement = requirement) -> Sequence[Query]:
            return [Query((), negated(truth(requirement.condition, {}, atoms)))]

        claim = f"the constraints allow a design without: {show_expr(requirement.condition)}"
        name = f"implied {requirement.name}"
        states = requirement.condition
        yield Goal(name, "K1", "implied", build, claim, 1, requirement.span, states)


def fits_goals(template: Template, sites: Sites, atoms: Atoms) -> Iterator[Goal]:
    """What lives together in one home is no larger than the chip's field.

    ``shared`` is always bounded: a program that allocates there needs the field in its scope.
    ``register`` is bounded where the scope names ``accumulators``; ``scratch`` is not.
    """
    known = {p.name for p in template.scope.chip}
    for home, (name, in_bytes) in FIELDS.items():
        sets = dict.fromkeys(tuple(b for b in s if b.home == home) for s in sites.storage)
        largest = [s for s in sets if s and not any(set(s) < set(o) for o in sets)]
        for buffers in largest:
            if name not in known and home != "shared":
                continue

            states = Compare("<=", footprint(buffers, in_bytes), Var(name))

            def build(name: str = name, states: Expr = states) -> Sequence[Query]:
                if name not in known:
                    raise UnderivableError(f"{name} is not in the scope: no room is promised")
                return [Query((), negated(truth(states, {}, atoms)))]

            shown = ", ".join(b.name for b in buffers)
            claim = f"{shown} together are larger than {name}"
            span = buffers[0].span
            title = f"fits {home} {shown}"
            yield Goal(title, "derived", "fits", build, claim, 1, span, states)


def footprint(buffers: Sequence[Buffer], in_bytes: bool) -> Expr:
    """The bytes (or elements) of ``buffers`` together, all slots of a ring counted."""
    total: Expr | None = None
    for buffer in buffers:
        size: Expr = num(BYTES[buffer.dtype] if in_bytes else 1)
        for extent in (*([buffer.ring] if buffer.ring is not None else []), *buffer.shape):
            size = Arith("*", size, extent)
        total = size if total is None else Arith("+", total, size)
    return total or num(0)


def divisor_goals(template: Template, atoms: Atoms, section: str) -> Iterator[Goal]:
    """Each divisor of a section is at least 1 (positive for an exact division)."""
    found: dict[Expr, set[bool]] = {}
    for root in section_expressions(template, section):
        for expr, exact in divisors(root):
            found.setdefault(expr, set()).add(exact)
    scope = template.scope
    known = {p.name for p in (*scope.extents, *scope.agents, *scope.chip)}
    known |= {d.name for d in template.decisions}
    for expr, kinds in found.items():
        exact_only = kinds == {True}
        states = Compare(">", expr, num(0)) if exact_only else Compare(">=", expr, num(1))

        def build(expr: Expr = expr, states: Expr = states) -> Sequence[Query]:
            local = free_names(expr) - known
            if local:
                raise UnderivableError(f"a divisor that varies with {min(local)}", expr.span)
            return [Query((), negated(truth(states, {}, atoms)))]

        shown = show_expr(expr)
        claim = f"the divisor {shown} is below 1"
        name = f"divisor {shown} in {section}"
        yield Goal(name, "derived", "divisor", build, claim, 0, expr.span, states)


def section_expressions(template: Template, section: str) -> Iterator[Expr]:
    """The expressions of ``constraints``, ``requires``, ``program`` or ``cost``."""
    match section:
        case "constraints":
            yield from (c.condition for c in template.constraints)
        case "requires":
            yield from (r.condition for r in template.requires)
        case "program":
            yield from program_expressions(template.program)
        case "cost" if template.cost is not None:
            for bound in template.cost.bounds:
                yield bound.value
                if bound.guard is not None:
                    yield bound.guard
            yield from template.cost.prefer
        case _:
            return


def program_expressions(block: Sequence[Stmt]) -> Iterator[Expr]:
    """Every expression of a program."""
    for stmt in block:
        match stmt:
            case Alloc(buffers):
                for b in buffers:
                    yield from b.shape
                    if b.ring is not None:
                        yield Arith("mod", num(0), b.ring, b.span)
            case For(_, lo, hi, body):
                yield from (lo, hi)
                yield from program_expressions(body)
            case Par(_, _, extents, body):
                yield from extents
                yield from program_expressions(body)
            case If(cond, body):
                yield cond
                yield from program_expressions(body)
            case Apply(box, destination, _, value):
                yield from (b.extent for b in box)
                for access in (destination, *accesses(value)):
                    yield from access.index
                    if access.generation is not None:
                        yield access.generation
            case Wait(pending):
                yield pending
            case _:
                pass


def divisors(expr: Expr) -> Iterator[tuple[Expr, bool]]:
    """Divisors inside ``expr`` that are not plain positive numbers."""
    match expr:
        case Num() | Truth() | Var():
            return
        case Arith(op, a, b):
            if op in ("/", "//", "mod") and not (isinstance(b, Num) and b.value >= 1):
                yield b, op == "/"
            yield from divisors(a)
            yield from divisors(b)
        case Compare(_, a, b) | Logic(_, a, b):
            yield from divisors(a)
            yield from divisors(b)
        case Neg(a) | Round(_, a) | Not(a):
            yield from divisors(a)
        case MinMax(_, args):
            for arg in args:
                yield from divisors(arg)
        case Cond(c, a, b):
            for arg in (c, a, b):
                yield from divisors(arg)
        case Sum(_, lo, hi, body):
            for arg in (lo, hi, body):
                yield from divisors(arg)
        case _:
            assert_never(expr)
