"""In the child: a template, and a value for each name of its scope."""

from collections.abc import Callable, Mapping

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.files import write_text
from formwright.base.source import Source
from formwright.contract.matching import matches, typed_for
from formwright.flow.chips import open_chip
from formwright.flow.parameters import bind
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.mcp.asked import Asked
from formwright.mcp.sources import find_source

Say = Callable[[str], None]
"""Told what is done now."""


def chip_of(asked: Asked) -> str:
    """The name of the problem's chip, or a file with the text that it had at the start."""
    assert asked.problem is not None
    if not asked.problem.chip_text:
        return asked.problem.problem.chip
    path = asked.folder / "chip.toml"
    write_text(path, asked.problem.chip_text)
    return str(path)


def bound(asked: Asked) -> tuple[Source, Template, dict[str, Scalar]]:
    """The template and a value for every name of its scope; no proof is needed to look at it.

    For a problem: its chip, threads, element types and workload; else ``chip`` and ``extents``.
    """
    source = find_source(asked.template, asked.population)
    template = parse(source)
    if asked.problem is None:
        chip = open_chip(asked.chip)
        return source, template, bind(template, chip.parameters(), asked.extents, chip.name)
    problem = asked.problem.problem
    workload = asked.problem.workload(asked.workload)
    differences = matches(template, problem.contract)
    if differences:
        raise InputError(differences, source)
    chip = open_chip(chip_of(asked))
    values = chip.parameters()
    threads = problem.threads or int(values.get("chip.cores", 1))
    typed = typed_for(template, problem.contract)
    return (
        source,
        typed,
        bind(typed, {**values, "chip.cores": threads}, workload.extents, chip.name),
    )


def whole(template: Template, assignment: Mapping[str, int]) -> dict[str, int]:
    """In the template's order. Raises ``InputError`` unless it has every decision."""
    names = [d.name for d in template.decisions]
    faults = [
        Diagnostic(
            f"{template.name} has no such decision",
            hint=nearest(name[:64], names) or f"decisions: {', '.join(names)}",
        )
        for name in assignment
        if name not in names
    ]
    faults += [
        Diagnostic(f"the assignment leaves out {name}", hint=f"decisions: {', '.join(names)}")
        for name in names
        if name not in assignment
    ]
    if faults:
        raise InputError(faults)
    return {name: assignment[name] for name in names}
