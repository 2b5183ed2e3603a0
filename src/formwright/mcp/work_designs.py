"""In the child: the best design of a template, and whether one design meets its conditions."""

from typing import Any

from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say, bound, whole
from formwright.milp.check import check, objective_of
from formwright.milp.solve import solve

BEST = 8
"""Designs that a solution lists, the optimum first."""


def solve_text(asked: Asked, say: Say) -> dict[str, Any]:
    """The optimum by the template's cost, with its bound; ``modelled``."""
    _, template, parameters = bound(asked)
    say(f"solving {template.name}")
    s = solve(template, parameters, method=asked.method, time_limit=asked.seconds, limit=BEST)
    return {
        "kind": "solve",
        "status": s.status,
        "assignment": s.assignment,
        "objective": None if s.objective is None else float(s.objective),
        "unit": "" if template.cost is None else template.cost.unit,
        "evidence": "modelled",
        "bound": s.bound,
        "bound_kind": s.bound_kind,
        "gap": s.gap,
        "feasible": s.feasible,
        "solver": s.solver,
        "seconds": s.seconds,
        "conflict": list(s.conflict),
        "evaluations": s.evaluations,
        "structures": [f"{u.title}: {u.verdict}: {u.why}" for u in s.structures],
        "best": [
            {"assignment": dict(assignment), "objective": float(objective)}
            for assignment, objective in s.best
        ],
    }


def check_text(asked: Asked, say: Say) -> dict[str, Any]:
    """Scope, menus, constraints and requirements at one design, and its modelled cost."""
    _, template, parameters = bound(asked)
    assignment = whole(template, asked.assignments[0])
    result = check(template, parameters, assignment)
    costed = template.cost is not None and result.ok
    return {
        "kind": "check",
        "holds": result.ok,
        "held": list(result.held),
        "failed": list(result.failed),
        "errors": result.errors,
        "objective": float(objective_of(template, parameters, assignment)) if costed else None,
        "evidence": "modelled",
    }
