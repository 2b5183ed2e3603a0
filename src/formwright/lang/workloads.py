"""The lines of a workload, the output's and those of its stages (rules L6, L6a to L6c)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import Compare, Expr, Var
from formwright.ir.program import (
    Access,
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
from formwright.lang.faults import counted
from formwright.lang.names import Names, Symbol

PLACES = "an index of the output is an extent"


@dataclass(slots=True)
class Shapes:
    """What the lines of one workload say of tensors and stages, in the order of their texts.

    An extent of an input is None until a line reads it with an index that stands alone.
    """

    inputs: dict[str, list[str | None]] = field(default_factory=dict)
    places: dict[str, Span | None] = field(default_factory=dict)
    stages: dict[str, tuple[str, ...]] = field(default_factory=dict)
    complete: bool = True
    """Every name was found: the tensors are as the text means them."""


class LineResolver:
    """One line: extents in index position become indices, and tensors are gathered.

    ``outputs``: the name of the output and what it is called in messages, of all lines.
    """

    def __init__(self, raw: RawWorkload, shapes: Shapes, output: str, names: Names) -> None:
        self.raw = raw
        self.shapes = shapes
        self.output = output
        self.names = names
        self.faults = names.faults
        self.free: dict[str, tuple[str, str]] = {}
        """By the word in the text: the index and its extent."""
        self.reduced: dict[str, str] = {}
        self.read: dict[str, None] = {}
        """Inputs and stages that the value reads, in the order of its text."""

    def header(self) -> tuple[str, ...]:
        """The extents of the line's own tensor; the reductions are noted."""
        raw = self.raw
        self._plain(raw.output)
        for index in raw.output.index:
            self._place(index)
        for name, extent, span in raw.reductions:
            self._extent(extent, span)
            taken = name in (n for n, _ in self.free.values()) or name in self.reduced
            if taken or name in self.names.table:
                self.faults.add(f'the reduction index "{name}" is taken', span, "rename it")
            self.reduced[name] = extent
        return tuple(e for _, e in self.free.values())

    def line(self) -> Workload:
        """The line with its value read; inputs are filled in by who knows all lines."""
        value = self._value(self.raw.value)
        return Workload(
            Tensor(self.raw.output.buffer, tuple(e for _, e in self.free.values())),
            (),
            tuple(n for n, _ in self.free.values()),
            tuple((n, e) for n, e, _ in self.raw.reductions),
            value,
            self.raw.span,
            self.raw.combine,
        )

    def _extent(self, name: str, span: Span | None) -> bool:
        symbol = self.names.table.get(name)
        if symbol is not None and symbol.what == "an extent":
            return True
        known = [n for n, s in self.names.table.items() if s.what == "an extent"]
        self.faults.unknown("the extent", name, span, known)
        self.shapes.complete = False
        return False

    def _place(self, index: Expr) -> None:
        """An index of the output: an extent, or ``u < T`` where the name has to be another."""
        match index:
            case Var(extent):
                word, name = extent, extent.lower()
            case Compare("<", Var(name), Var(extent)):
                word = name
            case _:
                self.faults.add(PLACES, index.span, "write C[M,N]")
                return
        if not self._extent(extent, index.span):
            return
        if word in self.free or name in (n for n, _ in self.free.values()):
            self.faults.add(
                f'two indices of the output are called "{name}"',
                index.span,
                f"an index has its extent's name in lower case; name it: u < {extent}",
            )
        elif word == name and name in self.names.table:
            self.faults.add(f'the index "{name}" is taken', index.span, "rename it")
        self.free[word] = (name, extent)

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
                self._expr(expr, "number")
                return value
            case Op(_, args):
                return replace(value, args=tuple(self._value(a) for a in args))
            case Select(cond, then, other):
                self._expr(cond, "condition")
                return Select(cond, self._value(then), self._value(other), value.span)
            case _:
                assert_never(value)

    def _expr(self, expr: Expr, kind: str) -> None:
        """An expression over extents and the names of indices."""
        indices = [*(n for n, _ in self.free.values()), *self.reduced]
        new = [n for n in dict.fromkeys(indices) if n not in self.names.table]
        needed = {"condition": kinds.condition, "integer": kinds.integer, "number": kinds.number}
        with self.names.bound([(n, Symbol("an index", "integer", expr.span)) for n in new]):
            info = needed[kind](expr, self.names)
        if info.chip:
            self.faults.add("the workload does not depend on the chip", expr.span)

    def _input(self, access: Access) -> Access:
        self._plain(access)
        name = access.buffer
        if name == self.raw.output.buffer:
            what = "output" if name == self.output else "stage"
            self.faults.add(f"the {what} stands on the right-hand side", access.span)
            return access
        if name == self.output:
            self.faults.add("a stage does not read the output", access.span)
            return access
        self.read[name] = None
        pairs = [self._index(i) for i in access.index]
        self._shape(access, [e for _, e in pairs])
        return replace(access, index=tuple(i for i, _ in pairs))

    def _shape(self, access: Access, extents: list[str | None]) -> None:
        """What is known of a tensor's extents is the same wherever it is read."""
        name = access.buffer
        stage = self.shapes.stages.get(name)
        known: list[str | None]
        if stage is not None:
            known = list(stage)
        else:
            self.shapes.places.setdefault(name, access.span)
            known = self.shapes.inputs.setdefault(name, extents)
        if len(known) != len(extents):
            self.faults.add(
                f'"{name}" has {counted(len(known), "index", "indices")}, not {len(extents)}',
                access.span,
            )
        elif any(a and b and a != b for a, b in zip(known, extents, strict=True)):
            told = ", ".join(e or "…" for e in known)
            self.faults.add(f'"{name}" has the extents [{told}] before', access.span)
        else:
            merged = [a or b for a, b in zip(known, extents, strict=True)]
            if stage is None:
                self.shapes.inputs[name] = merged

    def _index(self, index: Expr) -> tuple[Expr, str | None]:
        """The index with extents in index position as indices, and the extent that it shows."""
        if not isinstance(index, Var):
            self._expr(index, "integer")
            return index, None
        if index.name in self.reduced:
            return index, self.reduced[index.name]
        if index.name in self.free:
            name, extent = self.free[index.name]
            return Var(name, index.span), extent
        if self._extent(index.name, index.span):
            self.faults.add(
                f'"{index.name}" is no index of the output',
                index.span,
                "reduce it: sum(k < K) …",
            )
        return Var(index.name.lower(), index.span), index.name


def with_inputs(
    line: Workload, inputs: tuple[Tensor, ...], types: Mapping[str, tuple[str, ...]]
) -> Workload:
    """``line`` with its inputs and the element types that the text gives."""

    def typed(tensor: Tensor) -> Tensor:
        first, *also = types.get(tensor.name, ("f32",))
        return replace(tensor, dtype=first, also=tuple(also))

    return replace(line, output=typed(line.output), inputs=tuple(typed(t) for t in inputs))
