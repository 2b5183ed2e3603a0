"""What the population has for this problem joins the run: proved again by the rules of now."""

from functools import partial
from typing import Any, Final

from formwright.base.source import Source
from formwright.flow.adopting import adopt
from formwright.flow.agent_learning import complete, fitting, remember
from formwright.flow.agent_room import Made, Room
from formwright.flow.jobs import Prove
from formwright.flow.proving import prove
from formwright.lang.parser import parse
from formwright.population import Covered
from formwright.population.settling import settle

DRAWN: Final = 2
"""Templates that were measured here before, and as many that were not, are drawn at most in one
generation: the best by what is known, structures in turn."""

OPENING: Final = 4
"""Of those that were measured here, so many in the first generation: as many as an earlier run
compares at its end, since times of different hours do not tell which of them is the best."""


def draw(room: Room, generation: int) -> list[Made]:
    """Templates of the population that cover the contract, those that are new to the run.

    What was drawn is in the journal with its text: a run that goes on sees the same.
    """
    setting = room.setting
    setting.listener.stage("looking into the population")
    drawn: list[dict[str, Any]] = setting.journal.step(
        f"draw/{generation}", partial(_drawn, room, generation)
    )
    return [made for data in drawn if (made := _joined(room, generation, data)) is not None]


def _drawn(room: Room, generation: int) -> list[dict[str, Any]]:
    found = room.population.covering(
        room.setting.problem.contract, chip=room.chip, machine=room.machine
    )
    mine = {m.digest for m in room.made}
    told = [
        _told(room, covered)
        for covered in found
        if covered.entry.digest not in mine and covered.template.cost is not None
    ]
    measured = [t for t in told if t["facts"] and _promising(room, t["facts"])]
    measured = measured[: DRAWN if generation else OPENING]
    return measured + [t for t in told if not t["facts"]][:DRAWN]


def _promising(room: Room, facts: list[dict[str, Any]]) -> bool:
    """Whether a time of before is below the best of the run, or of a shape that has none yet."""
    for workload in room.setting.problem.workloads:
        tally = room.tally(workload)
        known = [f["value"] for f in facts if f["extents"] == dict(workload.extents)]
        if known and (tally.best is None or min(known) < tally.seconds[tally.best]):
            return True
    return not complete(room, facts)


def _told(room: Room, covered: Covered) -> dict[str, Any]:
    entry = covered.entry
    steps = [s for s in room.population.lineage(entry.digest) if s.child == entry.digest]
    first = steps[0] if steps else None
    return {
        "digest": entry.digest,
        "name": entry.name,
        "text": entry.text,
        "evidence": entry.evidence,
        "reopened": entry.reopened,
        "parents": [s.parent for s in steps if s.parent],
        "rule": first.rule if first else "",
        "proposer": first.proposer if first else "",
        "facts": fitting(room, covered.facts, covered.template),
    }


def _joined(room: Room, generation: int, data: dict[str, Any]) -> Made | None:
    """Proved by the rules of now (a kept proof is enough), with what was measured of it before."""
    setting = room.setting
    if any(m.digest == data["digest"] for m in room.made):
        return None
    source = Source(f"{data['name']}.fw", data["text"])
    template = parse(source)
    step = f"prove/{data['digest'][:12]}"
    setting.listener.stage(f"proving {template.name}")
    proof = setting.steps.one(step, Prove(source))
    setting.charge(step, building=float(proof["seconds"]))
    taken = template.name in setting.templates
    key = f"{template.name}-{data['digest'][:8]}" if taken else template.name
    made = Made(
        key=key,
        digest=data["digest"],
        language="fw",
        generation=generation,
        parents=tuple(data["parents"]),
        rule=data["rule"],
        proposer=data["proposer"],
        why="drawn from the population",
        verdict=proof["verdict"],
        step=step,
        known=f"admitted, {data['evidence']}",
        measured=complete(room, data["facts"]),
        text=data["text"],
        drawn=True,
    )
    room.made.append(made)
    if made.verdict != "proved":
        room.tell(f"{key}: drawn, and {made.verdict} by the rules of now")
        return None
    # A run that goes on may find another population than it drew from; the proof in its journal
    # may be of earlier rules, so that nothing is admitted by it.
    room.population.add_template(data["text"])
    settle(room.population, made.digest, prove, room.step(step))
    adopt(setting, key, Source(f"{template.name}.fw", data["text"]), template, proof)
    known = remember(setting, key, made.digest, data["facts"])
    room.tell(f"{key}: drawn from the population, with {known} figure(s) of this machine")
    return made
