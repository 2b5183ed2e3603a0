"""A workload with its stages: which line reads which, without cycles (rules L6a to L6c)."""

from collections.abc import Mapping, Sequence

from formwright.ir.expr import Var
from formwright.ir.program import Buffer, DType
from formwright.ir.template import Tensor, Workload
from formwright.ir.types import as_dtype
from formwright.lang.draft import RawWorkload
from formwright.lang.names import Names
from formwright.lang.workloads import LineResolver, Shapes, with_inputs

Types = Mapping[str, tuple[DType, ...]]


def resolve_lines(
    raw: RawWorkload, stages: Sequence[RawWorkload], types: Types, names: Names
) -> tuple[Workload, tuple[Workload, ...]] | None:
    """The workload and its stages; ``None`` where a fault hides what the tensors are.

    The workload's inputs are those of all lines, in the order in which its value reads them,
    those of a stage where the stage is read first.
    """
    faults = names.faults
    before = len(faults.items)
    output, shapes = raw.output.buffer, Shapes()
    lines = [LineResolver(line, shapes, output, names) for line in (raw, *stages)]
    for line in lines:
        name, extents = line.raw.output.buffer, line.header()
        if line.raw is raw:
            continue
        if name == output or name in shapes.stages:
            faults.add(f'"{name}" stands on the left-hand side twice', line.raw.output.span)
        shapes.stages[name] = extents
    found = [line.line() for line in lines]
    _extents_known(shapes, names)
    readers = {line.raw.output.buffer: line for line in lines}
    order = _order(readers, output, names)
    for line in lines:
        name = line.raw.output.buffer
        if name not in order and len(faults.items) == before:
            hint = "leave it out, or read it"
            faults.add(f'the stage "{name}" is read by no line', line.raw.output.span, hint)
    if len(faults.items) > before or not shapes.complete:
        return None
    tensors = {n: Tensor(n, tuple(e or "" for e in x)) for n, x in shapes.inputs.items()}
    inputs = tuple(tensors[n] for n in order if n in tensors)
    whole = with_inputs(found[0], inputs, types)
    return whole, tuple(
        with_inputs(stage, tuple(tensors[n] for n in line.read if n in tensors), types)
        for stage, line in zip(found[1:], lines[1:], strict=True)
    )


def _extents_known(shapes: Shapes, names: Names) -> None:
    for name, extents in shapes.inputs.items():
        if None in extents and not names.faults.items:
            names.faults.add(
                f'the extent of index {extents.index(None) + 1} of "{name}" is not given',
                shapes.places[name],
                f'read "{name}" somewhere with an index of its own there',
            )


def _order(readers: Mapping[str, LineResolver], output: str, names: Names) -> dict[str, None]:
    """Lines and inputs as they are first needed; a cycle is told once."""
    done: dict[str, None] = {}
    open_lines: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        line = readers.get(name)
        if line is None:
            done[name] = None
            return
        if name in open_lines:
            way = " -> ".join([*open_lines[open_lines.index(name) :], name])
            told = f"stages go round in a circle: {way}"
            names.faults.add(told, line.raw.output.span, "a stage reads what comes before it")
            done[name] = None
            return
        open_lines.append(name)
        for needed in line.read:
            visit(needed)
        open_lines.pop()
        done[name] = None

    visit(output)
    return done


def tensors(workload: Workload) -> tuple[Buffer, ...]:
    """Inputs, then the output, as global buffers with extents for shapes."""
    return tuple(
        Buffer(t.name, tuple(Var(e) for e in t.extents), "global", as_dtype(t.dtype))
        for t in (*workload.inputs, workload.output)
    )
