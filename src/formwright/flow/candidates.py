"""From a design to a library that may be timed: check, build, validate. Each a journal step."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.codegen import build, detect_target, emit_c
from formwright.contract.problem import Workload
from formwright.flow.choosing import choose
from formwright.flow.setting import Proved, Setting, fractions_as_text
from formwright.ir.inline import inlined
from formwright.milp.check import check, objective_of
from formwright.milp.solve import solve
from formwright.qualify.validate import validate

POOL = 256
"""How many of the best designs the choice is made from."""
WITHIN = Fraction(5, 4)
"""Designs worse than this multiple of the model's optimum are not built."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A built and validated design. ``key`` names its build in the journal."""

    key: str
    template: str
    assignment: dict[str, int]
    predicted: float
    library: Path


def designs(setting: Setting, workload: Workload, number: int) -> list[dict[str, Any]]:
    """The designs that round ``number`` looks at, best by the model first."""
    return list(
        setting.journal.step(f"solve/{workload.name}/{number}", lambda: _solve(setting, workload))[
            "designs"
        ]
    )


def _solve(setting: Setting, workload: Workload) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    solutions: dict[str, Any] = {}
    for name, proved in setting.templates.items():
        parameters = setting.parameters(proved.template, workload)
        coefficients = setting.coefficients[name]
        solution = solve(
            proved.template, parameters, coefficients=coefficients, limit=POOL, time_limit=60.0
        )
        solutions[name] = {
            "status": solution.status,
            "solver": solution.solver,
            "seconds": solution.seconds,
            "feasible": solution.feasible,
            "bound": solution.bound,
            "gap": solution.gap,
            "conflict": list(solution.conflict),
            "coefficients": fractions_as_text(coefficients),
        }
        if solution.status != "optimal":
            continue
        for assignment, objective in choose(
            solution.best, setting.problem.budget.candidates, WITHIN
        ):
            found.append(
                {"template": name, "assignment": assignment, "predicted": float(objective)}
            )
    found.sort(key=lambda d: d["predicted"])
    return {"designs": found, "solutions": solutions}


def prepare(setting: Setting, workload: Workload, design: Mapping[str, Any]) -> Candidate | None:
    """Check, build and validate one design; ``None`` when it is refused (the journal says why)."""
    proved = setting.templates[design["template"]]
    # The journal sorts keys; a reader expects the order of the template.
    assignment = {d.name: int(design["assignment"][d.name]) for d in proved.template.decisions}
    key = digest([digest(inlined(proved.template)), assignment])[:16]
    parameters = setting.parameters(proved.template, workload)
    checked = check(proved.template, parameters, assignment)
    if not checked.ok:
        raise AssertionError(f"the solver chose a design that fails {', '.join(checked.failed)}")
    label = f"{workload.name}: {design['template']} {assignment_text(assignment)}"
    setting.listener.stage(f"{label}: building")
    built = setting.journal.step(f"build/{key}", lambda: _build(setting, proved, assignment, key))
    if "error" in built:
        setting.listener.done(f"{label}: not built: {built['error']}")
        return None
    library = setting.out / built["library"]
    setting.listener.stage(f"{label}: validating")
    verdict = setting.journal.step(
        f"validate/{workload.name}/{key}", lambda: _validate(setting, workload, library)
    )
    if verdict["verdict"] != "held":
        setting.listener.done(f"{label}: {verdict['verdict']}: {verdict['message']}")
        return None
    predicted = float(
        objective_of(
            proved.template, parameters, assignment, setting.coefficients[design["template"]]
        )
    )
    return Candidate(key, design["template"], assignment, predicted, library)


def _build(
    setting: Setting, proved: Proved, assignment: dict[str, int], key: str
) -> dict[str, Any]:
    try:
        emitted = emit_c(proved.template, assignment, detect_target())
        built = build(emitted, setting.out / "build" / key)
    except InputError as error:
        return {"error": str(error)}
    return {
        "library": str(built.library.relative_to(setting.out)),
        "source": str(built.source.relative_to(setting.out)),
        "command": list(built.command),
        "compiler": built.compiler,
        "seconds": built.seconds,
    }


def _validate(setting: Setting, workload: Workload, library: Path) -> dict[str, Any]:
    validation = validate(
        library,
        setting.problem.contract,
        [workload.extents],
        seed=setting.seed,
        threads=setting.threads,
        effort="quick",
    )
    refuted = validation.refuted
    return {
        "verdict": validation.verdict,
        "message": refuted[0].message if refuted else "",
        "seconds": validation.seconds,
        "runs": len(validation.runs),
    }


def assignment_text(assignment: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in assignment.items())
