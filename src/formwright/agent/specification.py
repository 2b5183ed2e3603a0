"""From a contract to a template: the plainest right program of its lines.

The program has a loop nest for each line, sums in one register, stages in scratch, and agents
over the output's outer indices that all lines share. It is meant to be proved and to be adapted
(:mod:`formwright.agent.rules`), not to be fast. ``docs/specification.md`` says how it is found.
"""

from formwright.agent.spec_lines import Line, lines_of, with_parts
from formwright.agent.spec_phases import Phase, apart, is_better_apart, together
from formwright.agent.spec_program import program_of
from formwright.base.diagnostics import fail
from formwright.base.source import Source
from formwright.contract.contract import Contract, Operand
from formwright.ir.template import Template
from formwright.lang.cursor import RESERVED
from formwright.lang.parser import parse

FLOATS = ("f32", "bf16", "f16")
"""Element types that a template is good for once it is for one of them."""

CONDITIONS = "coverage, exact_once, no_phantom, readiness, lifetime, agreement"


def plain_template(contract: Contract, name: str) -> Template:
    """A template for ``contract``, called ``name``, without decisions and without a cost.

    All lines in one agent, or apart where agents would each read a whole matrix. Raises
    ``InputError`` for a maximum over an extent that may be 0.
    """
    lines = lines_of(contract)
    return _template(contract, name, is_apart=is_better_apart(lines))


def plain_templates(contract: Contract, name: str) -> tuple[Template, ...]:
    """:func:`plain_template` first, then the same lines the other way, if that is another program.

    The second is called ``{name}_together`` or ``{name}_apart``.
    """
    first = plain_template(contract, name)
    is_apart = is_better_apart(lines_of(contract))
    other = f"{name}_{'together' if is_apart else 'apart'}"
    second = _template(contract, other, is_apart=not is_apart)
    return (first,) if second.program == first.program else (first, second)


def _template(contract: Contract, name: str, *, is_apart: bool) -> Template:
    lines = lines_of(contract)
    _nothing_empty(contract, lines)
    taken = _taken(contract, lines)
    phases = apart(with_parts(lines, taken)) if is_apart else together(lines)
    written = program_of(phases, taken | {line.name for line in lines})
    text = [
        f"template {name} : operator -> mapping",
        *_object(phases),
        *_scope(contract, phases),
        "program",
        *(f"  {line}" for line in written.program),
        *(["realise"] if written.realise else []),
        *(f"  {line}" for line in written.realise),
        'backward "forget agents, loops and scratch: each line of the workload, as it stands"',
        f'relation "{_relation(phases)}"',
        'rank "cells not yet stored"',
        f"prove {CONDITIONS}",
    ]
    return parse(Source(f"{name}.fw", "\n".join(text) + "\n"))


def _nothing_empty(contract: Contract, lines: tuple[Line, ...]) -> None:
    lows = {e.name: e.low for e in contract.extents}
    for line in lines:
        for over in line.over:
            if line.combine == "max" and lows[over.extent] < 1:
                raise fail(
                    f"{line.name} is a maximum over {over.extent}, which may be 0: it has no value",
                    hint=f"narrow the contract to {over.extent} >= 1",
                )


def _taken(contract: Contract, lines: tuple[Line, ...]) -> frozenset[str]:
    """Names that mean something everywhere in the template."""
    operands = {o.name for o in contract.operands}
    return frozenset({*RESERVED, *contract.names, *operands, *(line.name for line in lines)})


def _scope(contract: Contract, phases: tuple[Phase, ...]) -> list[str]:
    first, *stages = contract.formula
    extents = ", ".join(f"{e.name} >= {max(e.low, 0)}" for e in contract.extents)
    dtypes = ", ".join(f"{o.name} {' | '.join(_types(o))}" for o in contract.operands)
    terms = [
        f"every cell of {line.name} has its own {' '.join(o.extent for o in line.over)} terms"
        for phase in phases
        for line in phase.lines
        if line.over and line.combine == "sum" and line.kind != "part"
    ]
    grids = "; ".join(_grid(phase) for phase in phases)
    return [
        "scope",
        f"  workload {first}",
        *(f"  stage {line}" for line in stages),
        f"  extents {extents}",
        f"  dtypes {dtypes}",
        f'  semantics "{"; ".join(["real arithmetic", *terms])}"',
        f'  structure "{grids}"',
    ]


def _types(operand: Operand) -> tuple[str, ...]:
    return FLOATS if operand.dtype in FLOATS else (operand.dtype,)


def _grid(phase: Phase) -> str:
    lines = ", ".join(line.name for line in phase.lines)
    return f"agents over {', '.join(e for _, e in phase.grid)} for {lines}"


def _object(phases: tuple[Phase, ...]) -> list[str]:
    words = "A loop nest for each line"
    words += ": lines meet in scratch." if len(phases) > 1 else ", all in one agent."
    return [f'object nest "{words}"']


def _relation(phases: tuple[Phase, ...]) -> str:
    kept = [line.name for p in phases for line in p.lines if line.kind != "output"]
    if not kept:
        return "the register holds the terms of one cell so far"
    return f"scratch holds {', '.join(kept)}; the register the terms of one cell so far"
