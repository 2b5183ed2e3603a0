"""A run told to people: lanes, what each step reads and writes, what goes wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar, Var
from formwright.ir.system import Action
from formwright.ir.template import Template
from formwright.proof.interleaving import Event, Interleaving, lines
from formwright.proof.verdict import Counterexample
from formwright.replay.system import parts
from formwright.replay.system.blank import Arg
from formwright.replay.system.findings import Finding, Stuck, WrongResult, scalar, sentence
from formwright.replay.system.grounded import Ground, called
from formwright.replay.system.instance import Found
from formwright.replay.system.machine import FaultError, Machine, Step
from formwright.replay.system.made import Fn, State

UNIT = "unit"
ENVIRONMENT = "environment"
READS = 8
"""Cells of one step that are named; the rest is counted."""


class Lanes:
    """One lane for each agent that acts, one for the rest of the design, one for the
    surroundings. Ranges of agents are told apart by the team size that ends them."""

    def __init__(self, template: Template) -> None:
        self._teams = {p.name for p in template.scope.agents}
        self._called: dict[str, str] = {}
        step = template.refinement
        for action in () if step is None else step.fine.actions:
            for param in action.params:
                if isinstance(param.hi, Var) and param.hi.name in self._teams:
                    self._called.setdefault(param.hi.name, param.name)

    def of(self, action: Action, args: tuple[Arg, ...]) -> str:
        """``w0`` for an action of agent 0 of the team that ``w`` names."""
        for param, value in zip(action.params, args, strict=True):
            if isinstance(param.hi, Var) and param.hi.name in self._teams:
                return f"{self._called[param.hi.name]}{value}"
        return ENVIRONMENT if action.environment else UNIT


class _Recorder(tuple[Scalar, ...]):
    """A state that notes which places are read."""

    seen: dict[int, None]

    def __getitem__(self, place: int) -> Scalar:  # type: ignore[override]
        self.seen[place] = None
        return super().__getitem__(place)


def counterexample(
    template: Template, values: Mapping[str, Scalar], found: Found
) -> Counterexample:
    """The run as it was reached, so ``replayed``."""
    shown = interleaving(template, values, found)
    tokens = _named(found.machine.where.tokens)
    seen_from = f" (as seen by {tokens})" if tokens else ""
    return Counterexample(
        {n: v if isinstance(v, int) else str(v) for n, v in values.items()},
        shown.defect + seen_from,
        True,
        lines(shown),
        shown,
    )


def interleaving(template: Template, values: Mapping[str, Scalar], found: Found) -> Interleaving:
    """The events of the run in order."""
    machine, reached = found.machine, found.reached
    lanes = Lanes(template)
    events: list[Event] = []
    finding: Finding = reached.finding
    state = machine.start() if reached.run else None
    decisive = 0
    for one in reached.run:
        assert state is not None
        before = state
        event, state = _event(machine, state, one, lanes)
        events.append(event)
        if state is not None and _results(machine, before) != _results(machine, state):
            decisive = len(events)
    if isinstance(finding, WrongResult) and decisive:
        events[decisive - 1] = _noted(events[decisive - 1], "this is the result that is wrong")
    if isinstance(finding, Stuck):
        end = machine.start() if state is None else state
        finding = Stuck(_waits(machine, end, lanes))
        waiting = [w.partition(" ")[0] for w in finding.waits]
    else:
        waiting = []
    used = parts.names_in(parts.of_step(machine.step))
    named = _named({n: v for n, v in values.items() if n in used})
    title = f"{machine.step.fine.name}: {named}" if named else machine.step.fine.name
    return Interleaving(
        title,
        _ordered((*(e.lane for e in events), *waiting)),
        tuple(events),
        sentence(finding),
    )


def _results(machine: Machine, state: State) -> tuple[Scalar, ...] | None:
    try:
        return tuple(e(state) for e in machine.result)
    except EvaluationError:
        return None


def _noted(event: Event, note: str) -> Event:
    return replace(event, note=", ".join(n for n in (event.note, note) if n))


def _event(machine: Machine, state: State, one: Ground, lanes: Lanes) -> tuple[Event, State | None]:
    lane = lanes.of(one.action, one.args)
    event = Event(lane, one.text, _reads(machine, state, one))
    try:
        step = machine.after(state, one)
    except FaultError as error:
        return replace(event, note=str(error)), None
    notes = _notes(machine, state, one, step)
    if one.action.environment and lane != ENVIRONMENT:
        notes = (ENVIRONMENT, *notes)
    writes = _writes(machine, state, one, step)
    return replace(event, writes=writes, note=", ".join(notes)), step.state


def _notes(machine: Machine, state: State, one: Ground, step: Step) -> tuple[str, ...]:
    notes: list[str] = []
    if one.emits:
        notes.append(f"emits {', '.join(scalar(e(state)) for e in one.emits)}")
    if step.mismatch is not None:
        notes.append(sentence(step.mismatch))
    elif state[-1]:
        calls = [called(name, args) for name, args in machine.calls(state, one)]
        notes += [f"{machine.step.coarse.name} does {', '.join(calls)}"] if calls else []
    return tuple(notes)


def _reads(machine: Machine, state: State, one: Ground) -> tuple[str, ...]:
    watched = _Recorder(state)
    watched.seen = {}
    try:
        for test in one.tests:
            test(watched)
        for slot, value_of in one.writes:
            _watch(watched, slot, value_of)
        for slot_of, value_of in one.scattered:
            _watch(watched, slot_of(watched), value_of)
        for shown in one.emits:
            shown(watched)
    except EvaluationError:
        pass  # the event's note says what has no value
    places = [p for p in watched.seen if 0 <= p < machine.where.split]
    return _few([f"{machine.where.cells[p]} = {scalar(state[p])}" for p in places])


def _watch(watched: _Recorder, slot: int, value_of: Fn) -> None:
    """A cell that keeps its value reads nothing that people need to know."""
    before = dict(watched.seen)
    if value_of(watched) == tuple.__getitem__(watched, slot):
        watched.seen = before


def _writes(machine: Machine, state: State, one: Ground, step: Step) -> tuple[str, ...]:
    places = [p for p, _ in one.writes] + [int(p(state)) for p, _ in one.scattered]
    changed = [p for p in places if state[p] != step.state[p]]
    return _few([f"{machine.where.cells[p]} := {scalar(step.state[p])}" for p in changed])


def _few(several: list[str]) -> tuple[str, ...]:
    if len(several) <= READS:
        return tuple(several)
    return (*several[:READS], f"and {len(several) - READS} more")


def _waits(machine: Machine, state: State, lanes: Lanes) -> tuple[str, ...]:
    """For each lane the action that came furthest through its guards, and what it lacks."""
    furthest: dict[str, tuple[int, str]] = {}
    for one in machine.all_grounds():
        lane = lanes.of(one.action, one.args)
        passed = 0
        for guard in one.guards:
            if not guard.made.fn(state):
                break
            passed += 1
        lacks = "" if passed == len(one.guards) else one.guards[passed].says()
        if passed > furthest.get(lane, (0, ""))[0]:
            furthest[lane] = (passed, f"{lane} waits in {one.text} for {lacks}")
    return tuple(furthest[lane][1] for lane in _ordered(furthest))


def _ordered(lanes: Iterable[str]) -> tuple[str, ...]:
    """Agents by name and number, then the unit, then the surroundings."""

    def place(lane: str) -> tuple[bool, bool, str, int]:
        stem = lane.rstrip("0123456789")
        number = lane[len(stem) :]
        return (lane == ENVIRONMENT, lane == UNIT, stem, int(number) if number else -1)

    return tuple(sorted(set(lanes), key=place))


def _named(values: Mapping[str, Scalar]) -> str:
    return ", ".join(f"{n} = {scalar(v)}" for n, v in values.items())
