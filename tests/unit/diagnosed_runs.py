"""Constructed runs: designs that a solver picked, with times by a machine of known behaviour."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from formwright.base.digest import digest
from formwright.contract.operators import operator
from formwright.contract.problem import Budget, Problem, Workload
from formwright.flow.diagnosis_data import Case, Solved, Tried
from formwright.flow.executor_here import HereExecutor
from formwright.flow.journal import Journal
from formwright.flow.parameters import bind
from formwright.flow.setting import Proved, Setting, fractions_as_text
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load
from formwright.milp.check import objective_of
from formwright.milp.solve import Solution, solve
from listeners import Silent

GIGA = 10**9
CORE: dict[str, int | Fraction] = {
    "chip.cores": 2,
    "chip.clock": 3 * GIGA,
    "chip.flops": 180 * GIGA,
    "chip.core_flops": 90 * GIGA,
    "chip.vector_lanes": 16,
    "chip.vector_registers": 32,
    "chip.accumulators": 512,
    "chip.l1_bytes": 32 * 1024,
    "chip.l2_bytes": 1024 * 1024,
    "chip.l3_bytes": 32 * 1024 * 1024,
    "chip.l1_bandwidth": 200 * GIGA,
    "chip.l2_bandwidth": 60 * GIGA,
    "chip.l3_bandwidth": 20 * GIGA,
    "chip.dram_bandwidth": 20 * GIGA,
    "chip.core_dram_bandwidth": 12 * GIGA,
    "chip.tlb_entries": 1024,
}
"""A core of the usual size; the figures are made up."""

SHAPE = {"M": 512, "N": 512, "K": 512}
Machine = Callable[[Mapping[str, int]], float]
"""From an assignment to the seconds that it takes there."""


def defaults(template: Template) -> dict[str, Fraction]:
    return {} if template.cost is None else {c.name: c.default for c in template.cost.coefficients}


def parameters_of(template: Template, extents: Mapping[str, int] = SHAPE) -> dict[str, Scalar]:
    return bind(template, CORE, extents, "made up")


def spread_out(solution: Solution, count: int) -> list[dict[str, int]]:
    """``count`` designs of a pool, the best first, evenly from the rest."""
    step = max(1, len(solution.best) // count)
    return [a for a, _ in solution.best[::step][:count]]


def case_of(
    template: Template,
    machine: Machine,
    coefficients: Mapping[str, Fraction] | None = None,
    count: int = 8,
    **more: Any,
) -> Case:
    """A round in which the solver picked ``count`` designs by ``coefficients`` and the machine
    timed them, to a hundredth either way."""
    present = {**defaults(template), **(coefficients or {})}
    values = parameters_of(template)
    solution = solve(template, values, coefficients=present, limit=512)
    solved = Solved(
        template.name,
        "optimal",
        solution.assignment,
        float(solution.objective or 0),
        solution.bound,
        present,
        "solve/shape/0",
    )
    tried = tuple(
        tried_of(template, machine, a, present, "measure/shape/0")
        for a in spread_out(solution, count)
    )
    return Case(
        "shape", {template.name: template}, {template.name: present}, tried, (solved,), **more
    )


def tried_of(
    template: Template,
    machine: Machine,
    assignment: Mapping[str, int],
    present: Mapping[str, Fraction],
    entry: str,
    counters: Mapping[str, Fraction] | None = None,
) -> Tried:
    values = parameters_of(template)
    seconds = machine(assignment)
    predicted = float(objective_of(template, values, assignment, dict(present)))
    return Tried(
        "shape",
        template.name,
        assignment,
        values,
        predicted,
        seconds,
        seconds * 0.995,
        seconds * 1.005,
        entry,
        counters or {},
    )


def setting_of(out: Path, names: Sequence[str], extents: Mapping[str, int] = SHAPE) -> Setting:
    """The setting of a run of GEMM with a journal of its own in ``out``."""
    contract = operator("gemm").contract()
    problem = Problem(
        name="made-up",
        contract=contract,
        templates=tuple(names),
        chip="made up",
        threads=2,
        workloads=(Workload("shape", dict(extents)),),
        baselines=("numpy",),
        budget=Budget(),
    )
    journal = Journal(out / "journal.jsonl")
    setting = Setting(problem, "made up", dict(CORE), 2, out, journal, Silent(), 1, HereExecutor())
    for name in names:
        source, template = load(name)
        setting.templates[name] = Proved(source, template, {"verdict": "proved"})
        setting.coefficients[name] = defaults(template)
    return setting


def journaled(
    setting: Setting, number: int, designs: Sequence[tuple[str, Mapping[str, int], float]]
) -> None:
    """A round's entries as a run writes them: template, assignment and seconds of each design."""
    solved, timed, solutions = [], {}, {}
    for name, assignment, seconds in designs:
        template = setting.templates[name].template
        values = setting.parameters(template, setting.problem.workloads[0])
        present = setting.coefficients[name]
        predicted = float(objective_of(template, values, assignment, present))
        solved.append({"template": name, "assignment": dict(assignment), "predicted": predicted})
        key = digest([digest(inlined(template)), dict(assignment)])[:16]
        timed[key] = {
            "seconds": {"median": seconds, "low": seconds * 0.995, "high": seconds * 1.005}
        }
        solutions[name] = {
            "status": "optimal",
            "bound": predicted,
            "coefficients": fractions_as_text(present),
        }
    setting.journal.step(
        f"solve/shape/{number}", lambda: {"designs": solved, "solutions": solutions}
    )
    setting.journal.step(f"measure/shape/{number}", lambda: {"programs": timed})
