"""The best designs of one template, and which of them are built: the work of a `Solve`."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.flow.choosing import choose
from formwright.flow.jobs import Solve
from formwright.flow.setting import fractions_as_text
from formwright.ir.expr import Compare, Num, Var
from formwright.ir.inline import inlined
from formwright.ir.template import Constraint
from formwright.milp.declared import used_as_json
from formwright.milp.solve import solve

POOL: Final = 256
"""How many of the best designs the choice is made from."""
WITHIN: Final = Fraction(5, 4)
"""Designs worse than this multiple of their template's optimum are not built."""


def solved(job: Solve) -> dict[str, Any]:
    """``solution``: what the solver said; ``designs``: the chosen ones, the best first."""
    try:
        solution = solve(
            job.template,
            job.parameters,
            coefficients=dict(job.coefficients),
            limit=POOL,
            time_limit=60.0,
            extra_constraints=_held(job.fixed),
        )
    except Exception as error:
        if not job.forgiving:
            raise
        return _failed(words(error))
    if job.forgiving and solution.objective is not None and solution.objective <= 0:
        told = f"its cost is {float(solution.objective):.3g}, and no time is that short"
        return _failed(told)
    told_of = {
        "status": solution.status,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "feasible": solution.feasible,
        "objective": None if solution.objective is None else float(solution.objective),
        "bound": solution.bound,
        "gap": solution.gap,
        "conflict": list(solution.conflict),
        "evaluations": solution.evaluations,
        "structures": used_as_json(solution.structures),
        "coefficients": fractions_as_text(dict(job.coefficients)),
    }
    if solution.status != "optimal":
        return {"solution": told_of, "designs": []}
    content = digest(inlined(job.template))
    designs = [
        {
            "key": design_key(content, assignment),
            "assignment": assignment,
            "predicted": float(objective),
        }
        for assignment, objective in choose(solution.best, job.share, WITHIN)
    ]
    return {"solution": told_of, "designs": designs}


def design_key(template: str, assignment: Mapping[str, int]) -> str:
    """What a design is called in builds and measurements; ``template``: its digest, inlined."""
    return digest([template, dict(assignment)])[:16]


def words(error: Exception) -> str:
    """What a step says of a fault."""
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def _failed(told: str) -> dict[str, Any]:
    return {"solution": {"status": "failed", "error": told, "conflict": []}, "designs": []}


def _held(fixed: Mapping[str, int]) -> tuple[Constraint, ...]:
    """Decisions that keep their values, as constraints of the solver."""
    return tuple(
        Constraint(f"keep {name}", Compare("=", Var(name), Num(Fraction(value))))
        for name, value in fixed.items()
    )
