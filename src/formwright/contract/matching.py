"""Does a template compute what a contract asks for? The differences, each with its place."""

from collections.abc import Iterator

from formwright.base.diagnostics import Diagnostic
from formwright.contract.contract import Contract, Extent
from formwright.contract.formulas import form_of, workload_of
from formwright.contract.narrowing import WIDE_ENOUGH, narrow_buffers
from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import Compare, Expr, Logic, Num, Var
from formwright.ir.program import Apply
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.template import Parameter, Template, Tensor
from formwright.ir.types import with_dtypes
from formwright.ir.walk import statements


def matches(template: Template, contract: Contract) -> tuple[Diagnostic, ...]:
    """Every difference between the template's scope, globals and program and the contract.

    Empty: the template claims the contract's workload, for its element types, on at least
    its domain. Whether its program keeps that claim is the verifier's question.
    """
    # Other tensors, or types that are not offered, have no version for the contract's types.
    unlike = (*_tensors(template, contract), *_types(template, contract))
    typed = template if unlike else typed_for(template, contract)
    return (
        *unlike,
        *_formula(typed, contract),
        *_domain(typed, contract),
        *_globals(template, contract),
        *_program(typed, contract),
    )


def typed_for(template: Template, contract: Contract) -> Template:
    """``template`` for the element types of ``contract``. Raises ``ElementTypeError``."""
    return with_dtypes(template, {o.name: o.dtype for o in contract.operands})


def _hint(contract: Contract) -> str:
    return "the contract is " + "; ".join(contract.formula)


def _types(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    workload = template.scope.workload
    tensors = {t.name: t for t in (*workload.inputs, workload.output)}
    for operand in contract.operands:
        tensor = tensors.get(operand.name)
        if tensor is None:
            continue
        offered = (tensor.dtype, *tensor.also)
        if operand.dtype not in offered:
            yield Diagnostic(
                f"{operand.role} {tensor.name} has element type {' or '.join(offered)}; "
                f"the contract has {operand.dtype}",
                workload.span,
                f"write dtypes {tensor.name} {' | '.join((*offered, operand.dtype))}",
            )


def _tensors(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    workload = template.scope.workload
    declared: list[tuple[str, Tensor]] = [("input", t) for t in workload.inputs]
    declared.append(("output", workload.output))
    if len(declared) != len(contract.operands):
        yield Diagnostic(
            f"the workload has {len(workload.inputs)} inputs; "
            f"{contract.operator} has {len(contract.inputs)}",
            workload.span,
            _hint(contract),
        )
        return
    for (role, tensor), operand in zip(declared, contract.operands, strict=True):
        shown = f"{tensor.name}[{','.join(tensor.extents)}]"
        asked = f"{operand.name}[{','.join(operand.extents)}]"
        if shown != asked:
            yield Diagnostic(
                f"{role} {shown} of the workload is {asked} in the contract",
                workload.span,
                _hint(contract),
            )


def _formula(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    """The output's line and those of the stages, whatever their order."""
    scope = template.scope
    wanted, stages = workload_of(contract)
    hint = _hint(contract)
    if form_of(scope.workload) != form_of(wanted):
        told = f"the workload computes {scope.workload.output.name} in another way"
        yield Diagnostic(f"{told} than the contract", scope.workload.span, hint)
    known = {stage.output.name: stage for stage in stages}
    for stage in scope.stages:
        name = stage.output.name
        if name not in known:
            yield Diagnostic(f"the contract has no stage {name}", stage.span, hint)
        elif form_of(stage) != form_of(known.pop(name)):
            told = f"the stage {name} is computed in another way than in the contract"
            yield Diagnostic(told, stage.span, hint)
    missing = known.keys() - {s.output.name for s in scope.stages}
    for name in sorted(missing):
        yield Diagnostic(f"the workload has no stage {name}", scope.workload.span, hint)


def _domain(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    scope = template.scope
    declared = tuple(p.name for p in scope.extents)
    asked = tuple(e.name for e in contract.extents)
    if declared != asked:
        # The order of the extents is the order of the call (the library's ABI).
        yield Diagnostic(
            f"the scope declares extents {', '.join(declared)}; "
            f"the contract has {', '.join(asked)} in this order",
            scope.extents[0].span if scope.extents else None,
            f"write the extents as {', '.join(asked)}",
        )
        return
    for parameter, extent in zip(scope.extents, contract.extents, strict=True):
        fault = _narrower(parameter, extent)
        if fault is not None:
            yield Diagnostic(fault, parameter.span, _hint(contract))
    for relation in scope.relations:
        if set(free_names(relation)) & set(asked):
            yield Diagnostic(
                "the scope relates extents that the contract leaves free",
                relation.span,
                "drop the relation, or narrow the contract's extents",
            )


def _narrower(parameter: Parameter, extent: Extent) -> str | None:
    """Does the scope's condition hold on the whole range? Unknown counts as no."""
    condition = parameter.condition
    if condition is None:
        return None
    if not _convex(condition, parameter.name):
        return (
            f"the scope's condition on {extent.name} cannot be compared with "
            f"{extent.low} .. {extent.high}"
        )
    for value in (extent.low, extent.high):
        try:
            held = truth(condition, {parameter.name: value})
        except EvaluationError as error:
            return f"the scope's condition on {extent.name} has no value: {error.message}"
        if not held:
            return (
                f"the scope leaves out {extent.name} = {value}, which the contract allows "
                f"({extent.low} .. {extent.high})"
            )
    return None


def _convex(condition: Expr, name: str) -> bool:
    """A conjunction of bounds on ``name``: true on an interval, so its ends decide."""
    match condition:
        case Logic("and", left, right):
            return _convex(left, name) and _convex(right, name)
        case Compare(op, Var(variable), Num()) | Compare(op, Num(), Var(variable)):
            return variable == name and op != "!="
        case _:
            return False


def _globals(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    shapes = {o.name: o for o in contract.operands}
    workload = template.scope.workload
    types = {t.name: t.dtype for t in (*workload.inputs, workload.output)}
    for buffer in template.globals:
        if buffer.name not in shapes:
            yield Diagnostic(
                f"global {buffer.name} is no tensor of the contract",
                buffer.span,
                f"the contract has {', '.join(shapes)}",
            )
            continue
        operand = shapes.pop(buffer.name)
        if buffer.shape != tuple(Var(e) for e in operand.extents):
            yield Diagnostic(
                f"global {buffer.name} is not {operand.name}[{','.join(operand.extents)}]",
                buffer.span,
            )
        if buffer.dtype != types.get(buffer.name, buffer.dtype):
            yield Diagnostic(
                f"global {buffer.name} has element type {buffer.dtype}; "
                f"the workload has {types[buffer.name]}",
                buffer.span,
            )
    for name in shapes:
        yield Diagnostic(f"tensor {name} of the contract is not among the template's globals")


def _program(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    written: set[str] = set()
    read: set[str] = set()
    inputs = {o.name for o in contract.inputs}
    output = contract.output.name
    held = next((b.dtype for b in template.globals if b.name == output), "f32")
    for stmt in statements(template.program):
        match stmt:
            case Apply(destination=destination, op=op, value=value):
                written.add(destination.buffer)
                read.update(access.buffer for access in accesses(value))
                if destination.buffer in inputs:
                    yield Diagnostic(
                        f"the program writes its input {destination.buffer}",
                        stmt.span,
                        "the contract lets it write the output's cells only",
                    )
                again = op != "=" and destination.buffer == output
                if held not in WIDE_ENOUGH and (
                    again or output in {a.buffer for a in accesses(value)}
                ):
                    yield Diagnostic(
                        f"the program goes on with what output {output} holds, which was "
                        f"rounded to {held}",
                        stmt.span,
                        "keep it in a buffer of f32, and store to the output once",
                    )
            case _:
                continue
    yield from narrow_buffers(template, contract)
    if contract.output.name not in written:
        yield Diagnostic(f"the program never writes the output {contract.output.name}")
    for name in sorted(inputs - read):
        yield Diagnostic(f"the program never reads the input {name}")
