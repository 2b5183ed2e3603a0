"""What an agent's part in a run came to: lineage, budgets, diagnoses, what stood there before."""

from dataclasses import dataclass
from typing import Any

from formwright.flow.agent_proposers import TRANSCRIPT
from formwright.flow.agent_room import Made, Room


@dataclass(frozen=True, slots=True)
class AgentResult:
    """``generations`` and ``lineage`` as data, each with the journal entry that it comes from.

    ``before``: in words, what the run had from the population; empty if it had nothing.
    """

    proposer: str
    ended: str
    before: str
    requests: int
    spent: dict[str, dict[str, float | None]]
    spent_lines: tuple[str, ...]
    generations: tuple[dict[str, Any], ...]
    lineage: tuple[dict[str, Any], ...]
    lines: tuple[str, ...]
    transcript: str
    device: str

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``agent`` in ``formwright run --json``."""
        return {
            "proposer": self.proposer,
            "ended": self.ended,
            "before": self.before,
            "requests": self.requests,
            "spent": self.spent,
            "generations": list(self.generations),
            "lineage": list(self.lineage),
            "lines": list(self.lines),
            "transcript": self.transcript,
            "device": self.device or "this machine",
        }


def result_of(room: Room, ended: str) -> AgentResult:
    """As the room stands at the end."""
    ledger = room.setting.ledger
    path = room.setting.out / TRANSCRIPT
    return AgentResult(
        proposer=room.proposer.name,
        ended=ended,
        before=_before(room),
        requests=room.asked,
        spent=ledger.data(),
        spent_lines=ledger.lines(),
        generations=tuple(room.generations),
        lineage=tuple(_shown(room, made) for made in room.made),
        lines=tuple(room.lines),
        transcript=room.agent.transcript or (str(path) if path.exists() else ""),
        device=room.setting.device.replayed,
    )


def _shown(room: Room, made: Made) -> dict[str, Any]:
    """One text with the names of its parents and its best times by workload."""
    names = {m.digest: m.key for m in room.made if m.digest and m.key}
    seconds: dict[str, float] = {}
    for workload in room.setting.problem.workloads:
        tally = room.tally(workload)
        mine = [tally.seconds[k] for k, c in tally.candidates.items() if c.template == made.key]
        if made.key and mine:
            seconds[workload.name] = min(mine)
    return made.as_json() | {
        "parent_names": [names.get(p, p[:12]) for p in made.parents],
        "seconds": seconds,
    }


def _before(room: Room) -> str:
    """What earlier runs left to this one: templates, figures, verdicts not asked again."""
    drawn = [m for m in room.made if m.drawn]
    figures = sum(
        len(d["facts"])
        for entry in room.setting.journal.entries
        if entry["key"].startswith("draw/")
        for d in entry["data"]
    )
    met = [m for m in room.made if m.known and not m.drawn]
    parts = []
    if drawn:
        names = ", ".join(m.key for m in drawn)
        parts.append(f"started from {len(drawn)} template(s) of the population ({names})")
    if figures:
        parts.append(f"{figures} figure(s) of this machine were known before anything was measured")
    if met:
        parts.append(f"{len(met)} proposal(s) had been judged before")
    return "; ".join(parts)
