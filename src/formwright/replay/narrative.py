"""The trace that a person reads: who did what, with every index written out."""

from collections.abc import Mapping
from typing import assert_never

from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Expr, Scalar
from formwright.ir.program import (
    Access,
    Apply,
    Arrive,
    Await,
    Barrier,
    Commit,
    Index,
    Literal,
    Op,
    Read,
    Select,
    Value,
    Wait,
)
from formwright.replay.events import Event, Touch
from formwright.replay.judge import Finding
from formwright.replay.runner import Outcome
from formwright.replay.state import Cell

TRACE_LIMIT = 12
_INFIX = frozenset({"+", "-", "*", "/"})


def trace(found: Finding, outcome: Outcome, constants: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The steps that make the defect, oldest first, at most ``TRACE_LIMIT`` lines."""
    events = outcome.events
    steps = relevant(found, outcome)
    lines = [_line(events[n], point, constants) for n, point in steps[-TRACE_LIMIT:]]
    lines += [f"deadlock: {row}" for row in outcome.stuck]
    return tuple(_without_common_prefix(lines, [events[n].agent for n, _ in steps]))


def relevant(found: Finding, outcome: Outcome) -> list[tuple[int, int]]:
    """The events with their points that make the defect, oldest first."""
    victim = _odd_read(outcome.events, found)
    if victim is None:
        return _last_writes(outcome.events, found)
    return _around(outcome.events, *victim)


def _odd_read(events: tuple[Event, ...], found: Finding) -> tuple[int, int, Touch] | None:
    """The event, point and access that meet another generation than they want, or nothing."""
    cell = None if found.anomaly is None else found.anomaly.cell
    for n, event in enumerate(events):
        for point, touches in enumerate(event.touched):
            for touch in touches:
                odd = touch.held is not None and touch.held != touch.generation
                if odd and not touch.write and cell in (None, touch.cell):
                    return n, point, touch
    return None


def _around(
    events: tuple[Event, ...], victim: int, point: int, touch: Touch
) -> list[tuple[int, int]]:
    """The write that was wanted, what the other agent did since its last barrier up to the
    write that did the harm, and the read that suffers."""
    harm = _last_write(events, victim, touch.cell, touch.held)
    wanted = _last_write(events, victim, touch.cell, touch.generation)
    steps = [] if wanted is None else [wanted]
    if harm is not None:
        doer = events[harm[0]]
        first = harm[0]
        while first > 0 and not _is_barrier_of(events[first - 1], doer.agent):
            first -= 1
        if wanted is None or first > wanted[0]:
            between = [n for n in range(first, harm[0]) if events[n].agent == doer.agent]
            steps += [(n, 0) for n in between]
        steps.append(harm)
    return [*steps, (victim, point)]


def _is_barrier_of(event: Event, agent: str) -> bool:
    return isinstance(event.stmt, Barrier) and event.agent == agent


def _last_write(
    events: tuple[Event, ...], before: int, cell: Cell, generation: int | None
) -> tuple[int, int] | None:
    for n in range(before - 1, -1, -1):
        for point, touches in enumerate(events[n].touched):
            for touch in touches:
                if touch.write and touch.cell == cell and touch.generation == generation:
                    return n, point
    return None


def _last_writes(events: tuple[Event, ...], found: Finding) -> list[tuple[int, int]]:
    """The writes of the cell that is wrong."""
    if found.cell is not None:
        return [
            (n, point)
            for n, event in enumerate(events)
            for point, touches in enumerate(event.touched)
            if any(
                t.write and t.cell[2] == found.cell.index and _is_output(t, found) for t in touches
            )
        ]
    if found.anomaly is None:
        return []
    return _until_the_odd_one(events, found.anomaly.cell)


def _until_the_odd_one(events: tuple[Event, ...], cell: Cell | None) -> list[tuple[int, int]]:
    """What met the cell up to a read that found nothing, and the write that comes too late."""
    steps: list[tuple[int, int]] = []
    is_late = False
    for n, event in enumerate(events):
        for point, touches in enumerate(event.touched):
            here = [t for t in touches if t.cell == cell]
            if is_late and any(t.write for t in here):
                return [*steps, (n, point)]
            if here and not is_late:
                steps.append((n, point))
                is_late = any(t.held is None and not t.write for t in here)
    return steps


def _is_output(touch: Touch, found: Finding) -> bool:
    return found.cell is not None and found.cell.text.startswith(f"{touch.name}[")


def _line(event: Event, point: int, constants: Mapping[str, Scalar]) -> str:
    who = f"{event.agent}: " if event.agent else ""
    return who + _deed(event, point, constants)


def _deed(event: Event, point: int, constants: Mapping[str, Scalar]) -> str:
    stmt = event.stmt
    match stmt:
        case Apply():
            env = {**constants, **event.env}
            if point < len(event.points):
                names = [b.name for b in stmt.box]
                env.update(zip(names, event.points[point], strict=True))
            text = f"{_access(stmt.destination, env)} {stmt.op} {_value(stmt.value, env)}"
            touches = event.touched[point] if point < len(event.touched) else ()
            notes = "; ".join(dict.fromkeys(n for t in touches for n in _note(t)))
            return text + (f"  ({notes})" if notes else "")
        case Barrier():
            return "barrier"
        case Commit():
            return "commit"
        case Wait(pending):
            return f"wait {evaluate(pending, {**constants, **event.env})}"
        case Arrive(counter, place):
            env = {**constants, **event.env}
            return f"arrive {counter}{_place(place, env)}"
        case Await(counter, count, place, phase):
            env = {**constants, **event.env}
            seen = "" if phase is None else f" phase {evaluate(phase, env)}"
            return f"await {counter}{_place(place, env)}, {evaluate(count, env)}{seen}"
        case _:
            assert_never(stmt)


def _note(touch: Touch) -> list[str]:
    """``slot 0, held sB<2>`` of a write, ``slot 0 holds sB<4>`` of a read that meets it."""
    if touch.slot is None:
        return []
    other = touch.held is not None and touch.held != touch.generation
    if touch.write:
        return [
            f"slot {touch.slot}, held {touch.name}<{touch.held}>" if other else f"slot {touch.slot}"
        ]
    return [f"slot {touch.slot} holds {touch.name}<{touch.held}>"] if other else []


def _access(access: Access, env: Mapping[str, Scalar]) -> str:
    index = ",".join(str(evaluate(i, env)) for i in access.index)
    generation = "" if access.generation is None else f"<{evaluate(access.generation, env)}>"
    return f"{access.buffer}{generation}[{index}]"


def _value(value: Value, env: Mapping[str, Scalar]) -> str:
    match value:
        case Literal(number):
            return str(number)
        case Read(access):
            return _access(access, env)
        case Index(expr):
            return str(evaluate(expr, env))
        case Op(name, args) if name in _INFIX and len(args) == 2:
            return f"{_inner(args[0], env)}{name}{_inner(args[1], env)}"
        case Op(name, args):
            return f"{name}({', '.join(_value(a, env) for a in args)})"
        case Select(cond, then, other):
            return _value(then if evaluate(cond, env) else other, env)
        case _:
            assert_never(value)


def _inner(value: Value, env: Mapping[str, Scalar]) -> str:
    shown = _value(value, env)
    nested = isinstance(value, Op) and value.name in _INFIX
    return f"({shown})" if nested else shown


def _without_common_prefix(lines: list[str], agents: list[str]) -> list[str]:
    """Agents of one block of a grid are named by their place in the team alone."""
    blocks = {a.rpartition(" ")[0] for a in agents}
    if len(blocks) != 1 or not (block := blocks.pop()):
        return lines
    return [line.removeprefix(block + " ") for line in lines]


def _place(place: Expr | None, env: Mapping[str, Scalar]) -> str:
    return "" if place is None else f"[{evaluate(place, env)}]"
