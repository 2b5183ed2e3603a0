"""One generation of a run with an agent: draw, ask, judge; solve, build, measure; learn, diagnose.

What the next generation asks for follows from what this one measured. When the bottleneck has
moved, or nothing was gained at a level, the next template is asked for one level lower.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.agent.protocol import Kind, Reply
from formwright.contract.problem import Workload
from formwright.flow.agent_diagnosis import diagnosed
from formwright.flow.agent_drawing import draw
from formwright.flow.agent_groups import holding
from formwright.flow.agent_judging import judge_all
from formwright.flow.agent_kernels import try_kernels
from formwright.flow.agent_learning import tell_measured, tell_structures
from formwright.flow.agent_requests import ask, counterexamples, known_elsewhere, known_here
from formwright.flow.agent_room import MEDIANS, Room
from formwright.flow.candidates import Wanted, solutions
from formwright.flow.loop import look_at
from formwright.measure.statistics import median_interval, paired

GAIN: Final = 0.97
"""A generation gains where its best time is below this share of the best before. Where one of its
measurements timed both, interleaved, the interval of the ratios paired by round is below 1 too;
else their times stand beside each other by what was measured with both (:func:`look_at`)."""

OWN: Final = ("solve", "refit", "measure")
"""What a diagnosis may ask of the flow itself: another round with what was learned."""

STANDING: Final = 2
"""Templates from before, the fastest ones, that each round solves again."""

LEVELS: Final = ("mapping", "schedule")
"""Levels that a template may be asked for today, the higher first."""


def generation(room: Room, number: int) -> bool:
    """Generation ``number``; whether it gained anything."""
    setting = room.setting
    drawn = draw(room, number)
    since = setting.journal.number(f"draw/{number}")
    reply = None
    if number == 0 and setting.templates:
        usable = [m for m in room.made if m.key in setting.templates]  # named or drawn
    else:
        reply = _asked(room, number)
        usable = drawn + judge_all(room, number, reply.proposals, room.asked)
    names = [m.key for m in usable]
    before = {w.name: room.tally(w).best for w in setting.problem.workloads}
    if reply is not None:
        try_kernels(room, number, reply.proposals, room.asked)
    if names:
        for workload in setting.problem.workloads:
            _look(room, workload, number, names)
    causes = diagnosed(room, number, since) if names else room.diagnosis
    if names and causes is not None and causes["action"] in OWN:
        room.tell(f"{causes['kind']}: {causes['action']} once more before another template")
        for workload in setting.problem.workloads:
            _round(room, workload, (number + 1) * _rounds(room) - 1, ())
    gained = [w.name for w in setting.problem.workloads if _gained(room, w, number, before[w.name])]
    level = room.level
    if number == 0 and drawn and all(m.measured for m in drawn):
        # What was measured before this run is no gain of it.
        gained = []
    else:
        _next_level(room, bool(gained), causes)
    ended = {
        "drawn": [m.key for m in drawn],
        "proved": names,
        "level": level,
        "gained": gained,
        "next_level": room.level,
        "diagnosis": causes,
        "best": {w.name: _best(room, w) for w in setting.problem.workloads},
    }
    room.generations.append(setting.journal.step(f"generation/{number}", lambda: ended))
    told = f"gained at {', '.join(gained)}" if gained else "nothing gained"
    room.tell(f"generation {number + 1}: {len(names)} template(s) to look at, {told}")
    return bool(gained)


def _asked(room: Room, number: int) -> Reply:
    """A new template where none is known, else others made from those that are."""
    failed = [
        f for m in room.made if m.generation == number - 1 and not m.known for f in m.findings
    ]
    known = known_here(room)
    kind: Kind = "adapt" if known else "new"
    data: dict[str, Any] = {"counterexamples": counterexamples(room)}
    if room.diagnosis:
        data["diagnosis"] = room.diagnosis
    if room.words:
        data["words"] = room.words
    return ask(room, kind, known=known or known_elsewhere(room), findings=failed, data=data)


def _rounds(room: Room) -> int:
    """Rounds of a generation, the last of which is for what a diagnosis asks of the flow."""
    return room.setting.problem.budget.rounds + 1


def _look(room: Room, workload: Workload, number: int, names: Sequence[str]) -> None:
    """The rounds of one workload, until nothing new comes of them."""
    first = number * _rounds(room)
    for at in range(first, first + room.setting.problem.budget.rounds):
        if not _round(room, workload, at, names, untried=at == first):
            break


def _round(
    room: Room, workload: Workload, at: int, names: Sequence[str], untried: bool = False
) -> bool:
    """New templates beside the best of those that stand; whether another round may tell more."""
    setting, tally = room.setting, room.tally(workload)
    standing = [n for n in _standing(room, workload) if n not in names][:STANDING]
    fixed = holding(room, workload, at, names)
    wanted = Wanted(
        names=(*names, *standing),
        untried=frozenset(names) if untried else frozenset(),
        forgiving=True,
        fixed=fixed,
    )
    found = solutions(setting, workload, at, wanted)
    _tell_unsolved(room, workload, found)
    tell_structures(room, workload, at, found["solutions"])
    beside = [] if tally.best is None else [tally.best]
    measured = look_at(setting, workload, at, tally, found["designs"], beside)
    tell_measured(room, workload, at, measured)
    return bool(measured) or any(fixed.values())


def _standing(room: Room, workload: Workload) -> list[str]:
    tally = room.tally(workload)
    ordered = sorted(tally.seconds, key=lambda key: (tally.seconds[key], key))
    return list(dict.fromkeys(tally.candidates[key].template for key in ordered))


def _tell_unsolved(room: Room, workload: Workload, found: dict[str, Any]) -> None:
    for name, solution in found["solutions"].items():
        if solution["status"] == "optimal":
            continue
        why = solution.get("error") or ", ".join(solution["conflict"]) or solution["status"]
        line = f"{name} has no design at {workload.name}: {' '.join(str(why).split())[:300]}"
        if line not in room.lines:
            room.tell(line)


def _gained(room: Room, workload: Workload, number: int, before: str | None) -> bool:
    """Whether the best is a new one, and no chance: a template whose time was known is no gain."""
    tally = room.tally(workload)
    best = tally.best
    if best is None or best == before:
        return False
    less = before is None or tally.seconds[best] < GAIN * tally.seconds[before]
    if room.gains == MEDIANS:
        return less
    made = room.named(tally.candidates[best].template)
    if made is not None and made.measured:
        return False
    pairs = () if before is None else _paired(room, workload, number, best, before)
    return less and (not pairs or median_interval(pairs).high < 1)


def _paired(
    room: Room, workload: Workload, number: int, best: str, before: str
) -> tuple[float, ...]:
    """Ratios of the two by round, of the first measurement of this generation that timed both."""
    first = number * _rounds(room)
    for at in range(first, first + _rounds(room)):
        timing = room.setting.journal.known(f"measure/{workload.name}/{at}")
        timed = {} if timing is None else timing["programs"]
        if best in timed and before in timed:
            pairs = paired(_by_round(timed[best]), _by_round(timed[before]))
            if pairs:  # none where one of them failed there
                return pairs
    return ()


def _by_round(timed: Mapping[str, Any]) -> dict[int, float]:
    """Seconds of a program's calls by round; none of one that failed."""
    return {sample["round"]: sample["seconds"] for sample in timed.get("samples", ())}


def _next_level(room: Room, gained: bool, causes: dict[str, Any] | None) -> None:
    """One level lower where the bottleneck moved there or this level has no more to give."""
    lower = causes is not None and causes["action"] == "lower"
    if lower or not gained:
        at = LEVELS.index(room.level)
        if at + 1 < len(LEVELS):
            room.level = LEVELS[at + 1]
            why = "the bottleneck moved" if lower else "nothing was gained"
            room.tell(f"{why}: the next template is asked for at the level of the {room.level}")


def _best(room: Room, workload: Workload) -> dict[str, Any] | None:
    tally = room.tally(workload)
    if tally.best is None:
        return None
    candidate = tally.candidates[tally.best]
    return {
        "template": candidate.template,
        "assignment": candidate.assignment,
        "seconds": tally.seconds[tally.best],
    }
