"""Bytes that a program moves into a memory of some size, and the operations it does.

The rule (``docs/roofline.md``): cells that come again after one iteration of a loop are found
where the cells of one iteration fit. So below the outermost loop of which one iteration fits
each cell moves once; loops above it move theirs anew in each iteration.
"""

from dataclasses import dataclass
from typing import assert_never

from formwright.ir.expr import Compare, Expr, Logic, Not
from formwright.ir.interval import Interval, bounds
from formwright.ir.program import Access, Home
from formwright.roofline.cells import Box, box_of, in_storage, union_bytes
from formwright.roofline.nest import Guard, Loop, Nest, Node, Point
from formwright.roofline.spans import Ranges, Spans
from formwright.roofline.sums import total


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes of one buffer: ``loads`` towards the core, ``stores`` away from it."""

    buffer: str
    loads: int
    stores: int

    @property
    def both(self) -> int:
        return self.loads + self.stores


@dataclass(frozen=True, slots=True)
class Memory:
    """What stands between a core and a level: ``size`` bytes, moved ``line`` at once.

    ``homes``: whose buffers live beyond it. Registers keep no line but single cells (1).
    """

    size: int
    line: int
    homes: frozenset[Home]
    takes: frozenset[Home]
    """Whose cells take room in it."""


def operations(nest: Nest) -> dict[str, int]:
    """How often the program does each operation (rule P8: a clipped point is done as well)."""
    return _Walk(nest, None).amounts(nest.root, dict(nest.fixed))


def moved(nest: Nest, memory: Memory) -> tuple[Moved, ...]:
    """Bytes between ``memory`` and what lies beyond it, by buffer; none where none moves.

    Raises :class:`formwright.roofline.spans.UnboundedError` where an index has no bound.
    """
    amounts = _Walk(nest, memory).amounts(nest.root, dict(nest.fixed))
    found = []
    for name in nest.buffers:
        loads, stores = amounts.get(f"<{name}", 0), amounts.get(f">{name}", 0)
        if loads or stores:
            found.append(Moved(name, loads, stores))
    return tuple(found)


@dataclass(slots=True)
class _Touched:
    """The boxes of one buffer in a part of the program."""

    reads: list[Box]
    writes: list[Box]
    assigned: list[Box]
    stored: list[Box]


class _Walk:
    """With a memory: bytes by ``<buffer`` and ``>buffer``. Without: operations by name."""

    def __init__(self, nest: Nest, memory: Memory | None) -> None:
        self.nest = nest
        self.memory = memory
        self.spans = Spans()
        self.known: dict[tuple[int, tuple[object, ...]], dict[str, int]] = {}
        self.allocated: dict[int, frozenset[str]] = {}

    def amounts(self, node: Node, ranges: dict[str, Interval]) -> dict[str, int]:
        match node:
            case Point(_, _, _, counts):
                return dict(counts) if self.memory is None else self.region(node, ranges)
            case Guard(cond, body):
                return {} if bounds(cond, ranges).hi <= 0 else self.block(body, ranges)
            case Loop():
                signature: list[object] = []
                self.observe(node, ranges, signature, {})
                key = (id(node), tuple(signature))
                if key not in self.known:
                    self.known[key] = self.loop(node, ranges)
                return self.known[key]
            case _:
                assert_never(node)

    def block(self, body: tuple[Node, ...], ranges: dict[str, Interval]) -> dict[str, int]:
        found: dict[str, int] = {}
        for node in body:
            for name, amount in self.amounts(node, ranges).items():
                found[name] = found.get(name, 0) + amount
        return found

    def loop(self, node: Loop, ranges: dict[str, Interval]) -> dict[str, int]:
        lo, hi = self.spans(node.lo, ranges)[0], self.spans(node.hi, ranges)[1]
        if lo >= hi:
            return {}
        if self.memory is not None:
            ends = ({**ranges, node.var: Interval(v, v)} for v in {lo, hi - 1})
            if all(self.room(node.body, end) <= self.memory.size for end in ends):
                return self.region(node, ranges)
        return total(lambda v: self.block(node.body, {**ranges, node.var: Interval(v, v)}), lo, hi)

    def room(self, body: tuple[Node, ...], ranges: Ranges) -> int:
        """Bytes that one iteration touches."""
        assert self.memory is not None
        found: dict[str, _Touched] = {}
        for node in body:
            self.touch(node, ranges, found)
        size = 0
        for name, touched in found.items():
            buffer = self.nest.buffers[name]
            if buffer.home in self.memory.takes:
                size += union_bytes(touched.stored, buffer, self.memory.line)
        return size

    def region(self, node: Node, ranges: Ranges) -> dict[str, int]:
        """Each cell once: what is read and not assigned here comes in, what outlives it goes out.

        By rule P3 the one ``=`` of a cell stands before its reads, so a cell assigned in here
        is not loaded.
        """
        assert self.memory is not None
        found: dict[str, _Touched] = {}
        self.touch(node, ranges, found)
        amounts: dict[str, int] = {}
        for name, touched in found.items():
            buffer = self.nest.buffers[name]
            if buffer.home not in self.memory.homes or name in self.dies(node):
                continue
            line = self.memory.line
            assigned = union_bytes(touched.assigned, buffer, line)
            together = union_bytes([*touched.reads, *touched.assigned], buffer, line)
            amounts[f"<{name}"] = max(0, together - assigned)
            amounts[f">{name}"] = union_bytes(touched.writes, buffer, line)
        return amounts

    def dies(self, node: Node) -> frozenset[str]:
        """Buffers that are allocated in here."""
        if id(node) not in self.allocated:
            born: frozenset[str] = frozenset()
            if not isinstance(node, Point):
                own = node.born if isinstance(node, Loop) else frozenset()
                born = own.union(*(self.dies(n) for n in node.body))
            self.allocated[id(node)] = born
        return self.allocated[id(node)]

    def touch(self, node: Node, ranges: Ranges, found: dict[str, _Touched]) -> None:
        match node:
            case Point(reads, write, assigns, _):
                for access in reads:
                    self.note(access, ranges, found, ("reads",))
                kinds = ("writes", "assigned") if assigns else ("writes",)
                self.note(write, ranges, found, kinds)
            case Guard(cond, body):
                if bounds(cond, ranges).hi > 0:
                    for inner in body:
                        self.touch(inner, ranges, found)
            case Loop(var, lo, hi, body):
                first, last = self.spans(lo, ranges)[0], self.spans(hi, ranges)[1]
                if first < last:
                    inside = {**ranges, var: Interval(first, last - 1)}
                    for inner in body:
                        self.touch(inner, inside, found)
            case _:
                assert_never(node)

    def note(
        self,
        access: Access,
        ranges: Ranges,
        found: dict[str, _Touched],
        kinds: tuple[str, ...],
    ) -> None:
        buffer = self.nest.buffers[access.buffer]
        box = box_of(access, buffer, ranges, self.spans)
        if box is None:
            return
        touched = found.setdefault(access.buffer, _Touched([], [], [], []))
        for kind in kinds:
            getattr(touched, kind).append(box)
        touched.stored.append(in_storage(box, buffer, ranges, self.spans))

    def observe(
        self,
        node: Node,
        ranges: Ranges,
        seen: list[object],
        first: dict[str, tuple[int, ...]],
    ) -> None:
        """All that the amounts of ``node`` depend on; equal lists, equal amounts.

        Trip counts, what guards compare, the sides of boxes after clipping, and where boxes of
        one buffer lie to each other; not where they lie in the buffer.
        """
        match node:
            case Point(reads, write, _, _):
                if self.memory is not None:
                    for access in (*reads, write):
                        self.observe_access(access, ranges, seen, first)
            case Guard(cond, body):
                _observe_condition(cond, ranges, seen)
                if bounds(cond, ranges).hi > 0:
                    for inner in body:
                        self.observe(inner, ranges, seen, first)
            case Loop(var, lo, hi, body):
                (a, b), (c, d) = self.spans(lo, ranges), self.spans(hi, ranges)
                seen.append((c - b, d - a))
                if a < d:
                    inside = {**ranges, var: Interval(a, d - 1)}
                    for inner in body:
                        self.observe(inner, inside, seen, first)
            case _:
                assert_never(node)

    def observe_access(
        self,
        access: Access,
        ranges: Ranges,
        seen: list[object],
        first: dict[str, tuple[int, ...]],
    ) -> None:
        buffer = self.nest.buffers[access.buffer]
        box = box_of(access, buffer, ranges, self.spans)
        if box is None:
            seen.append(None)
            return
        corner = tuple(side.lo for side in box)
        start = first.setdefault(access.buffer, corner)
        seen.append(tuple((s.length, s.count) for s in box))
        seen.append(tuple(a - b for a, b in zip(corner, start, strict=True)))
        if access.clip:
            seen.append(_beyond(access, box, ranges, self.spans))


def _beyond(access: Access, box: Box, ranges: Ranges, spans: Spans) -> tuple[object, ...]:
    """How much of each side is clipped away."""
    sides = box[len(box) - len(access.index) :]
    found: list[object] = []
    for index, side in zip(access.index, sides, strict=True):
        lo, hi = spans(index, ranges)
        found.append((side.lo - lo, hi - side.hi))
    return tuple(found)


def _observe_condition(cond: Expr, ranges: Ranges, seen: list[object]) -> None:
    match cond:
        case Compare(_, left, right):
            a, b = bounds(left, ranges), bounds(right, ranges)
            seen.append((a.lo - b.hi, a.hi - b.lo))
        case Logic(_, left, right):
            _observe_condition(left, ranges, seen)
            _observe_condition(right, ranges, seen)
        case Not(arg):
            _observe_condition(arg, ranges, seen)
        case _:
            seen.append(bounds(cond, ranges))
