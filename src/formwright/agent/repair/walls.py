"""Capacities that the program's own storage implies, put back among the constraints."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from formwright.agent.repair.edits import Edit
from formwright.agent.repair.places import places
from formwright.ir.expr import Arith, Compare, Expr, Var, num
from formwright.ir.program import Buffer
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint, Template
from formwright.ir.types import BYTES

FIELDS = {"shared": ("shared_bytes", True), "register": ("accumulators", False)}
"""The chip field that bounds a home, and whether it counts bytes or elements."""


def wall_edits(template: Template) -> Iterator[Edit]:
    """For each home: what lives together there is at most the chip's field.

    In the place of a constraint that says something else about the same field, or beside it.
    """
    known = {p.name for p in template.scope.chip}
    for home, (field, in_bytes) in FIELDS.items():
        if f"chip.{field}" not in known:
            continue
        for size in _sizes(template, home, in_bytes):
            condition = Compare("<=", size, Var(f"chip.{field}"))
            if any(c.condition == condition for c in template.constraints):
                continue
            for at, constraint in enumerate(template.constraints):
                if constraint.wall == field or f"chip.{field}" in free_names(constraint.condition):
                    rows = list(template.constraints)
                    rows[at] = replace(constraint, condition=condition, wall=field)
                    lines = (constraint.span.line,) if constraint.span else ()
                    yield Edit(partial(replace, template, constraints=tuple(rows)), "walls", lines)
            new = Constraint(new_name(template, "W"), condition, field)
            rows = [*template.constraints, new]
            yield Edit(partial(replace, template, constraints=tuple(rows)), "walls")


def _sizes(template: Template, home: str, in_bytes: bool) -> Iterator[Expr]:
    """What is alive in a home at the end of each block, where no loop's name is part of it."""
    found: dict[Expr, None] = {}
    for place in places(template):
        alive = [b for b in place.buffers.values() if b.home == home]
        if alive:
            size = footprint(alive, in_bytes)
            if not free_names(size) & place.loops.keys():
                found[size] = None
    yield from found


def footprint(buffers: Sequence[Buffer], in_bytes: bool) -> Expr:
    """Bytes (or elements) of all ``buffers`` together, with all slots of their rings."""
    total: Expr | None = None
    for buffer in buffers:
        rings = [] if buffer.ring is None else [buffer.ring]
        factors: list[Expr] = [*rings, *buffer.shape]
        size = factors[0]
        for factor in factors[1:]:
            size = Arith("*", size, factor)
        if in_bytes:
            size = Arith("*", num(BYTES[buffer.dtype]), size)
        total = size if total is None else Arith("+", total, size)
    return num(0) if total is None else total


def new_name(template: Template, letter: str) -> str:
    """A name that no constraint and no requirement has."""
    taken = {c.name for c in template.constraints} | {r.name for r in template.requires}
    return next(f"{letter}{n}" for n in range(1, 10_000) if f"{letter}{n}" not in taken)
