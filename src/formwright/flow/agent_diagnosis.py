"""Why the best of a generation is not better: by the figures, and in the proposer's words.

The figures decide what is done next; the words go into the next request, and nothing else.
"""

from dataclasses import dataclass
from typing import Any, Final

from formwright.contract.problem import Workload
from formwright.flow.agent_requests import ask, known_here
from formwright.flow.agent_room import Room
from formwright.flow.diagnosis import diagnose
from formwright.flow.diagnosis_data import Outside
from formwright.flow.diagnosis_excluding import excluded_by
from formwright.flow.diagnosis_reading import read_case
from formwright.flow.jobs import Time
from formwright.flow.loop import beside_baselines
from formwright.measure.timing import Plan
from formwright.qualify.qualification import OURS

PLAN: Final = Plan(rounds=5, least_rounds=3, seconds=10.0)
"""Of the baselines, once for each workload: what is known to be possible."""
WORDS: Final = 2_000
"""Characters of the proposer's words that are shown again."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Causes at one workload, the largest first."""

    workload: str
    causes: list[dict[str, Any]]


def diagnosed(room: Room, number: int, since: int | None) -> dict[str, Any] | None:
    """The main cause of a shortfall after generation ``number``, and what to do; or ``None``.

    ``since``: the journal entry that began the generation.
    """
    setting = room.setting
    found = [
        _Found(w.name, _causes(room, w, number, since))
        for w in setting.problem.workloads
        if room.tally(w).best is not None
    ]
    ranked = sorted(
        (cause | {"workload": f.workload} for f in found for cause in f.causes[:1]),
        key=lambda c: (-c["loss"], c["workload"]),
    )
    room.diagnosis = ranked[0] if ranked else None
    room.words = ""
    if room.diagnosis is None:
        return None
    cause = room.diagnosis
    room.tell(f"{cause['workload']}: {cause['kind']}: {cause['says']}; {cause['repair']}")
    if room.agent.diagnose and not setting.ledger.exhausted():
        reply = ask(room, "diagnose", known=known_here(room)[:2], data={"diagnosis": cause})
        said = [p.text for p in reply.proposals if p.language == "text"]
        room.words = said[0][:WORDS] if said else ""
        if room.words:
            room.tell(f"{room.proposer.name} says: {' '.join(room.words.split())[:300]}")
    return cause


def _causes(room: Room, workload: Workload, number: int, since: int | None) -> list[dict[str, Any]]:
    """A journal step. Conditions that exclude better designs are asked for where the figures say
    nothing else, since each takes a proof."""
    setting = room.setting
    outside = _outside(room, workload)

    def compute() -> list[dict[str, Any]]:
        causes = diagnose(read_case(setting, workload, outside=outside, since=since))
        if not any(c.evidence == "measured" for c in causes):
            key = room.tally(workload).best
            assert key is not None
            name = room.tally(workload).candidates[key].template
            excluded = excluded_by(setting, workload, name)
            causes = diagnose(
                read_case(setting, workload, outside=outside, excluded=excluded, since=since)
            )
        return [c.as_json() for c in causes]

    found: list[dict[str, Any]] = setting.journal.step(
        f"diagnose/{workload.name}/{number}", compute
    )
    return found


def _outside(room: Room, workload: Workload) -> list[Outside]:
    """The baselines, timed once beside the best of then, in times that compare with now's."""
    setting, tally = room.setting, room.tally(workload)
    if not setting.problem.baselines:
        return []
    key = f"baselines/{workload.name}"
    first = setting.journal.step(f"{key}/beside", lambda: {"candidate": tally.best})["candidate"]
    contract = setting.problem.contract
    programs = beside_baselines(setting, tally.candidates[first])
    setting.listener.stage(f"{workload.name}: what is possible: {', '.join(programs)}")
    timing = setting.timed(
        key,
        tuple(programs),
        Time(programs, contract, workload.extents, seed=setting.seed, plan=PLAN),
    )
    timed = {n: p["seconds"] for n, p in timing["programs"].items() if "failure" not in p}
    ours = timed.pop(OURS, None)
    scale = 1.0 if ours is None else tally.seconds[first] / float(ours["median"])
    return [
        Outside(n, t["median"] * scale, t["low"] * scale, t["high"] * scale, key)
        for n, t in timed.items()
    ]
