"""Element types of one template: the ones that its text offers, and their sizes by name."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from formwright.ir.expr import Compare, Expr, Logic, Num, Var
from formwright.ir.program import Buffer, DType
from formwright.ir.rewrite import free_names
from formwright.ir.template import Parameter, Template, Tensor, Workload

BYTES: Mapping[str, int] = {"f64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1}
"""Bytes of an element."""

SIZE_MAX = max(BYTES.values())
"""The largest element, in bytes: what is proved holds for every size from 1 to this."""

_PREFIX = "bytes."


class ElementTypeError(Exception):
    """A tensor that the template does not have, or a type that it does not offer."""


def size_name(tensor: str) -> str:
    """The name of the bytes of an element of ``tensor`` in constraints and cost."""
    return _PREFIX + tensor


def sized(template: Template) -> Template:
    """``template`` with a parameter ``bytes.X`` for each element size that it names."""
    named = frozenset[str]().union(*(free_names(e) for e in _expressions(template)))
    workload = template.scope.workload
    names = [size_name(t.name) for t in (*workload.inputs, workload.output)]
    sizes = tuple(Parameter(n, _range(n)) for n in names if n in named)
    return replace(template, scope=replace(template.scope, sizes=sizes))


def _range(name: str) -> Expr:
    least = Compare(">=", Var(name), Num(Fraction(1)))
    return Logic("and", least, Compare("<=", Var(name), Num(Fraction(SIZE_MAX))))


def _expressions(template: Template) -> Iterator[Expr]:
    yield from (d.value for d in template.definitions)
    yield from (c.condition for c in template.constraints)
    yield from (r.condition for r in template.requires)
    if template.cost is not None:
        yield from (d.value for d in template.cost.definitions)
        yield from (b.value for b in template.cost.bounds)
        yield from (b.guard for b in template.cost.bounds if b.guard is not None)
        yield from template.cost.prefer
        if template.cost.energy is not None:
            yield template.cost.energy


def size_values(template: Template) -> dict[str, int]:
    """Values of the scope's ``bytes.X``, in bytes, for the element types that stand there."""
    workload = template.scope.workload
    bytes_of = {size_name(t.name): BYTES[t.dtype] for t in (*workload.inputs, workload.output)}
    return {p.name: bytes_of[p.name] for p in template.scope.sizes}


def with_dtypes(template: Template, dtypes: Mapping[str, str]) -> Template:
    """``template`` for these element types of its tensors; others keep their first one.

    Raises:
        ElementTypeError: no such tensor, or a type that its text does not offer.
    """
    workload = template.scope.workload
    tensors = {t.name: t for t in (*workload.inputs, workload.output)}
    for name, dtype in dtypes.items():
        if name not in tensors:
            raise ElementTypeError(f"{template.name} has no tensor {name}")
        offered = (tensors[name].dtype, *tensors[name].also)
        if dtype not in offered:
            told = f"{template.name} has {' or '.join(offered)} for {name}, not {dtype}"
            raise ElementTypeError(f"{told}: add it to the line dtypes")
    scope = replace(
        template.scope,
        workload=_retyped(workload, dtypes),
        stages=tuple(_retyped(s, dtypes) for s in template.scope.stages),
    )
    kept = tuple(_buffer(b, dtypes) for b in template.globals)
    return replace(template, scope=scope, globals=kept)


def _retyped(workload: Workload, dtypes: Mapping[str, str]) -> Workload:
    """With the chosen types; ``also`` keeps what else was offered, so that it can be undone."""

    def of(tensor: Tensor) -> Tensor:
        chosen = dtypes.get(tensor.name, tensor.dtype)
        offered = (tensor.dtype, *tensor.also)
        return replace(tensor, dtype=chosen, also=tuple(d for d in offered if d != chosen))

    inputs = tuple(of(t) for t in workload.inputs)
    return replace(workload, output=of(workload.output), inputs=inputs)


def _buffer(buffer: Buffer, dtypes: Mapping[str, str]) -> Buffer:
    return replace(buffer, dtype=as_dtype(dtypes.get(buffer.name, buffer.dtype)))


def as_dtype(name: str) -> DType:
    """The element type of that name; raises :class:`ElementTypeError` where there is none."""
    match name:
        case "f32" | "f64" | "bf16" | "f16" | "i32" | "i8":
            return name
    raise ElementTypeError(f"no element type {name}: there are {', '.join(BYTES)}")
