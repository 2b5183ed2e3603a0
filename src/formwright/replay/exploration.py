"""Every interleaving of a small program, up to a limit: each state is visited once.

The step is one apply of one agent. An action that nobody else can see is done at once,
without branching: every order of it with the others leads to the same state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.template import Template
from formwright.replay.compare import wrong_cells, wrong_stages
from formwright.replay.machine import Machine
from formwright.replay.runner import Prepared, prepare
from formwright.replay.schedule import TEXTUAL, Action, Schedule
from formwright.replay.sharing import BudgetError
from formwright.replay.state import State

DEFAULT_STATES = 100_000


@dataclass(frozen=True, slots=True)
class Exploration:
    """``complete``: no state was left out for these values, owners and timing.

    ``defect`` is the first sentence about what went wrong, empty when nothing did;
    ``path`` the labels of the agents in the order that leads there.
    """

    complete: bool
    states: int
    defect: str = ""
    path: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """Nothing went wrong and nothing was left out."""
        return self.complete and not self.defect


@dataclass(frozen=True, slots=True)
class _Branch:
    state: State
    path: tuple[str, ...]


def explore(
    template: Template,
    values: Mapping[str, Scalar],
    schedule: Schedule = TEXTUAL,
    limit: int = DEFAULT_STATES,
) -> Exploration:
    """Tries every order of actions; owners and torn writes are the schedule's.

    The reads and then the writes of an asynchronous apply happen at every time from where it
    is issued until its group is complete (rule P9).
    """
    try:
        prepared = prepare(template, values)
    except BudgetError:
        return Exploration(False, 0)
    phased = replace(schedule, asynchronous="phased")
    code, terms, lines = prepared.program, prepared.terms, prepared.lines
    machine = Machine(code, terms, lines, phased, 500 * limit, trace=False)
    seen: set[object] = set()
    try:
        stack = [_Branch(machine.start(), ())]
        while stack:
            branch = _quiet(machine, stack.pop())
            wrong = _wrong(machine, prepared, branch.state)
            if wrong:
                return Exploration(False, len(seen), wrong, branch.path)
            key = branch.state.key()
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > limit:
                return Exploration(False, len(seen))
            for action in machine.enabled(branch.state):
                stack.append(_after(machine, branch, action))
    except BudgetError:
        return Exploration(False, len(seen))
    except EvaluationError as problem:
        return Exploration(False, len(seen), problem.message)
    return Exploration(True, len(seen))


def _quiet(machine: Machine, branch: _Branch) -> _Branch:
    """The branch after all the actions that nobody can see."""
    state, path = branch.state, branch.path
    while True:
        enabled = machine.enabled(state)
        private = next((a for a in enabled if machine.is_private(state, a)), None)
        if private is None:
            return _Branch(state, path)
        path = (*path, state.agents[private.path].label)
        machine.step(state, private)


def _after(machine: Machine, branch: _Branch, action: Action) -> _Branch:
    state = branch.state.copy()
    label = state.agents[action.path].label
    machine.step(state, action)
    return _Branch(state, (*branch.path, label))


def _wrong(machine: Machine, prepared: Prepared, state: State) -> str:
    if machine.memory.anomalies:
        first = machine.memory.anomalies[0]
        return f"{first.agent} {first.text}".strip()
    if machine.enabled(state):
        return ""
    if not machine.ended(state):
        return "; ".join(machine.stuck(state)) or "the program does not end"
    machine.memory.enter(state, "")
    output = prepared.program.output
    terms, lines = prepared.terms, prepared.lines
    cells = wrong_stages(lines, machine.memory, terms)
    cells = cells or wrong_cells(output, prepared.expected, machine.memory, terms, lines)
    return cells[0].text if cells else ""
