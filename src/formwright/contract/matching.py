"""Does a template compute what a contract asks for? The differences, each with its place."""

from collections.abc import Iterator
from typing import assert_never

from formwright.base.diagnostics import Diagnostic
from formwright.contract.contract import Contract, Extent
from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import Compare, Expr, Logic, Num, Var
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Op,
    Par,
    Read,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.template import Parameter, Template, Tensor


def matches(template: Template, contract: Contract) -> tuple[Diagnostic, ...]:
    """Every difference between the template's scope, globals and program and the contract.

    Empty: the template claims the contract's workload, on at least the contract's domain.
    Whether its program keeps that claim is the verifier's question.
    """
    return (
        *_tensors(template, contract),
        *_formula(template, contract),
        *_domain(template, contract),
        *_globals(template, contract),
        *_program(template, contract),
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
            f"the contract is {contract.formula[0]}",
        )
        return
    for (role, tensor), operand in zip(declared, contract.operands, strict=True):
        shown = f"{tensor.name}[{','.join(tensor.extents)}]"
        asked = f"{operand.name}[{','.join(operand.extents)}]"
        if shown != asked:
            yield Diagnostic(
                f"{role} {shown} of the workload is {asked} in the contract",
                workload.span,
                f"the contract is {contract.formula[0]}",
            )
        if tensor.dtype != operand.dtype:
            yield Diagnostic(
                f"{role} {tensor.name} has element type {tensor.dtype}; "
                f"the contract has {operand.dtype}",
                workload.span,
                f"declare {tensor.name} as {operand.dtype}",
            )


def _formula(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    workload = template.scope.workload
    hint = f"the contract is {contract.formula[0]}"
    if tuple(e for _, e in workload.reductions) != ("K",):
        shown = ", ".join(f"{i} < {e}" for i, e in workload.reductions) or "nothing"
        yield Diagnostic(
            f"the workload sums over {shown}; the contract over k < K", workload.span, hint
        )
        return
    if len(workload.indices) != 2:
        yield Diagnostic("the workload's output is not a matrix", workload.span, hint)
        return
    row, column = workload.indices
    term = workload.reductions[0][0]
    left = (contract.inputs[0].name, (Var(row), Var(term)))
    right = (contract.inputs[1].name, (Var(term), Var(column)))
    factors = _factors(workload.value)
    if factors is None:
        yield Diagnostic(
            "the workload's value is not a product of two tensors", workload.span, hint
        )
        return
    if factors not in ((left, right), (right, left)):
        shown = " * ".join(f"{n}[{','.join(_name(i) for i in index)}]" for n, index in factors)
        yield Diagnostic(
            f"the workload multiplies {shown}; the contract A[{row},{term}] * B[{term},{column}]",
            workload.span,
            hint,
        )


Factor = tuple[str, tuple[Expr, ...]]


def _factors(value: Value) -> tuple[Factor, Factor] | None:
    match value:
        case Op("*", (Read(Access() as a), Read(Access() as b))):
            return (a.buffer, a.index), (b.buffer, b.index)
        case _:
            return None


def _name(expr: Expr) -> str:
    return expr.name if isinstance(expr, Var) else "…"


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
            yield Diagnostic(fault, parameter.span, f"the contract is {contract.formula[0]}")
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
        if buffer.dtype != operand.dtype:
            yield Diagnostic(
                f"global {buffer.name} has element type {buffer.dtype}; "
                f"the contract has {operand.dtype}",
                buffer.span,
            )
    for name in shapes:
        yield Diagnostic(f"tensor {name} of the contract is not among the template's globals")


_WIDE_ENOUGH = frozenset({"f32", "f64"})
"""Element types whose arithmetic is at least as exact as the bounds of all contracts ask."""


def _program(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    written: set[str] = set()
    read: set[str] = set()
    inputs = {o.name for o in contract.inputs}
    for stmt in _statements(template.program):
        match stmt:
            case Alloc(buffers):
                for buffer in buffers:
                    if buffer.dtype not in _WIDE_ENOUGH:
                        yield Diagnostic(
                            f"buffer {buffer.name} holds {buffer.dtype}: less exact than "
                            f"the f32 in which the contract's bound lets sums be kept",
                            buffer.span,
                            "the tolerance comes from the contract, not from the program",
                        )
            case Apply(destination=destination, value=value):
                written.add(destination.buffer)
                read.update(access.buffer for access in accesses(value))
                if destination.buffer in inputs:
                    yield Diagnostic(
                        f"the program writes its input {destination.buffer}",
                        stmt.span,
                        "the contract lets it write the output's cells only",
                    )
            case _:
                continue
    if contract.output.name not in written:
        yield Diagnostic(f"the program never writes the output {contract.output.name}")
    for name in sorted(inputs - read):
        yield Diagnostic(f"the program never reads the input {name}")


def _statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        match stmt:
            case For(body=inner) | Par(body=inner) | If(body=inner):
                yield from _statements(inner)
            case Alloc() | Apply() | Barrier() | Commit() | Wait() | Arrive() | Await() | Hint():
                continue
            case _:
                assert_never(stmt)
