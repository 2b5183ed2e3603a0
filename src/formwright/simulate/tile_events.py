"""Follows the blocks of a launch from load to store, one k-tile after another.

Multiprocessors run one block each and take the next one when they are free. They share L2, which
forgets what was used longest ago, and one channel to memory, which serves reads and writes in the
order of their issue. A read comes back when its bytes have passed the channel (unless L2 has
them, or waits for them already) and the port of the multiprocessor, and the latency is over.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace

from formwright.simulate.tile_machine import WORD, Launch, TileMachine

Block = list[int]
"""``i, j, first, last``: a row of :attr:`Launch.blocks`."""


@dataclass(slots=True)
class Counters:
    """Bytes, seconds and counts, of all multiprocessors together."""

    dram_bytes: float = 0.0
    l2_bytes: float = 0.0
    port_bytes: float = 0.0
    compute_seconds: float = 0.0
    waited_seconds: float = 0.0
    tiles: int = 0
    barriers: int = 0
    blocks: int = 0


@dataclass(slots=True)
class Memory:
    """L2 and the channel behind it. ``held``: when the bytes of a tile are there, by its key."""

    machine: TileMachine
    counters: Counters
    free: float = 0.0
    used: float = 0.0
    held: dict[int, float] = field(default_factory=dict)
    sizes: dict[int, float] = field(default_factory=dict)

    def read(self, key: int, size: float, now: float, keep: bool) -> float:
        """When the bytes leave L2 for a read that is issued ``now``."""
        held = self.held
        ready = held.pop(key, None)
        if ready is not None:
            held[key] = ready
            self.counters.l2_bytes += size
            return ready
        ready = self.transfer(size, now)
        if keep:
            self.put(key, size, ready)
        return ready

    def transfer(self, size: float, now: float) -> float:
        """When the channel is done with ``size`` bytes that are asked for ``now``."""
        self.counters.dram_bytes += size
        self.free = max(self.free, now) + size / self.machine.dram_bandwidth
        return self.free

    def put(self, key: int, size: float, ready: float) -> None:
        """Holds a tile, and forgets others until it fits; one larger than L2 is not held."""
        room = self.machine.l2_bytes
        if size > room:
            return
        self.used += size
        while self.used > room:
            oldest = next(iter(self.held))
            del self.held[oldest]
            self.used -= self.sizes.pop(oldest)
        self.held[key] = ready
        self.sizes[key] = size


@dataclass(slots=True)
class _Running:
    """The block of one multiprocessor: k-tile ``p`` is next, ``due`` when the loads arrive."""

    block: Block
    p: int
    last: int
    due: deque[float]


def follow(launch: Launch, memory: Memory, start: float) -> float:
    """When the last block has ended, for blocks that may begin at ``start``."""
    machine, counters = memory.machine, memory.counters
    waiting: Iterator[Block] = iter(launch.blocks.tolist())
    running: list[_Running | None] = [None] * machine.sms
    ports = [start] * machine.sms
    heap = [(start, sm) for sm in range(min(machine.sms, len(launch.blocks)))]
    heapify(heap)
    load = _loader(launch, memory, ports)
    step = launch.compute
    after = machine.barrier if launch.trailing else 0.0
    barriers = 2 if launch.trailing else 1
    end = start
    while heap:
        now, sm = heap[0]
        at = running[sm]
        if at is None:
            block = next(waiting, None)
            if block is None:
                heappop(heap)
                continue
            _, _, first, last = block
            at = _Running(block, first, last, deque())
            running[sm] = at
            counters.blocks += 1
            for p in range(first, min(first + launch.ahead, last)):
                at.due.append(load(sm, block, p, now))
        if at.p == at.last:
            now = _store(launch, memory, at.block, ports, sm, now)
            running[sm] = None
            end = max(end, now)
            heapreplace(heap, (now, sm))
            continue
        if at.p + launch.ahead < at.last:
            at.due.append(load(sm, at.block, at.p + launch.ahead, now))
        there = at.due.popleft()
        if there > now:
            counters.waited_seconds += there - now
            now = there
        now += machine.barrier + step + after
        counters.tiles += 1
        counters.barriers += barriers
        at.p += 1
        heapreplace(heap, (now, sm))
    counters.compute_seconds += step * sum(
        last - first for _, _, first, last in launch.blocks.tolist()
    )
    return max(end, memory.free)


_Load = Callable[[int, Block, int, float], float]


def _loader(launch: Launch, memory: Memory, ports: list[float]) -> _Load:
    """Issues the load of a k-tile of A and of B by a multiprocessor; gives when it is there."""
    tiles = launch.tiles
    depths = tiles.depths
    rows, columns = tiles.rows, tiles.columns
    steps = len(depths)
    columns_from = steps * len(rows)
    keep_a, keep_b = launch.keep_a, launch.keep_b
    bandwidth, latency = memory.machine.port_bandwidth, memory.machine.latency
    read, counters = memory.read, memory.counters

    def load(sm: int, block: Block, p: int, now: float) -> float:
        i, j = block[0], block[1]
        depth = WORD * depths[p]
        of_a, of_b = rows[i] * depth, columns[j] * depth
        ready_a = read(i * steps + p, of_a, now, keep_a)
        ready_b = read(columns_from + j * steps + p, of_b, now, keep_b)
        size = of_a + of_b
        counters.port_bytes += size
        done = max(ports[sm], now) + size / bandwidth
        ports[sm] = done
        return max(done, ready_a, ready_b) + latency

    return load


def _store(
    launch: Launch, memory: Memory, block: Block, ports: list[float], sm: int, now: float
) -> float:
    """When the tile has left the multiprocessor; nobody waits for the channel behind it."""
    tiles = launch.tiles
    size = float(WORD * tiles.rows[block[0]] * tiles.columns[block[1]])
    memory.counters.port_bytes += size
    ports[sm] = max(ports[sm], now) + size / memory.machine.port_bandwidth
    if launch.keep_c:
        memory.counters.l2_bytes += size
    else:
        memory.transfer(size, now)
    return ports[sm]
