"""From a design to a library that may be timed: check, build, validate. Each a journal step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.contract.problem import Workload
from formwright.flow.fitting import require_packing
from formwright.flow.job_solving import design_key, words
from formwright.flow.jobs import Build, Job, Solve, Validate
from formwright.flow.setting import Proved, Setting
from formwright.flow.steps import told
from formwright.ir.inline import inlined
from formwright.milp.check import check, objective_of

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
    ``forgiving`` a template that cannot be solved has its fault in the journal and ends nothing;
    else one that is not for this chip or workload is left out as long as another is.
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
    """The step of solving in round ``number``: ``designs``, and ``solutions`` by template.

    Templates do not need each other: each is a job."""
    setting.listener.stage(f"{workload.name}: round {number + 1}, solving")
    asked = wanted or Wanted(tuple(setting.templates))
    found: dict[str, Any] = setting.journal.step(
        f"solve/{workload.name}/{number}", lambda: _solve(setting, workload, asked)
    )
    return found


def _solve(setting: Setting, workload: Workload, wanted: Wanted) -> dict[str, Any]:
    share = ceil(setting.problem.budget.candidates / max(1, len(wanted.names)))
    jobs: dict[str, Job] = {}
    solutions: dict[str, Any] = {}
    faults: dict[str, InputError] = {}
    for name in wanted.names:
        template = setting.templates[name].template
        try:
            parameters = setting.parameters(template, workload)
            require_packing(template, setting.problem.contract)
        except InputError as error:
            faults[name] = error
            solutions[name] = {"status": "failed", "error": words(error), "conflict": []}
            continue
        jobs[name] = Solve(
            template,
            parameters,
            setting.coefficients[name],
            share,
            wanted.fixed.get(name, {}),
            wanted.forgiving,
        )
    if faults and not wanted.forgiving:
        if not jobs:
            raise next(iter(faults.values()))
        for name, fault in faults.items():
            setting.listener.done(f"{workload.name}: {name} is left out: {words(fault)}")
    found: list[dict[str, Any]] = []
    outcomes = setting.steps.outcomes({f"solve/{workload.name}/{n}": j for n, j in jobs.items()})
    for name, outcome in zip(jobs, outcomes.values(), strict=True):
        data = told(outcome)
        solutions[name] = data["solution"] | {"machine": data["machine"]}
        found += [{"template": name} | design for design in data["designs"]]
    found.sort(key=lambda d: (d["predicted"], d["template"]))
    first = {d["template"]: d for d in reversed(found)}
    kept = [
        d
        for d in found
        if d["predicted"] <= FAR * found[0]["predicted"]
        or (d["template"] in wanted.untried and d is first[d["template"]])
    ]
    return {"designs": kept, "solutions": solutions}


def prepare(
    setting: Setting, workload: Workload, proposed: Sequence[Mapping[str, Any]]
) -> list[Candidate]:
    """Check, build and validate designs; the journal says why one is not among the result.

    Nothing is timed here, so all cores compile at once.
    """
    plans = [_plan(setting, workload, design) for design in proposed]
    setting.listener.stage(f"{workload.name}: building {len(plans)} candidates")
    built = setting.steps.all(
        {f"build/{p.key}": Build(p.proved.template, p.assignment, f"build/{p.key}") for p in plans},
        partial(_unbuilt, setting),
    )
    for key, made in built.items():
        setting.charge(key, building=float(made.get("seconds", 0.0)))
    found = []
    for number, plan in enumerate(plans, 1):
        build = built[f"build/{plan.key}"]
        if "error" in build:
            setting.listener.done(f"{plan.label}: not built: {build['error']}")
            continue
        told = f"{plan.label}: validating ({number} of {len(plans)})"
        setting.listener.stage(told, number - 1, len(plans))
        verdict = setting.steps.one(
            f"validate/{workload.name}/{plan.key}",
            Validate(
                build["library"],
                setting.problem.contract,
                [workload.extents],
                setting.seed,
                setting.threads,
            ),
        )
        setting.charge(f"validate/{workload.name}/{plan.key}", device=float(verdict["seconds"]))
        if verdict["verdict"] != "held":
            setting.listener.done(f"{plan.label}: {verdict['verdict']}: {verdict['message']}")
            continue
        library = setting.out / build["library"]
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


def _unbuilt(setting: Setting, error: Exception) -> dict[str, Any] | None:
    """A design that the emitter or the compiler refuses; of an agent's template, any fault."""
    if isinstance(error, InputError) or setting.forgiving:
        return {"error": words(error)}
    return None


def assignment_text(assignment: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in assignment.items())
