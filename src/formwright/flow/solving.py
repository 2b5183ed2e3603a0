"""Solve and check by names: a template, a chip, settings as text."""

from collections.abc import Mapping, Sequence
from typing import Literal

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.flow.chips import open_chip
from formwright.flow.parameters import bind, parse_settings, split_chip_settings
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.lang import load
from formwright.milp.check import CheckResult, check
from formwright.milp.solve import Solution, solve
from formwright.milp.structures_scenarios import Join, ScenarioSolution, solve_scenarios

Method = Literal["auto", "milp", "enumerate"]


def open_problem(reference: str, chip: str, settings: str) -> tuple[Template, dict[str, Scalar]]:
    """The template, and a value for every name of its scope."""
    _, template = load(reference)
    return template, bound(template, chip, settings)


def bound(template: Template, chip: str, settings: str) -> dict[str, Scalar]:
    """A value for every name of the scope: fields of ``--set`` before those of the chip."""
    machine = open_chip(chip)
    extents, fields = split_chip_settings(settings)
    values = parse_settings(extents)
    return bind(template, machine.parameters() | fields, values, machine.name)


def solve_template(
    reference: str,
    chip: str,
    settings: str,
    method: Method = "auto",
    ties: bool = False,
    time_limit: float = 60.0,
    structures: bool = True,
) -> Solution:
    """The best design of a template for one workload on one chip.

    ``reference`` is a name that ships or the path of a ``.fw`` file, ``chip`` a name, ``local`` or
    a ``.toml`` file, ``settings`` the extents as in ``"M=64,N=64,K=64"``, where ``chip.area=1 mm2``
    may stand in place of the chip's own figure. ``time_limit`` is in seconds. With ``ties`` all
    designs of the least cost are listed. Raises :class:`InputError` for what is not there or does
    not parse, and for a constraint or a cost that has no value where it is looked at.
    """
    template, parameters = open_problem(reference, chip, settings)
    return solve(
        template,
        parameters,
        method=method,
        ties=ties,
        time_limit=time_limit,
        structures=structures,
    )


def solve_workloads(
    reference: str,
    chip: str,
    settings: str,
    scenarios: Sequence[str],
    join: Join = "sum",
    structures: bool = True,
) -> ScenarioSolution:
    """A design for each of some workloads: ``NAME:M=1`` has the extents of ``settings`` and these.

    Raises :class:`InputError` for a scenario without a name, or of a name that stands twice.
    """
    _, template = load(reference)
    found: dict[str, dict[str, Scalar]] = {}
    faults: list[Diagnostic] = []
    for text in scenarios:
        name, colon, own = (part.strip() for part in text.partition(":"))
        if not colon or not name.isidentifier() or name in found:
            twice = "stands twice" if name in found else "is not NAME:EXTENT=INTEGER,…"
            faults.append(Diagnostic(f'--scenario "{text}" {twice}', None, "as in decode:M=1"))
            continue
        found[name] = bound(template, chip, ",".join(t for t in (settings, own) if t))
    if faults:
        raise InputError(faults)
    return solve_scenarios(template, found, join, structures=structures)


def check_assignment(reference: str, chip: str, settings: str, assignment: str) -> CheckResult:
    """One design (``"Tm=128,Tn=128"``) against scope, menus, constraints and requirements."""
    template, parameters = open_problem(reference, chip, settings)
    values: Mapping[str, int] = parse_settings(assignment, "--assign")
    return check(template, parameters, values)
