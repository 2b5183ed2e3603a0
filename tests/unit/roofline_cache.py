"""A cache that is simulated access by access: what the rule of the model is compared with."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from formwright.ir.evaluate import integer, truth
from formwright.ir.expr import Scalar
from formwright.ir.program import Access
from formwright.ir.types import BYTES
from formwright.roofline.nest import Guard, Loop, Nest, Node
from formwright.roofline.traffic import Memory

Line = tuple[str, int, int]
"""A buffer, which of its allocations, and the number of the line in it."""


@dataclass
class Cache:
    """Fully associative, least recently used; a line is loaded when it is read and not there.

    Lines of a buffer whose block has ended are dropped: nobody reads them again.
    """

    lines: int
    held: OrderedDict[Line, bool] = field(default_factory=OrderedDict)
    loads: int = 0
    stores: int = 0

    def touch(self, line: Line, writes: bool) -> None:
        if line in self.held:
            self.held.move_to_end(line)
            self.held[line] |= writes
            return
        if not writes:
            self.loads += 1
        self.held[line] = writes
        if len(self.held) > self.lines:
            _, dirty = self.held.popitem(last=False)
            self.stores += dirty

    def drop(self, buffers: frozenset[str]) -> None:
        for line in [k for k in self.held if k[0] in buffers]:
            del self.held[line]

    def flush(self) -> None:
        self.stores += sum(self.held.values())
        self.held.clear()


def simulated(nest: Nest, memory: Memory) -> tuple[int, int]:
    """Bytes loaded into ``memory`` and stored from it, when the program runs in textual order."""
    cache = Cache(memory.size // memory.line)
    values: dict[str, Scalar] = dict.fromkeys(nest.fixed, 0)
    _run(nest, nest.root, values, cache, memory)
    cache.flush()
    return cache.loads * memory.line, cache.stores * memory.line


def _run(nest: Nest, node: Node, values: dict[str, Scalar], cache: Cache, memory: Memory) -> None:
    match node:
        case Guard(cond, body):
            if truth(cond, values):
                for inner in body:
                    _run(nest, inner, values, cache, memory)
        case Loop(var, lo, hi, body, born):
            for v in range(integer(lo, values), integer(hi, values)):
                for inner in body:
                    _run(nest, inner, {**values, var: v}, cache, memory)
                cache.drop(born)
        case _:
            for access in node.reads:
                for line in _line(nest, access, values, memory):
                    cache.touch(line, False)
            for line in _line(nest, node.write, values, memory):
                cache.touch(line, True)


def _line(nest: Nest, access: Access, values: dict[str, Scalar], memory: Memory) -> Iterator[Line]:
    buffer = nest.buffers[access.buffer]
    if buffer.home not in memory.homes:
        return
    at = 0
    for index, extent in zip(access.index, buffer.shape, strict=True):
        place, size = integer(index, values), integer(extent, values)
        if access.clip and not 0 <= place < size:
            return
        at = at * size + place
    yield access.buffer, 0, at * BYTES[buffer.dtype] // memory.line
