"""What the emitter knows at a place of the program, and the text it writes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

from formwright.base.diagnostics import fail
from formwright.base.source import Span
from formwright.codegen.cexpr import c_integer
from formwright.codegen.elements import F32, Element, Panel, element, stored
from formwright.codegen.linear import Linear, Range, range_of
from formwright.codegen.places import Bound, Place
from formwright.codegen.target import Target
from formwright.ir.expr import Expr
from formwright.ir.program import Alloc, Buffer
from formwright.ir.rewrite import free_names

INDENT = "    "

HEAD = 64
"""Bytes before a buffer where something is noted of its cells; these stay aligned."""


@dataclass(slots=True)
class Writer:
    """Lines of C with their indentation."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text if text else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head + " {" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True, slots=True)
class Storage:
    """A buffer in scratch memory: its C name and its size in elements (over the extents).

    ``head``: bytes that are kept before its first element.
    """

    name: str
    elements: str
    kind: Element = F32
    head: int = 0


@dataclass(frozen=True, slots=True)
class Tile:
    """A buffer in C variables ``name_row_vector``: ``leading`` are its dimensions before the lanes.

    ``vectors`` vectors make the last dimension; with 0 of them the tile has no lanes: each cell is
    a scalar variable and ``leading`` are all dimensions.
    With ``row_bound`` and ``column_bound`` the enclosing C function has the constants ``rows``,
    ``vectors`` and ``partial``: cells outside the bounds are not computed, nothing reads them.
    """

    name: str
    leading: tuple[int, ...]
    vectors: int
    row_bound: Bound | None = None
    column_bound: Bound | None = None
    special: bool = False

    @property
    def rows(self) -> int:
        """Cells, or rows of vectors."""
        return prod(self.leading)


@dataclass(slots=True)
class Output:
    """The parts of the library that grow while the program is read."""

    target: Target
    extents: frozenset[str]
    functions: list[str] = field(default_factory=list)
    shared: list[Storage] = field(default_factory=list)
    private: list[Storage] = field(default_factory=list)
    ahead: list[Storage] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    """Loop variables of the driver, which the phases read from the environment."""
    used: dict[str, int] = field(default_factory=dict)
    calls: bool = False
    """Values are put together by calls in the place of C's operators."""
    lanes: Mapping[int, bool] = field(default_factory=dict)
    """By ``id`` of a register buffer: whether its last dimension is lanes of vectors."""
    panels: frozenset[str] = frozenset()
    """Buffers that the matrix units may read."""
    coded: frozenset[str] = frozenset()
    """Buffers that are kept in fewer bits once they are packed ahead."""
    codings: list[str] = field(default_factory=list)
    """The calls that do that, for ``e`` and the extents in sight."""
    multiplies: bool = False
    """Whether some statement uses the matrix units."""

    def fresh(self, name: str) -> str:
        """A C name that no other place has: the second ``b_Bp`` is ``b_Bp_2``."""
        self.used[name] = self.used.get(name, 0) + 1
        return name if self.used[name] == 1 else f"{name}_{self.used[name]}"


@dataclass(frozen=True, slots=True)
class Context:
    """Names, ranges and buffers in sight; ``level`` tells the driver from the agent of a phase.

    ``environment`` and ``locals`` are the C declarations (type, name) of what a function called
    from here reads from ``e`` and takes as arguments.
    """

    output: Output
    writer: Writer
    level: Literal["driver", "agent"]
    names: Mapping[str, str]
    ranges: Mapping[str, Range]
    places: Mapping[str, Place]
    tiles: Mapping[str, Tile]
    environment: tuple[tuple[str, str], ...]
    locals: tuple[tuple[str, str], ...] = ()
    packing_ahead: bool = False
    facts: tuple[Linear, ...] = ()
    """Forms that are known to be >= 0 here, since the code before has compared."""
    splits: int = 0
    """How often the block was written twice, with facts and without."""
    streamed: str | None = None
    """The buffer whose stores here go past the caches."""

    def place(self, buffer: str) -> Place:
        return self.places[buffer]


def bind(context: Context, var: str, lo: Expr, hi: Expr) -> Context:
    """``context`` with a loop variable in sight."""
    name = f"i_{var}"
    declared = ("int64_t", name)
    inside = replace(
        context,
        names={**context.names, var: name},
        ranges={**context.ranges, var: range_of(lo, hi)},
    )
    if context.level == "driver":
        if name not in context.output.counters:
            context.output.counters.append(name)
        return replace(inside, environment=(*context.environment, declared))
    return replace(inside, locals=(*context.locals, declared))


def place_buffers(context: Context, alloc: Alloc) -> Context:
    """``context`` with the buffers of ``alloc`` in memory; what each agent has is its own."""
    for buffer in alloc.buffers:
        context = _place_buffer(context, buffer, alloc.span)
    return context


def _place_buffer(context: Context, buffer: Buffer, span: Span | None) -> Context:
    where = buffer.span or span
    kind = stored(buffer.name, element(buffer.name, buffer.dtype, where), where)
    sizes = [*buffer.shape, *([] if buffer.ring is None else [buffer.ring])]
    for size in sizes:
        varying = free_names(size) - context.output.extents
        if varying:
            raise fail(
                f'the size of {buffer.name} varies with "{min(varying)}": '
                "emitted code asks for its memory before it runs",
                where,
                "give the largest size, over decisions and extents only",
            )
    elements = " * ".join(c_integer(size, context.names) for size in sizes)
    name = context.output.fresh(f"b_{buffer.name}")
    watched = kind.dtype == "bf16" and buffer.name in context.output.panels
    if watched:
        kind = Panel(kind.dtype, kind.c_type, kind.size, kind.suffix, name=name)
    coded = buffer.name in context.output.coded
    storage = Storage(name, elements, kind, HEAD if watched or coded else 0)
    place = Place(name, buffer.shape, "memory", buffer.ring, kind=kind)
    pointer = f"{kind.c_type} *"
    inside = replace(context, places={**context.places, buffer.name: place})
    if context.level == "driver":
        kept = context.output.ahead if context.packing_ahead else context.output.shared
        kept.append(storage)
        context.writer.line(f"{pointer}const {name} FW_MAYBE = e->{name};")
        if watched:
            context.writer.line(f"fw_watch({name});")
        if coded:
            context.writer.line(f"fw_rows_plain({name});")
            counts = ", ".join(c_integer(size, context.names) for size in buffer.shape[:-1])
            call = f"fw_code_rows{kind.suffix}(e->{name}, {counts});"
            context.output.codings.append(call)
        return replace(inside, environment=(*context.environment, (pointer, name)))
    context.output.private.append(storage)
    context.writer.line(f"{pointer}const {name} = ({pointer})(slice + e->o_{name});")
    if watched:
        context.writer.line(f"fw_watch({name});")
    return replace(inside, locals=(*context.locals, (pointer, name)))


def outside_tiles(context: Context) -> Context:
    return replace(context, tiles={})
