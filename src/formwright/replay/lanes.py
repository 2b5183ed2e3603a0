"""A run of a tile program as lanes: who did what, side by side, up to the defect."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from formwright.ir.evaluate import evaluate
from formwright.ir.expr import Scalar
from formwright.ir.program import Apply, Arrive, Await, Barrier, Commit, Wait
from formwright.proof.interleaving import Event as Shown
from formwright.proof.interleaving import Interleaving
from formwright.replay.events import Event, Touch
from formwright.replay.judge import Finding
from formwright.replay.narrative import relevant
from formwright.replay.runner import Outcome

EVENT_LIMIT = 40
"""The most events that are drawn; the oldest are left out."""

CELL_LIMIT = 3
"""The most cells of one buffer that an event names."""


def interleaving(
    title: str, found: Finding, outcome: Outcome, constants: Mapping[str, Scalar]
) -> Interleaving | None:
    """Everything that the agents of the defect did from its first relevant event on.

    ``None`` where no event bears on the defect (what is wrong is that something is missing).
    """
    events = outcome.events
    marked = [n for n, _ in relevant(found, outcome)]
    if not marked:
        return None
    last = len(events) - 1 if outcome.stuck else max(marked)
    window = range(_from_barrier(events, min(marked)), last + 1)
    agents = sorted({events[n].agent for n in marked}) if not outcome.stuck else None
    kept = [n for n in window if agents is None or events[n].agent in agents][-EVENT_LIMIT:]
    prefix = _prefix([events[n].agent for n in kept])
    victim = max(marked) if not outcome.stuck else -1
    shown = tuple(
        _shown(events[n], prefix, constants, found.sentence if n == victim else "") for n in kept
    )
    stuck = tuple(
        Shown(_lane(agent, prefix), "waits", note=rest)
        for row in outcome.stuck
        for agent, _, rest in [row.partition(": ")]
    )
    lanes = sorted({e.lane for e in (*shown, *stuck)})
    return Interleaving(title, tuple(lanes), (*shown, *stuck), found.sentence)


def _from_barrier(events: Sequence[Event], first: int) -> int:
    """Where the window begins: after the last barrier before the first event that counts."""
    while first > 0 and not isinstance(events[first - 1].stmt, Barrier):
        first -= 1
    return max(0, first - 1)


def _prefix(agents: Sequence[str]) -> str:
    blocks = {a.rpartition(" ")[0] for a in agents}
    return f"{blocks.pop()} " if len(blocks) == 1 and "" not in blocks else ""


def _lane(agent: str, prefix: str) -> str:
    return agent.removeprefix(prefix) or "program"


def _shown(event: Event, prefix: str, constants: Mapping[str, Scalar], note: str) -> Shown:
    touches = [t for point in event.touched for t in point]
    odd = [t for t in touches if _is_odd(t) and not t.write]
    return Shown(
        _lane(event.agent, prefix),
        _deed(event, constants),
        _cells([t for t in touches if not t.write]),
        _cells([t for t in touches if t.write]),
        ": ".join(filter(None, (_holds(odd), note))),
    )


def _is_odd(touch: Touch) -> bool:
    return touch.held is not None and touch.held != touch.generation


def _holds(odd: Sequence[Touch]) -> str:
    met = {f"slot {t.slot} holds {t.name}<{t.held}>" for t in odd if t.slot is not None}
    return ", ".join(sorted(met))


def _cells(touches: Sequence[Touch]) -> tuple[str, ...]:
    """Each buffer with its generation and slot, and some of its cells."""
    groups: dict[str, dict[str, None]] = {}
    for touch in touches:
        ring = "" if touch.slot is None else f"<{touch.generation}>"
        slot = "" if touch.slot is None else f" in slot {touch.slot}"
        index = ",".join(str(i) for i in touch.cell[2])
        groups.setdefault(f"{touch.name}{ring}|{slot}", {})[f"[{index}]"] = None
    return tuple(_group(name, list(cells)) for name, cells in groups.items())


def _group(name: str, cells: Sequence[str]) -> str:
    buffer, _, slot = name.partition("|")
    more = f" and {len(cells) - CELL_LIMIT} more" if len(cells) > CELL_LIMIT else ""
    return f"{buffer}{' '.join(cells[:CELL_LIMIT])}{more}{slot}"


def _deed(event: Event, constants: Mapping[str, Scalar]) -> str:
    stmt, env = event.stmt, {**constants, **event.env}
    match stmt:
        case Apply():
            ring = stmt.destination.generation
            generation = "" if ring is None else f"<{evaluate(ring, env)}>"
            return f"{stmt.destination.buffer}{generation} {stmt.op}"
        case Barrier():
            return f"barrier {event.passed + 1}"
        case Commit():
            return "commit"
        case Wait(pending):
            return f"wait {evaluate(pending, env)}"
        case Arrive(counter):
            return f"arrive {counter}"
        case Await(counter, count):
            return f"await {counter}, {evaluate(count, env)}"
        case _:
            assert_never(stmt)
