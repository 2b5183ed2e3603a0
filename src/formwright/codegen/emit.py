"""C from a template and an assignment: decisions are constants, extents come at run time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from formwright.base.diagnostics import fail, nearest
from formwright.codegen.ahead import ahead_count, packed_inputs
from formwright.codegen.coded import coded_buffers
from formwright.codegen.context import Context, Output, Writer
from formwright.codegen.driver import (
    abi_text,
    coding_text,
    driver_function,
    environment_text,
    layout_text,
    runtime_text,
)
from formwright.codegen.elements import stored
from formwright.codegen.fold import folded_program
from formwright.codegen.linear import Range
from formwright.codegen.matrix import panels, unit_headers
from formwright.codegen.places import tensor_place
from formwright.codegen.registers import fitting, lanes_of
from formwright.codegen.statements import streams
from formwright.codegen.target import PLAIN, Target, with_halves, with_units, without_units
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Var
from formwright.ir.formulation import require_program
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, If, Op, Par, Stmt
from formwright.ir.rewrite import free_names
from formwright.ir.template import Parameter, Template
from formwright.ir.values import parts as parts_of
from formwright.ir.walk import statements

LEAST_OF = 4096

EXPONENTIAL = 4
"""What a point counts where the program has exponentials, next to a multiply-add."""

HEAD = """\
#define _GNU_SOURCE
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define FW_MAYBE __attribute__((unused))
"""


@dataclass(frozen=True, slots=True)
class Emitted:
    """One C file. ``kernel`` is the part that comes from the program; the rest is fixed.

    ``tensors`` are the names in the order of the ABI (inputs, output), ``extents`` likewise;
    ``ahead`` names the inputs that ``fw_prepare`` packs.
    """

    source: str
    kernel: str
    template: str
    assignment: dict[str, int]
    target: Target
    tensors: tuple[str, ...]
    extents: tuple[str, ...]
    ahead: tuple[str, ...]


def emit_c(
    template: Template,
    assignment: Mapping[str, int],
    target: Target,
    *,
    calls: bool = False,
    coded: bool = True,
) -> Emitted:
    """The C of ``template`` with the decisions of ``assignment``.

    With ``calls`` values are put together by calls (``fw_add``) that the runtime's headers do
    not have: for :func:`formwright.codegen.field.field_source`.
    Without ``coded`` every buffer has its type's own storage (``coded.py``).
    What the emitter does not support is an :class:`InputError` at the statement.
    """
    require_program(template, "emit")
    _check_assignment(template, assignment)
    whole = inlined(template)
    _check_teams(whole)
    program = folded_program(whole, assignment)
    workload = whole.scope.workload
    extents = [p.name for p in whole.scope.extents]
    lowest = [_lowest(p) for p in whole.scope.extents]
    order = [*(t.name for t in workload.inputs), workload.output.name]
    places = {b.name: tensor_place(b) for b in whole.globals}
    for buffer in whole.globals:
        if buffer.name == workload.output.name:
            stored(buffer.name, places[buffer.name].kind, buffer.span)
    target = with_halves(fitting(program, target), {p.kind.dtype for p in places.values()})
    tensors = [places[name] for name in order]
    fixed: list[tuple[str, str]] = [("int64_t", f"n_{n}") for n in extents]
    for place in tensors:
        constant = "" if place.name == f"t_{workload.output.name}" else "const "
        fixed += [(f"{constant}{place.kind.c_type} *", place.name), ("int64_t", place.stride)]
    lanes = lanes_of(program, target)
    count = ahead_count(program, order[:-1], order[-1])
    may_code = coded and not calls and target.lanes > PLAIN.lanes
    output = Output(
        target,
        frozenset(extents),
        calls=calls,
        lanes=lanes,
        panels=panels(program) if target.units else frozenset(),
        coded=coded_buffers(program, count) if may_code else frozenset(),
    )
    context = Context(
        output=output,
        writer=Writer(),
        level="driver",
        names={name: f"n_{name}" for name in extents},
        ranges={n: Range(low, ()) for n, low in zip(extents, lowest, strict=True)},
        places=places,
        tiles={},
        environment=tuple(fixed),
    )
    first, context = driver_function(
        "fw_run_ahead", program[:count], replace(context, packing_ahead=True)
    )
    second, _ = driver_function("fw_run", program[count:], context)
    target = with_units(target) if output.panels else without_units(target)
    points = " * ".join(f"fw_max(1, e->n_{n})" for n in _loops_of(whole))
    if _has_exponentials(program):
        points = f"{EXPONENTIAL} * {points}"
    kernel = "\n".join([environment_text(output, fixed), *output.functions, first, second])
    parts = [
        HEAD + f"#define FW_LANES {target.lanes}\n",
        runtime_text("integers.h"),
        runtime_text("vectors.h"),
        runtime_text("lanes.h"),
        runtime_text("elements.h"),
        *([runtime_text(name) for name in unit_headers(target)] if output.panels else []),
        *([runtime_text("coded.h")] if output.coded else []),
        runtime_text("exponential.h"),
        runtime_text("threads.h"),
        *([runtime_text("streaming.h")] if streams(program) else []),
        kernel,
        layout_text(output, extents),
        coding_text(output, extents),
        abi_text(tensors, extents, lowest, points, target.features, count > 0),
    ]
    return Emitted(
        source="\n".join(parts),
        kernel=kernel,
        template=template.name,
        assignment=dict(assignment),
        target=target,
        tensors=tuple(order),
        extents=tuple(extents),
        ahead=packed_inputs(program[:count], order[:-1]),
    )


def _has_exponentials(program: Sequence[Stmt]) -> bool:
    values = (
        part for s in statements(program) if isinstance(s, Apply) for part in parts_of(s.value)
    )
    return any(isinstance(part, Op) and part.name == "exp" for part in values)


def _check_assignment(template: Template, assignment: Mapping[str, int]) -> None:
    missing = [d for d in template.decisions if d.name not in assignment]
    if missing:
        raise fail(f'no value for the decision "{missing[0].name}"', missing[0].span)
    known = {d.name for d in template.decisions}
    for name in assignment:
        if name not in known:
            raise fail(f'"{name}" is no decision of {template.name}', hint=nearest(name, known))


def _check_teams(template: Template) -> None:
    """A team is emitted as one agent: the scope must allow that, and roles need an agent each."""
    alone = {p.name: 1 for p in template.scope.agents}
    for parameter in template.scope.agents:
        try:
            allowed = parameter.condition is None or evaluate(parameter.condition, alone) is True
        except EvaluationError:
            allowed = False
        if not allowed:
            told = (
                f"C is emitted for teams of one agent, and the scope excludes {parameter.name} = 1"
            )
            raise fail(told, parameter.span)
    for stmt in statements(template.program):
        if (
            isinstance(stmt, Par)
            and stmt.kind == "team"
            and not all(isinstance(e, Var) for e in stmt.extents)
        ):
            for inner in statements(stmt.body):
                if isinstance(inner, If) and free_names(inner.cond) & set(stmt.vars):
                    raise fail(
                        "C is emitted for teams of one agent: there are no roles", inner.span
                    )


def _lowest(extent: Parameter) -> int:
    """The least value of 0, 1, ... that the condition of an extent allows."""
    if extent.condition is None:
        return 0
    for value in range(LEAST_OF):
        if evaluate(extent.condition, {extent.name: value}) is True:
            return value
    raise fail(f"no value of {extent.name} below {LEAST_OF} is in scope", extent.span)


def _loops_of(template: Template) -> list[str]:
    workload = template.scope.workload
    return [*workload.output.extents, *(extent for _, extent in workload.reductions)]
