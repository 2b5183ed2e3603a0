"""Definitions put in their places: the form that every reader takes."""

from dataclasses import replace

from formwright.base.memo import by_identity
from formwright.ir.expr import Expr
from formwright.ir.inline_steps import inlined_step
from formwright.ir.program import Stmt
from formwright.ir.rewrite import map_body, map_buffer, substitute
from formwright.ir.structures import Structure, map_expressions
from formwright.ir.template import Cost, CostBound, Definition, Template


@by_identity
def inlined(template: Template) -> Template:
    """``template`` with no definitions left, in the program, the conditions and the cost.

    Definitions may use earlier ones only (the resolver sees to it).
    """
    values = _closed(template.definitions, {})

    def f(expr: Expr) -> Expr:
        return substitute(expr, values)

    program: tuple[Stmt, ...] = map_body(template.program, f)
    return replace(
        template,
        definitions=(),
        constraints=tuple(replace(c, condition=f(c.condition)) for c in template.constraints),
        requires=tuple(replace(r, condition=f(r.condition)) for r in template.requires),
        program=program,
        globals=tuple(map_buffer(b, f) for b in template.globals),
        realised=tuple(replace(r, index=tuple(f(i) for i in r.index)) for r in template.realised),
        cost=None if template.cost is None else _cost(template.cost, values),
        refinement=None
        if template.refinement is None
        else inlined_step(template.refinement, values),
        structures=tuple(_structure(s, template, values) for s in template.structures),
    )


def _structure(structure: Structure, template: Template, outer: dict[str, Expr]) -> Structure:
    """With the definitions of the cost in their places too."""
    values = outer if template.cost is None else _closed(template.cost.definitions, outer)

    def f(expr: Expr) -> Expr:
        return substitute(expr, values)

    when = None if structure.when is None else f(structure.when)
    return replace(map_expressions(structure, f), when=when)


def _closed(definitions: tuple[Definition, ...], outer: dict[str, Expr]) -> dict[str, Expr]:
    values = dict(outer)
    for definition in definitions:
        values[definition.name] = substitute(definition.value, values)
    return values


def _cost(cost: Cost, outer: dict[str, Expr]) -> Cost:
    values = _closed(cost.definitions, outer)
    bounds = tuple(
        CostBound(
            substitute(b.value, values),
            None if b.guard is None else substitute(b.guard, values),
            b.span,
        )
        for b in cost.bounds
    )
    prefer = tuple(substitute(p, values) for p in cost.prefer)
    energy = None if cost.energy is None else substitute(cost.energy, values)
    return replace(cost, definitions=(), bounds=bounds, prefer=prefer, energy=energy)
