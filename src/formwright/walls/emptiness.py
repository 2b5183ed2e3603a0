"""Why a template has no design for a kernel on any chip: the constraints that leave none."""

from collections.abc import Mapping
from dataclasses import replace

from formwright.ir.rewrite import free_names
from formwright.ir.template import Template
from formwright.milp.solve import solve


def why_empty(template: Template, extents: Mapping[str, int]) -> str:
    """Names fewest constraints without a common design, of those that read no field of a chip.

    ``template`` is inlined and has no design that keeps all of these.
    """
    free = tuple(
        c
        for c in template.constraints
        if not any(name.startswith("chip.") for name in free_names(c.condition))
    )
    scope = replace(template.scope, chip=(), relations=())
    found = solve(replace(template, scope=scope, constraints=free, cost=None), extents)
    if not found.conflict:
        return f"{template.name} has no design"
    named = ", ".join(found.conflict)
    told = f"constraints {named} leave" if len(found.conflict) > 1 else f"constraint {named} leaves"
    return f"{template.name}: {told} no design"
