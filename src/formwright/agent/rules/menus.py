"""Menus that rules open, and the walls that follow from what a program keeps in registers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import prod

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Compare, Expr, Num, Round, Var, num
from formwright.ir.program import Alloc, Apply, Buffer, For
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint, Decision, Parameter, Template
from formwright.ir.values import all_accesses, names_of_stmt
from formwright.ir.walk import Block, body_of, statements

ROWS = (1, 2, 3, 4, 5, 6, 7, 8)
"""Cells of an index that an agent works on at a time."""

FEW = (1, 2, 4)
"""Cells of a second index beside the rows of a first."""

LANES = (8, 16, 24, 32)
"""Cells of a row: whole vectors of every target that the emitter knows."""

LEAST_LANES, LEAST_REGISTERS, LEAST_ACCUMULATORS = 4, 16, 64
"""What a template asks of a chip at least, as the templates that ship do."""

_WALL, _FIELD = "V", "vector_registers"
"""Walls of this module bound that field and are called V1, V2, …; they are made anew after each
rule."""


def opened(template: Template, name: str, menu: tuple[int, ...]) -> Template:
    """``template`` with one more decision, behind the others."""
    return replace(template, decisions=(*template.decisions, Decision(name, menu)))


def used_decisions(template: Template) -> Template:
    """Decisions that program and definitions still read, and constraints over what is left."""
    read = set[str]()
    for stmt in template.program:
        read |= names_of_stmt(stmt)
    for definition in reversed(template.definitions):
        read |= free_names(definition.value)
    kept = tuple(d for d in template.decisions if d.name in read)
    gone = {d.name for d in template.decisions} - {d.name for d in kept}
    return replace(
        template,
        decisions=kept,
        constraints=tuple(c for c in template.constraints if not free_names(c.condition) & gone),
        requires=tuple(r for r in template.requires if not free_names(r.condition) & gone),
    )


def with_walls(template: Template) -> Template | None:
    """Walls for register tiles that live together in an innermost loop, made from the program.

    A tile of ``R x L`` cells takes ``R*ceil(L/chip.vector_lanes)`` vector registers, and one more
    holds an operand. None where even the least values of the menus do not fit the least chip.
    """
    kept = tuple(c for c in template.constraints if not _made_here(c))
    scope = template.scope
    chip = {p.name for p in scope.chip}
    decided = {d.name: Fraction(min(d.menu)) for d in template.decisions}
    counts = [
        _with_operand(v) for v in _largest(_together(template.program, {}), frozenset(decided))
    ]
    taken = {c.name for c in kept}
    names = (name for n in count(1) if (name := f"{_WALL}{n}") not in taken)
    walls = list[Constraint]()
    least = {
        **decided,
        "chip.vector_lanes": Fraction(LEAST_LANES),
        "chip.vector_registers": Fraction(LEAST_REGISTERS),
    }
    for needed in counts:
        condition = Compare("<=", needed, Var(f"chip.{_FIELD}"))
        if not _holds(condition, least):
            return None
        walls.append(Constraint(next(names), condition, _FIELD))
    asked = [("chip.vector_lanes", LEAST_LANES), ("chip.vector_registers", LEAST_REGISTERS)]
    added = tuple(
        Parameter(name, Compare(">=", Var(name), num(value)))
        for name, value in asked
        if walls and name not in chip
    )
    return replace(
        template,
        constraints=(*kept, *walls),
        scope=replace(scope, chip=(*scope.chip, *added)),
    )


def _made_here(constraint: Constraint) -> bool:
    numbered = constraint.name[:1] == _WALL and constraint.name[1:].isdigit()
    return numbered and constraint.wall == _FIELD


def _holds(condition: Expr, values: Mapping[str, Fraction]) -> bool:
    try:
        return bool(evaluate(condition, values))
    except EvaluationError:
        return True  # extents are in it: not for the menus alone to say


def _scalar(buffer: Buffer) -> bool:
    return all(isinstance(s, Num) and s.value == 1 for s in buffer.shape)


def _vectors(buffer: Buffer) -> Expr:
    """Vector registers of a tile: its rows by the vectors of its last index."""
    rows = [s for s in buffer.shape[:-1] if not (isinstance(s, Num) and s.value == 1)]
    tile: Expr = Round("ceil", Arith("/", buffer.shape[-1], Var("chip.vector_lanes")))
    for row in reversed(rows):
        tile = Arith("*", row, tile)
    return tile


def _largest(
    loops: Iterator[tuple[Buffer, ...]], decided: frozenset[str]
) -> list[tuple[Expr, ...]]:
    """Vectors of each loop's tiles, if a decision is in them; those within others left out."""
    found = list[tuple[Expr, ...]]()
    for tiles in loops:
        vectors = tuple(_vectors(b) for b in tiles if not _scalar(b))
        if any(free_names(v) & decided for v in vectors) and vectors not in found:
            found.append(vectors)
    counts = [Counter(v) for v in found]
    return [v for v, c in zip(found, counts, strict=True) if not any(c < o for o in counts)]


def _with_operand(tiles: tuple[Expr, ...]) -> Expr:
    """The registers of some tiles and one for an operand."""
    total = tiles[0]
    for part in tiles[1:]:
        total = Arith("+", total, part)
    return Arith("+", total, num(1))


def _together(block: Block, known: Mapping[str, Buffer]) -> Iterator[tuple[Buffer, ...]]:
    """The register tiles that the applies of each innermost loop read or write.

    Tiles that a team shares out (``dist``) are not in the registers of one agent.
    """
    known = dict(known)
    for stmt in block:
        if isinstance(stmt, Alloc):
            known.update((b.name, b) for b in stmt.buffers)
        inner = body_of(stmt)
        if isinstance(stmt, For) and not any(isinstance(s, For) for s in statements(inner)):
            yield from _tiles(inner, known)
        yield from _together(inner, known)


def _tiles(block: Block, known: Mapping[str, Buffer]) -> Iterator[tuple[Buffer, ...]]:
    local = dict(known)
    found = dict[str, Buffer]()
    for stmt in statements(block):
        if isinstance(stmt, Alloc):
            local.update((b.name, b) for b in stmt.buffers)
        if isinstance(stmt, Apply):
            for access in all_accesses(stmt):
                buffer = local.get(access.buffer)
                if buffer is not None and buffer.home == "register" and not buffer.dist:
                    found[access.buffer] = buffer
    if found:
        yield tuple(found.values())


def menu_points(template: Template) -> int:
    """How many assignments the menus span."""
    return prod(len(d.menu) for d in template.decisions)
