"""Solve and check by names: a template, a chip, settings as text."""

from collections.abc import Mapping
from typing import Literal

from formwright.flow.chips import open_chip
from formwright.flow.parameters import bind, parse_settings, split_chip_settings
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.lang import load
from formwright.milp.check import CheckResult, check
from formwright.milp.solve import Solution, solve

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
    template, parameters = open_problem(reference, chip, settings)
    return solve(
        template,
        parameters,
        method=method,
        ties=ties,
        time_limit=time_limit,
        structures=structures,
    )


def check_assignment(reference: str, chip: str, settings: str, assignment: str) -> CheckResult:
    template, parameters = open_problem(reference, chip, settings)
    values: Mapping[str, int] = parse_settings(assignment, "--assign")
    return check(template, parameters, values)
