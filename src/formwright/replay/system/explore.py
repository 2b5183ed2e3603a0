"""Every interleaving of a small instance, breadth first, so that the first fault is nearest."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time

from formwright.ir.evaluate import EvaluationError
from formwright.replay.system.findings import Endless, Finding, OutOfRange, Stuck, is_fault
from formwright.replay.system.grounded import Ground
from formwright.replay.system.machine import FaultError, Machine
from formwright.replay.system.made import State

DEFAULT_STATES = 200_000
CLOCK_EVERY = 512
"""States between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``deadline``: of this thread's processor time (:func:`time.thread_time`), in seconds.

    ``tokens``: choices of tokens; ``steps``: longer runs are not looked at.
    """

    states: int = DEFAULT_STATES
    deadline: float = float("inf")
    tokens: int = 4_096
    steps: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Reached:
    """A finding with the run that leads to it: the actions from the initial state.

    The last action is the one that fails, where the finding is about a step.
    """

    finding: Finding
    run: tuple[Ground, ...]


@dataclass(slots=True)
class Graph:
    """What was reached. ``cut``: why states were left out, empty if none were."""

    states: list[State] = field(default_factory=list)
    numbers: dict[State, int] = field(default_factory=dict)
    before: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    by: list[Ground | None] = field(default_factory=list)
    inner: list[tuple[int, int, Ground]] = field(default_factory=list)
    """Internal work between states, for cycles."""
    cut: str = ""
    fault: Reached | None = None
    mismatch: Reached | None = None

    def run_to(self, number: int) -> tuple[Ground, ...]:
        """The shortest run to a state."""
        steps: list[Ground] = []
        one = self.by[number]
        while one is not None:
            steps.append(one)
            number = self.before[number]
            one = self.by[number]
        return tuple(reversed(steps))

    @property
    def first(self) -> Reached | None:
        """The fault, or the mismatch where there is none."""
        return self.fault or self.mismatch


AtEnd = Callable[[State], Finding | None]
"""Judges a state in which the fine system may end."""


def explore(machine: Machine, limits: Limits, at_end: AtEnd) -> Graph:
    """Stops at the first fault. Cycles are looked for when no other fault was found."""
    graph = Graph()
    try:
        _add(graph, machine.start(), -1, None)
    except FaultError as error:
        graph.fault = Reached(OutOfRange(str(error)), ())
        return graph
    number = 0
    while number < len(graph.states) and graph.fault is None:
        if number % CLOCK_EVERY == 0 and thread_time() > limits.deadline:
            graph.cut = "time"
            break
        if len(graph.states) > limits.states:
            graph.cut = f"more than {limits.states} states"
            break
        if graph.depth[number] > limits.steps:
            graph.cut = f"more than {limits.steps} steps"
            break
        _expand(machine, graph, number, at_end)
        number += 1
    if graph.fault is None:
        graph.fault = cycle(graph)
    return graph


def _expand(machine: Machine, graph: Graph, number: int, at_end: AtEnd) -> None:
    """All steps from one state."""
    state = graph.states[number]
    known = graph.numbers
    try:
        if machine.final(state):
            _note(graph, at_end(state), number, None)
        is_stuck = True
        for one in machine.acting(state):
            is_stuck = False
            try:
                step = machine.after(state, one)
            except FaultError as error:
                graph.fault = _reached(graph, OutOfRange(str(error)), number, one)
                return
            target = known.get(step.state)
            if target is None:
                target = _add(graph, step.state, number, one)
            if step.inner:
                graph.inner.append((number, target, one))
            if step.mismatch is not None:
                _note(graph, step.mismatch, number, one)
        if is_stuck and not machine.sampled and not machine.final(state):
            _note(graph, Stuck(), number, None)
    except (EvaluationError, FaultError) as error:
        graph.fault = Reached(OutOfRange(str(error)), graph.run_to(number))


def _add(graph: Graph, state: State, before: int, by: Ground | None) -> int:
    number = len(graph.states)
    graph.states.append(state)
    graph.numbers[state] = number
    graph.before.append(before)
    graph.depth.append(0 if before < 0 else graph.depth[before] + 1)
    graph.by.append(by)
    return number


def _note(graph: Graph, finding: Finding | None, number: int, by: Ground | None) -> None:
    if finding is None:
        return
    if is_fault(finding):
        if graph.fault is None:
            graph.fault = _reached(graph, finding, number, by)
    elif graph.mismatch is None:
        graph.mismatch = _reached(graph, finding, number, by)


def _reached(graph: Graph, finding: Finding, number: int, by: Ground | None) -> Reached:
    run = graph.run_to(number)
    return Reached(finding, run if by is None else (*run, by))


def cycle(graph: Graph) -> Reached | None:
    """The nearest cycle of internal work, or nothing."""
    onward: dict[int, list[tuple[int, Ground]]] = {}
    for source, target, by in graph.inner:
        onward.setdefault(source, []).append((target, by))
    on_cycles = _unpeeled(onward)
    if not on_cycles:
        return None
    best: tuple[Ground, ...] | None = None
    length = 0
    for start in sorted(on_cycles)[:CYCLE_STARTS]:
        way = _back(start, onward, on_cycles)
        if way is None:
            continue
        whole = (*graph.run_to(start), *way)
        if best is None or len(whole) < len(best):
            best, length = whole, len(way)
    return None if best is None else Reached(Endless(length), best)


CYCLE_STARTS = 64
"""States from which the shortest cycle is looked for."""


def _unpeeled(onward: dict[int, list[tuple[int, Ground]]]) -> set[int]:
    """States that stay when those without internal work before or after are taken away."""
    left = _peeled({s: [t for t, _ in several] for s, several in onward.items()})
    backward: dict[int, list[int]] = {}
    for source in left:
        for target, _ in onward[source]:
            if target in left:
                backward.setdefault(target, []).append(source)
    return _peeled(backward)


def _peeled(edges: dict[int, list[int]]) -> set[int]:
    """Nodes from which a way goes on for ever (Kahn's algorithm, backwards)."""
    before: dict[int, list[int]] = {}
    for source, targets in edges.items():
        for target in targets:
            before.setdefault(target, []).append(source)
    out = {n: len(edges.get(n, ())) for n in {*edges, *before}}
    ending = [n for n, count in out.items() if count == 0]
    while ending:
        node = ending.pop()
        for source in before.get(node, ()):
            out[source] -= 1
            if out[source] == 0:
                ending.append(source)
    return {n for n, count in out.items() if count > 0}


def _back(
    start: int, onward: dict[int, list[tuple[int, Ground]]], within: set[int]
) -> tuple[Ground, ...] | None:
    """The shortest way of internal work from a state to itself."""
    came: dict[int, tuple[int, Ground]] = {}
    layer = [start]
    while layer:
        following: list[int] = []
        for node in layer:
            for target, by in onward.get(node, ()):
                if target == start:
                    return (*_way(start, node, came), by)
                if target in within and target not in came:
                    came[target] = (node, by)
                    following.append(target)
        layer = following
    return None


def _way(start: int, node: int, came: dict[int, tuple[int, Ground]]) -> tuple[Ground, ...]:
    steps: list[Ground] = []
    while node != start:
        node, by = came[node]
        steps.append(by)
    return tuple(reversed(steps))
