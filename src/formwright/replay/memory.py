"""Allocations and cells, and how an apply reads and writes them (rules P1 to P3, P8)."""

from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.template import Realised
from formwright.replay.code import AccessCode, AllocCode, ApplyCode, ProgramCode
from formwright.replay.compiled import Env
from formwright.replay.events import Anomaly, AnomalyKind, Touch
from formwright.replay.stages import Lines
from formwright.replay.state import Allocation, Cell, Frame, Path, State, Write
from formwright.replay.terms import Terms

ANOMALY_LIMIT = 64
"""Further anomalies of a run are counted, not kept."""

OUTSIDE = -1
"""The slot under which accesses outside a shape are reported."""


def visible(buffers: dict[str, int], name: str) -> int:
    """The allocation that a name means here (rule P1)."""
    if name not in buffers:
        raise EvaluationError(f'no buffer "{name}" is visible here')
    return buffers[name]


class Place:
    """Where an access lands: ``None`` for the cell when it is outside the shape."""

    __slots__ = ("cell", "generation", "index", "number")

    def __init__(
        self, number: int, index: tuple[int, ...], generation: int, cell: Cell | None
    ) -> None:
        self.number = number
        self.index = index
        self.generation = generation
        self.cell = cell


@dataclass(frozen=True, slots=True)
class StageRead:
    """A read of a cell that stands for a cell of a stage, with what it held."""

    stage: str
    place: tuple[int, ...]
    buffer: str
    index: tuple[int, ...]
    value: int


class Memory:
    """Serves one machine; the cells themselves are in the state that is entered."""

    def __init__(self, program: ProgramCode, terms: Terms, lines: Lines) -> None:
        self._program = program
        self._lines = lines
        self._terms = terms
        self._allocations: list[Allocation] = []
        self._numbers: dict[object, int] = {}
        self._inputs: set[int] = set()
        self._names: dict[str, int] = {}
        self.anomalies: list[Anomaly] = []
        self.state = State({}, {}, {}, set())
        self.tracing = False
        self.touched: tuple[tuple[Touch, ...], ...] = ()
        self._touches: list[Touch] = []
        self._agent = ""
        self._buffers: dict[str, int] = {}
        self._kept: dict[int, tuple[Realised, Env]] = {}
        self._seen: dict[StageRead, None] = {}
        for name, shape in program.globals.items():
            number = self._allocation(name, Allocation(name, shape, 1, False))
            self._names[name] = number
            if name in program.inputs:
                self._inputs.add(number)

    def enter(self, state: State, agent: str) -> None:
        """Makes ``state`` the one that is read and written, for this agent."""
        self.state = state
        self._agent = agent

    def tensor(self, name: str) -> int:
        return self._names[name]

    def shape(self, number: int) -> tuple[int, ...]:
        return self._allocations[number].shape

    def output(self, index: tuple[int, ...]) -> int | None:
        """The value of an output cell of the state entered last."""
        held = self.state.memory.get((self._names[self._program.output], 0, index))
        return None if held is None else held[1]

    @property
    def stage_reads(self) -> tuple[StageRead, ...]:
        """What was read of buffers that keep stages, each once, in order."""
        return tuple(self._seen)

    def assigned(self, index: tuple[int, ...]) -> bool:
        """Whether anything assigned that output cell; what only accumulates into it does not."""
        return (self._names[self._program.output], 0, index) in self.state.assigned

    def allocate(self, node: AllocCode, path: Path, env: Env) -> dict[str, int]:
        """Fresh storage for each buffer; meeting the same place again gives other storage."""
        fresh = {}
        for buffer in node.buffers:
            shape = tuple(s(env) for s in buffer.shape)
            ring = 1 if buffer.ring is None else buffer.ring(env)
            if ring < 1:
                self.report(Anomaly("address", self._agent, f"allocates {buffer.name} of no slot"))
                ring = 1
            key = (node.number, buffer.name, path, tuple(env.values()))
            allocation = Allocation(buffer.name, shape, ring, buffer.ring is not None)
            number = self._allocation(key, allocation)
            fresh[buffer.name] = number
            kept = self._lines.keeping(buffer.name)
            if kept is not None:
                self._kept[number] = (kept, dict(env))
        return fresh

    def touches_only(self, frame: Frame, node: ApplyCode, names: set[str]) -> bool:
        """Besides the inputs, the apply uses only these buffers."""
        used = {node.destination.buffer, *node.reads}
        return all(n in names or visible(frame.buffers, n) in self._inputs for n in used)

    def report(self, anomaly: Anomaly) -> None:
        if len(self.anomalies) < ANOMALY_LIMIT:
            self.anomalies.append(anomaly)

    # --- the Reader of values --------------------------------------------------------

    def read(self, access: AccessCode, env: Env) -> int:
        place = self._place(access, env)
        if place.cell is None:
            if access.clip:
                return self._terms.zero
            self._anomaly("address", "reads", place)
            return self._terms.token("?" + self._name(place), place.index)
        held = self.state.memory.get(place.cell)
        if self.tracing:
            self._touch(place, held, write=False)
        if held is None:
            if place.number in self._inputs:
                return self._terms.token(access.buffer, place.index)
            self._anomaly("undefined", "reads", place)
            return self._terms.token("?" + self._name(place), place.index)
        if held[0] != place.generation:
            later = held[0] > place.generation
            self._anomaly("overwritten" if later else "stale", "reads", place, held[0])
        return held[1] if place.number not in self._kept else self._stage(place, held[1])

    def _stage(self, place: Place, value: int) -> int:
        """The cell of the stage that ``place`` stands for; what stands for none as it is."""
        kept, env = self._kept[place.number]
        where = self._lines.places(kept, env, place.index)
        if where is None:
            return value
        self._seen[StageRead(kept.stage, where, kept.buffer, place.index, value)] = None
        return self._terms.token(kept.stage, where)

    def number(self, value: Scalar) -> int:
        return self._terms.literal(Fraction(value))

    def apply(self, name: str, args: tuple[int, ...]) -> int:
        return self._terms.op(name, args)

    # --- applies ---------------------------------------------------------------------

    def run(
        self,
        buffers: dict[str, int],
        node: ApplyCode,
        env: Env,
        points: tuple[tuple[int, ...], ...],
    ) -> None:
        """Point after point, each reading before it writes."""
        for point in points:
            for write in self.reads_of(buffers, node, env, (point,)):
                self._write(write)
            self._close_point()

    def reads_of(
        self,
        buffers: dict[str, int],
        node: ApplyCode,
        env: Env,
        points: tuple[tuple[int, ...], ...],
    ) -> tuple[Write, ...]:
        """The writes that the points will make, from what they read now.

        Points of one agent that accumulate into one cell add up.
        """
        self._buffers = buffers
        writes: dict[Cell, Write] = {}
        for point in points:
            inner = {**env, **dict(zip(node.names, point, strict=True))}
            value = node.value(self, inner)
            place = self._place(node.destination, inner)
            if place.cell is None:
                if not node.destination.clip:
                    self._anomaly("outside", "writes", place)
                continue
            if node.op != "=":
                value = self._accumulated(node, place, value, writes.get(place.cell))
            elif place.cell in writes:
                self._anomaly("single", "assigns", place)
            write = Write(place.cell, place.generation, place.index, value, node.op == "=")
            writes[place.cell] = write
        return tuple(writes.values())

    def store(self, buffers: dict[str, int], writes: tuple[Write, ...]) -> None:
        """Makes writes whose reads were done before."""
        self._buffers = buffers
        for write in writes:
            self._write(write)
            self._close_point()

    def _accumulated(self, node: ApplyCode, place: Place, value: int, earlier: Write | None) -> int:
        combine = "+" if node.op == "+=" else "max"
        if earlier is not None:
            return self._terms.op(combine, (earlier.value, value))
        cell = place.cell
        held = None if cell is None else self.state.memory.get(cell)
        if held is None:
            if place.number in self._inputs:
                old = self._terms.token(self._name(place), place.index)
            else:
                self._anomaly("order", "accumulates into", place)
                old = self._terms.token("?" + self._name(place), place.index)
            return self._terms.op(combine, (old, value))
        if held[0] != place.generation:
            self._anomaly("order", "accumulates into", place, held[0])
        return self._terms.op(combine, (held[1], value))

    def _write(self, write: Write) -> None:
        number, _, index = write.cell
        place = Place(number, index, write.generation, write.cell)
        if number in self._inputs:
            self._anomaly("outside", "writes", place)
        key = (number, write.generation, index)
        if write.assigns:
            if key in self.state.assigned:
                self._anomaly("single", "assigns", place)
            self.state.assigned.add(key)
        if self.tracing:
            self._touch(place, self.state.memory.get(write.cell), write=True)
        self.state.memory[write.cell] = (write.generation, write.value)

    # --- places and words ------------------------------------------------------------

    def _place(self, access: AccessCode, env: Env) -> Place:
        number = visible(self._buffers, access.buffer)
        allocation = self._allocations[number]
        index = tuple([i(env) for i in access.index])
        generation = access.generation
        at = 0 if generation is None else generation(env)
        for i, extent in zip(index, allocation.shape, strict=True):
            if not 0 <= i < extent:
                return Place(number, index, at, None)
        slot = 0 if allocation.ring == 1 else at % allocation.ring
        return Place(number, index, at, (number, slot, index))

    def _allocation(self, key: object, allocation: Allocation) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = len(self._allocations)
            self._allocations.append(allocation)
            self._numbers[key] = number
        return number

    def _name(self, place: Place) -> str:
        allocation = self._allocations[place.number]
        shown = f"<{place.generation}>" if allocation.generations else ""
        return f"{allocation.name}{shown}"

    def _anomaly(self, kind: AnomalyKind, verb: str, place: Place, held: int | None = None) -> None:
        if len(self.anomalies) >= ANOMALY_LIMIT:
            return
        allocation = self._allocations[place.number]
        cell = f"{self._name(place)}[{','.join(str(i) for i in place.index)}]"
        shape = f"{allocation.name}[{','.join(str(s) for s in allocation.shape)}]"
        if held is not None:
            held_name = f"{allocation.name}<{held}>"
            slot = place.generation % allocation.ring
            text = f"{verb} {cell} while slot {slot} holds {held_name}"
        elif kind in ("address", "outside"):
            inside = "an input" if place.cell is not None else f"outside {shape}"
            text = f"{verb} {cell}, {inside}"
        elif kind == "single":
            text = f"{verb} {cell} a second time"
        else:
            text = f"{verb} {cell}, which nothing has written"
        where = place.cell or (place.number, OUTSIDE, place.index)
        self.anomalies.append(Anomaly(kind, self._agent, text, where, allocation.name))
        if self.tracing and place.cell is None:
            name, generation = allocation.name, place.generation
            self._touches.append(Touch(where, name, generation, None, None, kind == "outside"))

    def _touch(self, place: Place, held: tuple[int, int] | None, write: bool) -> None:
        if place.cell is None:
            return
        allocation = self._allocations[place.number]
        generation = None if held is None else held[0]
        slot = place.cell[1] if allocation.generations else None
        self._touches.append(
            Touch(place.cell, allocation.name, place.generation, generation, slot, write)
        )

    def _close_point(self) -> None:
        if self.tracing:
            self.touched = (*self.touched, tuple(self._touches))
            self._touches = []
