"""What a proposer is shown: the contract, the chip, what is known, what failed, the run so far."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from formwright.agent.protocol import Finding, Kind, Known, Reply, Request
from formwright.contract.writing import contract_text
from formwright.flow.agent_room import Made, Room
from formwright.population.telling import fact_lines, met_line

KNOWN: Final = 8
"""Templates of a request."""
ALIKE: Final = 3
"""Templates of other problems, where none of this one is known."""
FACTS: Final = 6
"""Of one template, the newest."""
MET: Final = 8
"""Counterexamples of a request."""


def ask(
    room: Room,
    kind: Kind,
    *,
    known: Sequence[Known] = (),
    parent: Made | None = None,
    findings: Iterable[Finding] = (),
    data: Mapping[str, Any] | None = None,
) -> Reply:
    """The answer to the next request, which is charged and in the journal."""
    setting = room.setting
    room.asked += 1
    number = room.asked
    request = Request(
        kind=kind,
        number=number,
        seed=setting.seed,
        contract=contract_text(setting.problem.contract, setting.problem.workloads),
        formula=setting.problem.contract.formula,
        chip=_chip(room),
        known=tuple(known),
        parent="" if parent is None else parent.text,
        findings=tuple(findings),
        journal=tuple(room.lines),
        data={
            "level": room.level,
            "wanted": room.agent.proposals,
            "tried": [m.key for m in room.made if m.key],
            "threads": setting.threads,
            **(data or {}),
        },
    )
    about = "" if parent is None else f" of {parent.key or parent.step}"
    setting.listener.stage(f"{room.proposer.name}: request {number}, {kind}{about}")
    reply = room.proposer.propose(request)
    setting.journal.step(f"ask/{number}", partial(_entry, room, request, reply))
    if reply.problem:
        room.tell(f"request {number} ({kind}) had no answer of use: {_line(reply.problem)}")
    return reply


def _entry(room: Room, request: Request, reply: Reply) -> dict[str, Any]:
    """For the journal; the texts themselves stand in the transcript and in what was judged."""
    return {
        "proposer": room.proposer.name,
        "kind": request.kind,
        "level": room.level,
        "known": [k.name for k in request.known],
        "problem": reply.problem,
        "proposals": [
            {"language": p.language, "rule": p.rule, "parents": list(p.parents), "why": p.why}
            for p in reply.proposals
        ],
    }


def known_here(room: Room) -> tuple[Known, ...]:
    """The templates of the run that may be used, the fastest first; with what was measured."""
    ranked = sorted(room.setting.templates, key=lambda name: (_rank(room, name), name))
    found = []
    for name in ranked[:KNOWN]:
        proved = room.setting.templates[name]
        found.append(Known(name, proved.source.text, "proved", _facts(room, name)))
    return tuple(found)


def known_elsewhere(room: Room) -> tuple[Known, ...]:
    """Templates of other problems with lines in common, from the population."""
    found = room.population.alike(room.setting.problem.contract, limit=ALIKE)
    entries = [a.entry for a in found if a.entry.language == "fw"]
    return tuple(Known(e.name, e.text, e.evidence) for e in entries)


def counterexamples(room: Room) -> list[str]:
    """What templates of this formula met, here and before."""
    met = room.population.counterexamples(problem=room.setting.problem.contract)
    return list(dict.fromkeys(met_line(m) for m in met))[-MET:]


def _facts(room: Room, name: str) -> tuple[str, ...]:
    """What the population has measured of a template here, and how it stands in this run."""
    made = room.named(name)
    lines: list[str] = []
    if made is not None and made.digest:
        kept = room.population.facts(made.digest, chip=room.chip, machine=room.machine)
        lines += fact_lines([k for k in kept if k.standing == "holds"][-FACTS:])
    for workload in room.setting.problem.workloads:
        tally = room.tally(workload)
        best = tally.best
        for key in sorted(tally.seconds, key=lambda k: (tally.seconds[k], k)):
            candidate = tally.candidates[key]
            if candidate.template != name or best is None:
                continue
            shown = " ".join(f"{d}={v}" for d, v in candidate.assignment.items())
            ratio = tally.seconds[key] / tally.seconds[best]
            lines.append(
                f"measured at {workload.name}: {tally.seconds[key]:.4g} s with {shown},"
                f" {ratio:.3g} times the best of this run; modelled {candidate.predicted:.4g} s"
            )
            break
    return tuple(lines)


def _rank(room: Room, name: str) -> float:
    """The least time of a template over the best time, at the workload where it does best."""
    ratios = [float("inf")]
    for workload in room.setting.problem.workloads:
        tally = room.tally(workload)
        best = tally.best
        if best is not None:
            ratios += [
                tally.seconds[key] / tally.seconds[best]
                for key, c in tally.candidates.items()
                if c.template == name
            ]
    return min(ratios)


def _chip(room: Room) -> dict[str, str]:
    return {name: str(value) for name, value in room.setting.chip.items()}


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
