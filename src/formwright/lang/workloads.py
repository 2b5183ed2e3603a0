"""The workload line: tensors, free indices and reductions (rule L6)."""

from dataclasses import replace
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import Expr, Var
from formwright.ir.program import (
    Access,
    Buffer,
    DType,
    Index,
    Literal,
    Op,
    Read,
    Select,
    Value,
)
from formwright.ir.template import Tensor, Workload
from formwright.lang import kinds
from formwright.lang.draft import RawWorkload
from formwright.lang.names import Names, Symbol


class WorkloadResolver:
    """Turns extents in index position into indices, and gathers the tensors."""

    def __init__(self, raw: RawWorkload, dtypes: dict[str, DType], names: Names) -> None:
        self.raw = raw
        self.dtypes = dtypes
        self.names = names
        self.faults = names.faults
        self.free: dict[str, str] = {}
        self.reduced: dict[str, str] = {}
        self.inputs: dict[str, Tensor] = {}
        self.complete = True
        """Every name was found: the tensors are as the text means them."""

    def workload(self) -> Workload:
        raw = self.raw
        self._output()
        for name, extent, span in raw.reductions:
            self._extent(extent, span)
            taken = name in self.free.values() or name in self.reduced
            if taken or name in self.names.table:
                self.faults.add(f'the reduction index "{name}" is taken', span, "rename it")
            self.reduced[name] = extent
        value = self._value(raw.value)
        output = Tensor(raw.output.buffer, tuple(self.free), self._dtype(raw.output.buffer))
        reductions = tuple((n, e) for n, e, _ in raw.reductions)
        return Workload(
            output,
            tuple(self.inputs.values()),
            tuple(self.free.values()),
            reductions,
            value,
            raw.span,
        )

    def _dtype(self, tensor: str) -> DType:
        return self.dtypes.get(tensor, "f32")

    def _extent(self, name: str, span: Span | None) -> bool:
        symbol = self.names.table.get(name)
        if symbol is not None and symbol.what == "an extent":
            return True
        known = [n for n, s in self.names.table.items() if s.what == "an extent"]
        self.faults.unknown("the extent", name, span, known)
        self.complete = False
        return False

    def _output(self) -> None:
        access = self.raw.output
        self._plain(access)
        for index in access.index:
            if not isinstance(index, Var):
                self.faults.add("an index of the output is an extent", index.span, "write C[M,N]")
            elif self._extent(index.name, index.span):
                name = index.name.lower()
                if index.name in self.free or name in self.free.values():
                    self.faults.add(
                        f'two indices of the output are called "{name}"',
                        index.span,
                        "an index has its extent's name in lower case",
                    )
                self.free[index.name] = name

    def _plain(self, access: Access) -> None:
        if access.generation is not None:
            self.faults.add("a tensor of the workload has no generation", access.span)

    def _value(self, value: Value) -> Value:
        match value:
            case Literal():
                return value
            case Read(access):
                return Read(self._input(access), value.span)
            case Index(expr):
                self._expr(expr, False)
                return value
            case Op(_, args):
                return replace(value, args=tuple(self._value(a) for a in args))
            case Select(cond, then, other):
                self._expr(cond, True)
                return Select(cond, self._value(then), self._value(other), value.span)
            case _:
                assert_never(value)

    def _expr(self, expr: Expr, truth: bool) -> None:
        """An expression over extents and the names of indices."""
        indices = [*self.free.values(), *self.reduced]
        new = [n for n in dict.fromkeys(indices) if n not in self.names.table]
        with self.names.bound([(n, Symbol("an index", "integer", expr.span)) for n in new]):
            info = (kinds.condition if truth else kinds.number)(expr, self.names)
        if info.chip:
            self.faults.add("the workload does not depend on the chip", expr.span)

    def _input(self, access: Access) -> Access:
        self._plain(access)
        if access.buffer == self.raw.output.buffer:
            self.faults.add("the output stands on the right-hand side", access.span)
            return access
        pairs = [self._index(i) for i in access.index]
        tensor = Tensor(access.buffer, tuple(e for _, e in pairs), self._dtype(access.buffer))
        known = self.inputs.setdefault(access.buffer, tensor)
        if known != tensor:
            self.faults.add(
                f'"{access.buffer}" has the extents [{", ".join(known.extents)}] before',
                access.span,
            )
        return replace(
            access,
            index=tuple(Var(n, i.span) for (n, _), i in zip(pairs, access.index, strict=True)),
        )

    def _index(self, index: Expr) -> tuple[str, str]:
        """The name of an index and its extent."""
        if not isinstance(index, Var):
            self.faults.add(
                "an index of the workload is an extent or a reduction index", index.span
            )
            return "", ""
        if index.name in self.reduced:
            return index.name, self.reduced[index.name]
        if index.name in self.free:
            return self.free[index.name], index.name
        if self._extent(index.name, index.span):
            self.faults.add(
                f'"{index.name}" is no index of the output',
                index.span,
                "reduce it: sum(k < K) …",
            )
        return index.name.lower(), index.name


def tensors(workload: Workload) -> tuple[Buffer, ...]:
    """Inputs, then the output, as global buffers with extents for shapes."""
    return tuple(
        Buffer(t.name, tuple(Var(e) for e in t.extents), "global", _as_dtype(t.dtype))
        for t in (*workload.inputs, workload.output)
    )


def _as_dtype(name: str) -> DType:
    match name:
        case "f32" | "f64" | "bf16" | "f16" | "i32" | "i8":
            return name
    raise AssertionError(f"no element type {name}")
