"""From a design to a library that may be timed: check, build, validate. Each a journal step."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.codegen import build, detect_target, emit_c
from formwright.contract.problem import Workload
from formwright.flow.choosing import choose
from formwright.flow.setting import Proved, Setting, fractions_as_text
from formwright.ir.expr import Compare, Num, Var
from formwright.ir.inline import inlined
from formwright.ir.template import Constraint
from formwright.milp.check import check, objective_of
from formwright.milp.declared import used_as_json
from formwright.milp.solve import solve
from formwright.qualify.validate import validate

POOL = 256
"""How many of the best designs the choice is made from."""
WITHIN = Fraction(5, 4)
"""Designs worse than this multiple of their template's optimum are not built."""
FAR = 3.0
"""Nor are those of a template whose best is this many times worse than another template's."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A built and validated design. ``key`` names its build in the journal."""

    key: str
    template: str
    assignment: dict[str, int]
    predicted: float
    library: Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which templates a round looks at, where not all of the run.

    Of ``untried`` ones a design is built whatever their model says beside that of others. With
    ``forgiving`` a template that cannot be solved has its fault in the journal and ends nothing.
    ``fixed``: values of decisions by template that stay as they are.
    """

    names: tuple[str, ...]
    untried: frozenset[str] = frozenset()
    forgiving: bool = False
    fixed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def designs(
    setting: Setting, workload: Workload, number: int, wanted: Wanted | None = None
) -> list[dict[str, Any]]:
    """The designs that round ``number`` looks at, best by the model first."""
    return list(solutions(setting, workload, number, wanted)["designs"])


def solutions(
    setting: Setting, workload: Workload, number: int, wanted: Wanted | None = None
) -> dict[str, Any]:
    """The step of solving in round ``number``: ``designs``, and ``solutions`` by template."""
    setting.listener.stage(f"{workload.name}: round {number + 1}, solving")
    asked = wanted or Wanted(tuple(setting.templates))
    found: dict[str, Any] = setting.journal.step(
        f"solve/{workload.name}/{number}", lambda: _solve(setting, workload, asked)
    )
    return found


def _solve(setting: Setting, workload: Workload, wanted: Wanted) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    share = ceil(setting.problem.budget.candidates / max(1, len(wanted.names)))
    solutions: dict[str, Any] = {}
    for name in wanted.names:
        template = setting.templates[name].template
        coefficients = setting.coefficients[name]
        try:
            solution = solve(
                template,
                setting.parameters(template, workload),
                coefficients=coefficients,
                limit=POOL,
                time_limit=60.0,
                extra_constraints=_held(wanted.fixed.get(name, {})),
            )
        except Exception as error:
            if not wanted.forgiving:
                raise
            solutions[name] = _failed(_words(error))
            continue
        if wanted.forgiving and solution.objective is not None and solution.objective <= 0:
            told = f"its cost is {float(solution.objective):.3g}, and no time is that short"
            solutions[name] = _failed(told)
            continue
        solutions[name] = {
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
            "coefficients": fractions_as_text(coefficients),
        }
        if solution.status != "optimal":
            continue
        content = digest(inlined(template))
        for assignment, objective in choose(solution.best, share, WITHIN):
            found.append(
                {
                    "key": design_key(content, assignment),
                    "template": name,
                    "assignment": assignment,
                    "predicted": float(objective),
                }
            )
    found.sort(key=lambda d: (d["predicted"], d["template"]))
    first = {d["template"]: d for d in reversed(found)}
    kept = [
        d
        for d in found
        if d["predicted"] <= FAR * found[0]["predicted"]
        or (d["template"] in wanted.untried and d is first[d["template"]])
    ]
    return {"designs": kept, "solutions": solutions}


def _failed(told: str) -> dict[str, Any]:
    return {"status": "failed", "error": told, "conflict": []}


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def _held(fixed: Mapping[str, int]) -> tuple[Constraint, ...]:
    """Decisions that keep their values, as constraints of the solver."""
    return tuple(
        Constraint(f"keep {name}", Compare("=", Var(name), Num(Fraction(value))))
        for name, value in fixed.items()
    )


def prepare(
    setting: Setting, workload: Workload, proposed: Sequence[Mapping[str, Any]]
) -> list[Candidate]:
    """Check, build and validate designs; the journal says why one is not among the result.

    Nothing is timed here, so all cores compile at once.
    """
    plans = [_plan(setting, workload, design) for design in proposed]
    setting.listener.stage(f"{workload.name}: building {len(plans)} candidates")
    built = setting.journal.steps(
        {f"build/{p.key}": partial(_build, setting, p) for p in plans}, os.cpu_count() or 1
    )
    for key, made in built.items():
        setting.charge(key, building=float(made.get("seconds", 0.0)))
    found = []
    for number, plan in enumerate(plans, 1):
        build = built[f"build/{plan.key}"]
        if "error" in build:
            setting.listener.done(f"{plan.label}: not built: {build['error']}")
            continue
        setting.listener.stage(f"{plan.label}: validating ({number} of {len(plans)})")
        library = setting.out / build["library"]
        verdict = setting.journal.step(
            f"validate/{workload.name}/{plan.key}", partial(_validate, setting, workload, library)
        )
        setting.charge(f"validate/{workload.name}/{plan.key}", device=float(verdict["seconds"]))
        if verdict["verdict"] != "held":
            setting.listener.done(f"{plan.label}: {verdict['verdict']}: {verdict['message']}")
            continue
        found.append(Candidate(plan.key, plan.template, plan.assignment, plan.predicted, library))
    return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """A design that holds, with its key in the journal."""

    key: str
    template: str
    proved: Proved
    assignment: dict[str, int]
    predicted: float
    label: str


def _plan(setting: Setting, workload: Workload, design: Mapping[str, Any]) -> _Plan:
    name = design["template"]
    proved = setting.templates[name]
    # The journal sorts keys; a reader expects the order of the template.
    assignment = {d.name: int(design["assignment"][d.name]) for d in proved.template.decisions}
    parameters = setting.parameters(proved.template, workload)
    checked = check(proved.template, parameters, assignment)
    if not checked.ok:
        raise AssertionError(f"the solver chose a design that fails {', '.join(checked.failed)}")
    return _Plan(
        key=design_key(digest(inlined(proved.template)), assignment),
        template=name,
        proved=proved,
        assignment=assignment,
        predicted=float(
            objective_of(proved.template, parameters, assignment, setting.coefficients[name])
        ),
        label=f"{workload.name}: {name} {assignment_text(assignment)}",
    )


def design_key(template: str, assignment: Mapping[str, int]) -> str:
    """What a design is called in builds and measurements; ``template``: its digest, inlined."""
    return digest([template, dict(assignment)])[:16]


def _build(setting: Setting, plan: _Plan) -> dict[str, Any]:
    try:
        emitted = emit_c(plan.proved.template, plan.assignment, detect_target())
        built = build(emitted, setting.out / "build" / plan.key)
    except Exception as error:
        if not isinstance(error, InputError) and not setting.forgiving:
            raise
        return {"error": _words(error)}
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
        store=setting.counterexamples,
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
