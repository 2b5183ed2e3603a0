"""The section ``realise``: which buffer keeps a stage, and where in it (rule L13a)."""

from collections.abc import Sequence

from formwright.ir.expr import Expr, Var
from formwright.ir.program import Access, Buffer
from formwright.ir.rewrite import free_names
from formwright.ir.template import Realised, Workload
from formwright.lang import kinds
from formwright.lang.draft import RawRealised
from formwright.lang.faults import counted
from formwright.lang.names import Names, Symbol


class Keeping:
    """Reads each line at the ``alloc`` of its buffer, with the names that are in sight there."""

    def __init__(
        self, raw: Sequence[RawRealised], stages: Sequence[Workload], names: Names
    ) -> None:
        self.names = names
        self.faults = names.faults
        self.stages = {s.output.name: s for s in stages}
        self.met_at: dict[int, Buffer] = {}
        self.read: dict[int, Realised] = {}
        self.raw = self._own(raw)

    @property
    def found(self) -> tuple[Realised, ...]:
        """The lines in the order of the text."""
        return tuple(self.read[n] for n in sorted(self.read))

    def _own(self, raw: Sequence[RawRealised]) -> list[RawRealised]:
        """Lines about a stage that there is, each once."""
        kept: dict[str, RawRealised] = {}
        buffers: set[str] = set()
        for one in raw:
            name = one.stage.buffer
            if name not in self.stages:
                if self.stages or name not in self.faults.tolerated:
                    self.faults.unknown("the stage", name, one.stage.span, self.stages)
            elif name in kept:
                hint = "one buffer keeps a stage: copy it from there"
                self.faults.add(f'the stage "{name}" is kept twice', one.stage.span, hint)
            elif one.buffer.buffer in buffers:
                told = f'the buffer "{one.buffer.buffer}" keeps a stage already'
                self.faults.add(told, one.buffer.span, "give each stage a buffer of its own")
            else:
                kept[name] = one
            buffers.add(one.buffer.buffer)
        return list(kept.values())

    def met(self, buffer: Buffer) -> None:
        """An ``alloc``: the lines about this buffer are read with the names of this place."""
        for number, raw in enumerate(self.raw):
            if raw.buffer.buffer != buffer.name:
                continue
            if number in self.met_at:
                told = f'"{buffer.name}", which keeps a stage, is allocated twice'
                self.faults.add(told, buffer.span, "give one of them another name")
                continue
            self.met_at[number] = buffer
            self.read[number] = self._line(raw, buffer)

    def _line(self, raw: RawRealised, buffer: Buffer) -> Realised:
        names = self._fresh(raw.buffer, buffer)
        stage = self.stages[raw.stage.buffer]
        wanted = len(stage.output.extents)
        if len(raw.stage.index) != wanted:
            told = f'"{raw.stage.buffer}" has {counted(wanted, "index", "indices")}'
            self.faults.add(f"{told}, not {len(raw.stage.index)}", raw.stage.span)
        for access in (raw.stage, raw.buffer):
            if access.generation is not None:
                self.faults.add("no generation can stand here", access.span)
        if buffer.ring is not None:
            hint = "allocate it in the loop: each alloc is new storage"
            self.faults.add(f'"{buffer.name}" is a ring: it keeps no stage', buffer.span, hint)
        symbols = [(n, Symbol("an index of a buffer", "integer", raw.span)) for n in names]
        with self.names.bound(symbols):
            for index in raw.stage.index:
                in_program(kinds.integer(index, self.names), index, self.names)
        return Realised(raw.stage.buffer, raw.stage.index, buffer.name, names, raw.span)

    def _fresh(self, access: Access, buffer: Buffer) -> tuple[str, ...]:
        """The names of the buffer's indices: one each, all different, not in use."""
        found: list[str] = []
        for index in access.index:
            if not isinstance(index, Var) or index.name in found:
                hint = f"write {buffer.name}[r] with a new name for each index"
                self.faults.add("an index of the buffer is a new name here", index.span, hint)
            else:
                found.append(index.name)
        wanted = len(buffer.shape)
        if len(access.index) != wanted:
            told = f'"{buffer.name}" has {counted(wanted, "index", "indices")}'
            self.faults.add(f"{told}, not {len(access.index)}", access.span)
        return tuple(found)

    def finish(self, step: bool) -> None:
        """What the program did not bring: buffers that it has not, stages that it does not keep."""
        faults = self.faults
        for number, raw in enumerate(self.raw):
            if number in self.met_at or raw.buffer.buffer in faults.tolerated:
                continue
            if step:
                faults.add("a step has no buffers", raw.span, "leave out the section realise")
            elif raw.buffer.buffer in self.names.table:
                what = self.names.table[raw.buffer.buffer].what
                told = f'"{raw.buffer.buffer}" is {what}, not a buffer of the program'
                faults.add(told, raw.buffer.span, "a stage is kept in a buffer that is allocated")
            else:
                told = f'the buffer "{raw.buffer.buffer}" is allocated nowhere'
                faults.add(told, raw.buffer.span, "alloc it where the stage is computed")
        kept = {r.stage.buffer for r in self.raw}
        for name, stage in self.stages.items():
            if name not in kept and not step and not faults.items:
                told = f'no buffer keeps the stage "{name}"'
                faults.add(told, stage.span, f"add a section realise with {name}[…] = buffer[…]")


def in_program(info: kinds.Info, expr: Expr, names: Names) -> None:
    """Tells where the program would depend on the chip or on the size of an element."""
    if not info.chip:
        return
    if any(n.startswith("bytes.") for n in free_names(expr)):
        told = "the program depends on the size of an element here"
        hint = "make it a decision; constraints tie decisions to it"
    else:
        told = "the program depends on the chip here"
        hint = "make it a decision; constraints tie decisions to the chip"
    names.faults.add(told, expr.span, hint)
