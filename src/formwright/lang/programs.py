"""Names, shapes and places of statements (rules L40 to L49): blocks to the program IR."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import Arith, Expr
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    BoxVar,
    Buffer,
    Commit,
    For,
    Hint,
    Home,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.rewrite import accesses
from formwright.ir.show import show_access, show_expr
from formwright.lang import kinds
from formwright.lang.boxes import inferred_box
from formwright.lang.draft import Block, RawApply
from formwright.lang.faults import counted
from formwright.lang.names import Names, Symbol
from formwright.lang.realising import Keeping, in_program


class ProgramResolver:
    """Walks the blocks once, with the names and buffers that are visible at each place."""

    def __init__(
        self, tensors: tuple[Buffer, ...], output: str, names: Names, keeping: Keeping
    ) -> None:
        self.names = names
        self.faults = names.faults
        self.output = output
        self.keeping = keeping
        self.buffers = {t.name: t for t in tensors}
        self.pars: list[str] = []
        self.arrived: set[str] = set()
        self.placed: dict[str, bool] = {}
        self.awaited: list[tuple[str, Span]] = []

    def program(self, blocks: tuple[Block, ...]) -> tuple[Stmt, ...]:
        """The statements; every fault is told."""
        found = self._block(blocks)
        for counter, span in self.awaited:
            if counter not in self.arrived:
                hint = self.faults.nearest(counter, self.arrived) or f"add arrive {counter}"
                self.faults.add(f'nobody arrives at "{counter}"', span, hint)
        return found

    def _block(self, blocks: tuple[Block, ...]) -> tuple[Stmt, ...]:
        allocated: list[str] = []
        found: list[Stmt] = []
        for block in blocks:
            if block.head is None:
                found.extend(self._block(block.body))
            else:
                found.append(self._statement(block.head, block, allocated))
        for name in allocated:
            del self.names.table[name]
            del self.buffers[name]
        return tuple(found)

    def _statement(self, head: Stmt | RawApply, block: Block, allocated: list[str]) -> Stmt:
        match head:
            case RawApply():
                return self._apply(head)
            case Alloc(buffers):
                for buffer in buffers:
                    self._buffer(buffer, allocated)
                for buffer in buffers:
                    self.keeping.met(buffer)
                return head
            case For(var, lo, hi):
                self._integer(lo)
                self._integer(hi)
                with self._bound("a loop", (var,), block.spans):
                    return replace(head, body=self._block(block.body))
            case Par(kind, variables, extents):
                for extent in extents:
                    self._integer(extent)
                self.pars.append(kind)
                with self._bound(f"a name of par {kind}", variables, block.spans):
                    body = self._block(block.body)
                self.pars.pop()
                return replace(head, body=body)
            case If(cond):
                self._in_program(kinds.condition(cond, self.names), cond)
                return replace(head, body=self._block(block.body))
            case Barrier():
                if self.pars[-1:] != ["team"] and not self.faults.lost_headers:
                    self.faults.add("a barrier outside a team", head.span, "put it in par team")
                return head
            case Wait(pending):
                self._integer(pending)
                return head
            case Arrive(counter, place):
                self._counter(counter, place, head.span)
                self.arrived.add(counter)
                return head
            case Await(counter, count, place, phase):
                self._counter(counter, place, head.span)
                self._integer(count)
                if phase is not None:
                    self._integer(phase)
                self.awaited.append((counter, block.spans[0]))
                return head
            case Hint(_, factor, access):
                self._integer(factor)
                if access is not None:
                    self._access(access)
                return head
            case Commit():
                return head
            case Apply():
                raise AssertionError("applies are raw before they are resolved")
            case _:
                assert_never(head)

    @contextmanager
    def _bound(self, what: str, names: tuple[str, ...], spans: tuple[Span, ...]) -> Iterator[None]:
        pairs = [(n, Symbol(what, "integer", s)) for n, s in zip(names, spans, strict=True)]
        with self.names.bound(pairs):
            yield

    def _counter(self, name: str, place: Expr | None, span: Span | None) -> None:
        if place is not None:
            self._integer(place)
        if self.placed.setdefault(name, place is not None) != (place is not None):
            self.faults.add(
                f'the counter "{name}" has a place here and none elsewhere, or the other way round',
                span,
                f"write {name}[e] everywhere, or nowhere",
            )
        if "team" not in self.pars and not self.faults.lost_headers:
            self.faults.add("a counter outside a team", span, "put it in par team")
        taken = self.names.table.get(name)
        if taken is not None:
            self.faults.add(f'"{name}" is already {taken.what}', span, "take another name")

    def _integer(self, expr: Expr) -> None:
        self._in_program(kinds.integer(expr, self.names), expr)

    def _in_program(self, info: kinds.Info, expr: Expr) -> None:
        in_program(info, expr, self.names)

    def _buffer(self, buffer: Buffer, allocated: list[str]) -> None:
        for extent in buffer.shape:
            self._integer(extent)
        if buffer.ring is not None:
            self._integer(buffer.ring)
        if buffer.home == "global":
            self.faults.add(
                "the program allocates no global buffer",
                buffer.span,
                "tensors of the workload are global; take shared, scratch or register",
            )
        if not 0 <= buffer.dist <= len(buffer.shape):
            self.faults.add(
                f"dist {buffer.dist} of a buffer with "
                f"{counted(len(buffer.shape), 'index', 'indices')}",
                buffer.span,
            )
        if self.names.declare(buffer.name, Symbol("a buffer", "any", buffer.span)):
            home: Home = "shared" if buffer.home == "global" else buffer.home
            self.buffers[buffer.name] = replace(buffer, home=home)
            allocated.append(buffer.name)

    def _apply(self, raw: RawApply) -> Apply:
        box = self._box(raw)
        names = [(b.name, Symbol("a name of the box", "integer", s)) for b, s in box]
        with self.names.bound(names):
            touched = [self._access(raw.destination), *self._value(raw.value)]
        self._one_owner(raw)
        if raw.clip is not None and not {"global", ""} & set(touched):
            self.faults.add(
                "there is no tensor here to clip", raw.clip, "clip is about global tensors only"
            )
        written = self.buffers.get(raw.destination.buffer)
        if written and written.home == "global" and written.name != self.output:
            self.faults.add(
                f'"{written.name}" is an input: it is not written',
                raw.destination.span,
                f'the output is "{self.output}"' if self.output else None,
            )
        clip = raw.clip is not None
        return Apply(
            tuple(b for b, _ in box),
            self._clipped(raw.destination, clip),
            raw.op,
            self._clipped_value(raw.value, clip),
            raw.asynchronous,
            raw.span,
        )

    def _one_owner(self, raw: RawApply) -> None:
        """Accesses with ``dist`` must name the same owner (rule P4)."""
        first: tuple[Access, tuple[Expr, ...]] | None = None
        for access in (raw.destination, *accesses(raw.value)):
            buffer = self.buffers.get(access.buffer)
            if buffer is None or not buffer.dist:
                continue
            deciding = access.index[: buffer.dist]
            if first is None:
                first = (access, deciding)
            elif deciding != first[1]:
                here, there = (", ".join(map(show_expr, d)) for d in (deciding, first[1]))
                self.faults.add(
                    f"two owners for one point: [{here}] decides here, "
                    f"[{there}] in {show_access(first[0])}",
                    access.span,
                    "give both the same first indices, or copy through a buffer without dist",
                )
                return

    def _box(self, raw: RawApply) -> list[tuple[BoxVar, Span]]:
        if raw.box is None:
            return [(b, raw.span) for b in inferred_box(raw, self.buffers, self.names)]
        for var, _ in raw.box:
            self._integer(var.extent)
        return list(raw.box)

    def _access(self, access: Access) -> str:
        """Checks it and gives the buffer's home, or an empty text when it is unknown."""
        for index in access.index:
            self._integer(index)
        if access.generation is not None:
            self._integer(access.generation)
        buffer = self.buffers.get(access.buffer)
        if buffer is None:
            self._no_buffer(access)
            return ""
        if len(access.index) != len(buffer.shape):
            self.faults.add(
                f'"{buffer.name}" has {counted(len(buffer.shape), "index", "indices")}, '
                f"not {len(access.index)}",
                access.span,
                f"its shape is [{', '.join(map(show_expr, buffer.shape))}]",
            )
        self._generation(access, buffer)
        return buffer.home

    def _no_buffer(self, access: Access) -> None:
        symbol = self.names.table.get(access.buffer)
        if symbol is not None:
            hint = None
            if symbol.what == "a stage":
                hint = "name the buffer that keeps it, as the section realise says"
            self.faults.add(f'"{access.buffer}" is {symbol.what}, not a buffer', access.span, hint)
            return
        if self.output and access.buffer not in self.faults.tolerated:
            hint = self.faults.nearest(access.buffer, self.buffers)
            self.faults.add(
                f'the buffer "{access.buffer}" is not allocated here',
                access.span,
                hint or "alloc it above, in this block or one around it",
            )

    def _generation(self, access: Access, buffer: Buffer) -> None:
        generation, ring = access.generation, buffer.ring
        if generation is None and ring is not None:
            self.faults.add(
                f'"{buffer.name}" is a ring: say which generation',
                access.span,
                f"write {buffer.name}<…>[…]",
            )
        elif generation is not None and ring is None:
            self.faults.add(
                f'"{buffer.name}" is not a ring and has one generation',
                access.span,
                f"write {buffer.name}[…], or alloc it with ring",
            )
        elif isinstance(generation, Arith) and generation.op == "mod" and ring is not None:
            whole = show_expr(generation.left)
            if generation.right != ring:
                message = (
                    f'"{buffer.name}" is a ring of {show_expr(ring)}, '
                    f"not of {show_expr(generation.right)}"
                )
            else:
                slot = show_expr(generation)
                message = f"a generation is not reduced: the slot of {whole} is {slot} already"
            self.faults.add(message, generation.span, f"write {buffer.name}<{whole}>[…]")

    def _value(self, value: Value) -> list[str]:
        """Checks every part; the homes of the buffers read."""
        match value:
            case Literal():
                return []
            case Read(access):
                return [self._access(access)]
            case Index(expr):
                self._in_program(kinds.number(expr, self.names), expr)
                return []
            case Op(_, args):
                return [home for arg in args for home in self._value(arg)]
            case Select(cond, then, other):
                self._in_program(kinds.condition(cond, self.names), cond)
                return [*self._value(then), *self._value(other)]
            case _:
                assert_never(value)

    def _clipped(self, access: Access, clip: bool) -> Access:
        buffer = self.buffers.get(access.buffer)
        if not clip or buffer is None or buffer.home != "global":
            return access
        return replace(access, clip=True)

    def _clipped_value(self, value: Value, clip: bool) -> Value:
        match value:
            case Literal() | Index():
                return value
            case Read(access):
                return replace(value, access=self._clipped(access, clip))
            case Op(_, args):
                return replace(value, args=tuple(self._clipped_value(a, clip) for a in args))
            case Select(_, then, other):
                return replace(
                    value,
                    then=self._clipped_value(then, clip),
                    other=self._clipped_value(other, clip),
                )
            case _:
                assert_never(value)
