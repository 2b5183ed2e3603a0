"""Small steps: what one agent does when it is chosen, and which agents can be chosen.

An agent stands before an action: an apply with points of its own, a synchronisation, a
fork. Loops, conditions and allocations on the way are passed at once, since nobody sees
them. A state may be copied between steps.
"""

from itertools import product
from math import prod
from typing import assert_never

from formwright.ir.evaluate import EvaluationError
from formwright.replay.code import (
    AllocCode,
    ApplyCode,
    Code,
    ForCode,
    IfCode,
    ParCode,
    ProgramCode,
    SyncCode,
)
from formwright.replay.compiled import Env
from formwright.replay.events import Anomaly, Event
from formwright.replay.memory import Memory
from formwright.replay.schedule import Action, Schedule
from formwright.replay.sharing import BudgetError, counter_of, owned_points, share_of
from formwright.replay.stages import Lines
from formwright.replay.state import Agent, Frame, Pending, State
from formwright.replay.terms import Terms


class Machine:
    """One run of a program under a schedule's choices of owners and timing.

    ``budget`` bounds the points of applies and the passes of loops of one run.
    """

    def __init__(
        self,
        program: ProgramCode,
        terms: Terms,
        lines: Lines,
        schedule: Schedule,
        budget: int,
        trace: bool,
    ) -> None:
        self._program = program
        self._schedule = schedule
        self._left = budget
        self.memory = Memory(program, terms, lines)
        self.memory.tracing = trace
        self.events: list[Event] | None = [] if trace else None
        self.most_barriers = 0
        self.points = 0

    def start(self) -> State:
        """The initial state: one agent before the first action, nothing written."""
        state = State({}, {}, {}, set())
        buffers = {name: self.memory.tensor(name) for name in self._program.globals}
        root = Agent((), "", (), 0, 1, (), Frame(self._program.body, 0, {}, buffers, None, None))
        state.agents[()] = root
        self._settle(state, root)
        return state

    def enabled(self, state: State) -> list[Action]:
        """Everything that can happen next; empty when the run has ended or is stuck."""
        found: list[Action] = []
        for path, agent in state.agents.items():
            count = sum(len(g) for g in agent.groups)
            found += [Action(path, n) for n in range(count)]
            if agent.mode == "run" and self._free(state, agent):
                found.append(Action(path))
        return found

    def ended(self, state: State) -> bool:
        return state.agents[()].mode == "done"

    def step(self, state: State, action: Action) -> None:
        """Does one action. Raises ``EvaluationError`` where an index has no value."""
        agent = state.agents[action.path]
        self.memory.enter(state, agent.label)
        if action.pending >= 0:
            had_ended = agent.mode == "done"
            self._complete(state, agent, action.pending)
            if had_ended:
                self._join(state, agent)
            return
        frame = _frame(agent)
        node = frame.body[frame.pc]
        match node:
            case ApplyCode():
                self._apply(agent, frame, node)
            case ParCode():
                self._fork(state, agent, frame, node)
            case SyncCode():
                self._sync(state, agent, frame, node)
            case ForCode() | IfCode() | AllocCode():
                raise AssertionError("an agent never rests before a control statement")
            case _:
                assert_never(node)

    def is_private(self, state: State, action: Action) -> bool:
        """Nobody else can see this action, so its place in the order is of no account.

        Cells of a ``dist`` buffer are seen by their owner alone, and by asynchronous applies
        of that owner.
        """
        agent = state.agents[action.path]
        if action.pending >= 0:
            return False
        frame = _frame(agent)
        node = frame.body[frame.pc]
        if not isinstance(node, ApplyCode):
            return not (isinstance(node, SyncCode) and node.kind in ("arrive", "await"))
        if node.owner is None or any(agent.groups):
            return False
        return self.memory.touches_only(frame, node, {node.owner[0].buffer})

    def stuck(self, state: State) -> tuple[str, ...]:
        """What each agent that cannot go on stands before."""
        rows = []
        for agent in state.agents.values():
            if agent.mode in ("run", "barrier"):
                node = _frame(agent).body[_frame(agent).pc]
                what = node.kind if isinstance(node, SyncCode) else "a statement"
                rows.append(f"{agent.label or 'the program'} waits at {what}{_line(node)}")
        return tuple(rows)

    # --- control ---------------------------------------------------------------------

    def _settle(self, state: State, agent: Agent) -> None:
        """Brings the agent to its next action, or to its end."""
        while True:
            self._spend(1)
            frame = agent.frame
            if frame is None:
                self._finish(state, agent)
                return
            if frame.pc == len(frame.body):
                if self._holds_storage(agent):
                    agent.mode = "drain"
                    return
                agent.frame = _after_block(frame)
                continue
            node = frame.body[frame.pc]
            match node:
                case ForCode(_, var, lo, hi, body):
                    first, bound = lo(frame.env), hi(frame.env)
                    agent.frame = past = frame._replace(pc=frame.pc + 1)
                    if first < bound:
                        env = {**frame.env, var: first}
                        agent.frame = Frame(body, 0, env, frame.buffers, past, (var, bound))
                case IfCode(cond, body):
                    agent.frame = past = frame._replace(pc=frame.pc + 1)
                    if cond(frame.env):
                        agent.frame = Frame(body, 0, frame.env, frame.buffers, past, None)
                case AllocCode():
                    self.memory.enter(state, agent.label)
                    fresh = self.memory.allocate(node, agent.path, frame.env)
                    agent.frame = frame._replace(
                        pc=frame.pc + 1, buffers={**frame.buffers, **fresh}
                    )
                case ApplyCode():
                    share = share_of(state, agent, frame, node)
                    agent.points = owned_points(
                        self.memory, self._schedule, share, agent, frame, node
                    )
                    self._spend(len(agent.points))
                    if agent.points:
                        return
                    agent.steps += 1
                    agent.frame = frame._replace(pc=frame.pc + 1)
                case ParCode() | SyncCode():
                    return
                case _:
                    assert_never(node)

    def _holds_storage(self, agent: Agent) -> bool:
        """A group that is not complete touches storage that ends with the agent's block."""
        if not any(agent.groups):
            return False
        frame = _frame(agent)
        outer = {} if frame.parent is None else frame.parent.buffers
        ending = {number for name, number in frame.buffers.items() if outer.get(name) != number}
        pairs = zip(agent.groups, agent.storage, strict=True)
        return any(group and ending & touched for group, touched in pairs)

    def _advance(self, state: State, agent: Agent) -> None:
        frame = _frame(agent)
        agent.steps += 1
        agent.frame = frame._replace(pc=frame.pc + 1)
        self._settle(state, agent)

    def _finish(self, state: State, agent: Agent) -> None:
        agent.mode = "done"
        self._join(state, agent)

    def _join(self, state: State, agent: Agent) -> None:
        """The last of the agents of a ``par`` lets their parent go on."""
        if agent.mode != "done" or any(agent.groups) or not agent.path:
            return
        parent = state.agents[agent.path[:-1]]
        parent.children -= 1
        if parent.children == 0:
            number = agent.path[-1][0]
            for path in [p for p in state.agents if p[:-1] == parent.path and p]:
                if path[-1][0] == number:
                    del state.agents[path]
            for key in [k for k in state.counters if k[:2] == (parent.path, number)]:
                del state.counters[key]  # a team that is run again has counters of its own
            parent.mode = "run"
            self._advance(state, parent)

    def _fork(self, state: State, agent: Agent, frame: Frame, node: ParCode) -> None:
        extents = [e(frame.env) for e in node.extents]
        self._spend(prod(max(0, e) for e in extents))
        places = list(product(*(range(e) for e in extents)))
        if not places:
            self._advance(state, agent)
            return
        agent.mode, agent.children = "join", len(places)
        team = node.kind == "team"
        children = []
        for rank, place in enumerate(places):
            env = {**frame.env, **dict(zip(node.vars, place, strict=True))}
            child = Agent(
                (*agent.path, (node.number, place)),
                _label(agent.label, node, place) if team or len(places) > 1 else agent.label,
                agent.coordinates if team else (*agent.coordinates, *place),
                rank,
                len(places) if team else 1,
                node.vars,
                Frame(node.body, 0, env, frame.buffers, None, None),
            )
            state.agents[child.path] = child
            children.append(child)
        for child in children:
            self._settle(state, child)

    # --- synchronisation -------------------------------------------------------------

    def _free(self, state: State, agent: Agent) -> bool:
        frame = _frame(agent)
        node = frame.body[frame.pc]
        if not isinstance(node, SyncCode) or node.count is None:
            return True
        count = node.count(frame.env)
        if node.kind == "await":
            reached = state.counters.get(counter_of(agent, frame, node), 0)
            if node.phase is None:
                return reached >= count
            phase = node.phase(frame.env)
            if phase < 1:
                raise EvaluationError("a phase of no arrivals", node.stmt.span)
            return (reached // phase - count // phase) % 2 == 0
        closed = agent.groups[:-1]
        return not any(closed[: max(0, len(closed) - max(0, count))])

    def _sync(self, state: State, agent: Agent, frame: Frame, node: SyncCode) -> None:
        self._record(agent, node, frame.env, ())
        match node.kind:
            case "barrier":
                agent.mode = "barrier"
                self._meet(state, agent)
                return
            case "commit":
                agent.groups = (*agent.groups, ())
                agent.storage = (*agent.storage, frozenset())
            case "arrive":
                key = counter_of(agent, frame, node)
                state.counters[key] = state.counters.get(key, 0) + 1
            case "wait" | "await":
                pass
            case _:
                assert_never(node.kind)
        self._advance(state, agent)

    def _meet(self, state: State, agent: Agent) -> None:
        """Lets a team pass once each of its agents stands at a barrier."""
        number = agent.path[-1][0] if agent.path else 0
        team = [
            a
            for a in state.agents.values()
            if a.path and a.path[:-1] == agent.path[:-1] and a.path[-1][0] == number
        ] or [agent]
        if any(a.mode != "barrier" for a in team):
            return
        if len({_frame(a).body[_frame(a).pc] for a in team}) > 1:
            text = "; ".join(self.stuck(state))
            self.memory.report(Anomaly("uniform", agent.label, text))
        for member in team:
            member.mode = "run"
            member.passed += 1
            self.most_barriers = max(self.most_barriers, member.passed)
        for member in team:
            self._advance(state, member)

    # --- applies ---------------------------------------------------------------------

    def _apply(self, agent: Agent, frame: Frame, node: ApplyCode) -> None:
        if node.asynchronous:
            self._issue(agent, frame, node)
        elif self._schedule.torn and node.owner is None:
            if agent.writes is None:
                agent.writes = self.memory.reads_of(frame.buffers, node, frame.env, agent.points)
                return
            writes = agent.writes
            agent.writes = None
            self.memory.store(frame.buffers, writes)
            self._record(agent, node, frame.env, agent.points)
        else:
            self._spend(len(agent.points))
            self.memory.run(frame.buffers, node, frame.env, agent.points)
            self._record(agent, node, frame.env, agent.points)
        state = self.memory.state
        self._advance(state, agent)

    def _issue(self, agent: Agent, frame: Frame, node: ApplyCode) -> None:
        writes = None
        if self._schedule.asynchronous == "split":
            writes = self.memory.reads_of(frame.buffers, node, frame.env, agent.points)
        operation = Pending(node, frame.env, frame.buffers, agent.points, writes)
        agent.groups = (*agent.groups[:-1], (*agent.groups[-1], operation))
        names = (node.destination.buffer, *node.reads)
        touched = {frame.buffers[n] for n in names if n in frame.buffers}
        agent.storage = (*agent.storage[:-1], agent.storage[-1] | touched)

    def _complete(self, state: State, agent: Agent, number: int) -> None:
        groups = []
        for group in agent.groups:
            if 0 <= number < len(group):
                group = (*group[:number], *self._happen(agent, group[number]), *group[number + 1 :])
                number = -1
            elif number >= 0:
                number -= len(group)
            groups.append(group)
        agent.groups = tuple(groups)
        if agent.mode == "drain" and not self._holds_storage(agent):
            agent.mode = "run"
            self._settle(state, agent)

    def _happen(self, agent: Agent, operation: Pending) -> tuple[Pending, ...]:
        """Does the operation, or its reads alone; what is left of it."""
        node, env, buffers, points, writes = operation
        if writes is None and self._schedule.asynchronous == "phased":
            return (operation._replace(writes=self.memory.reads_of(buffers, node, env, points)),)
        if writes is not None:
            self.memory.store(buffers, writes)
        else:
            self.memory.run(buffers, node, env, points)
        self._record(agent, node, env, points)
        return ()

    # --- bookkeeping -----------------------------------------------------------------

    def _spend(self, count: int) -> None:
        self._left -= count
        self.points += count
        if self._left < 0:
            raise BudgetError

    def _record(
        self, agent: Agent, node: Code, env: Env, points: tuple[tuple[int, ...], ...]
    ) -> None:
        if self.events is not None and isinstance(node, ApplyCode | SyncCode):
            touched = self.memory.touched
            event = Event(agent.label, agent.passed, node.stmt, dict(env), points, touched)
            self.events.append(event)
        self.memory.touched = ()


def _frame(agent: Agent) -> Frame:
    if agent.frame is None:
        raise AssertionError("an agent that has ended has no place")
    return agent.frame


def _after_block(frame: Frame) -> Frame | None:
    if frame.loop is None:
        return frame.parent
    var, bound = frame.loop
    value = frame.env[var] + 1
    if value >= bound:
        return frame.parent
    return frame._replace(pc=0, env={**frame.env, var: value})


def _label(parent: str, node: ParCode, place: tuple[int, ...]) -> str:
    if node.kind == "team":
        own = "".join(f"{v}{p}" for v, p in zip(node.vars, place, strict=True))
    else:
        own = ",".join(f"{v}={p}" for v, p in zip(node.vars, place, strict=True))
    return f"{parent} {own}".strip()


def _line(node: Code) -> str:
    span = node.stmt.span if isinstance(node, ApplyCode | SyncCode) else None
    return "" if span is None else f" (line {span.line})"
