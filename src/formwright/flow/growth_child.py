"""One problem of the study `growth`, in a process of its own: from a contract to a kernel.

    python -m formwright.flow.growth_child PROBLEM OUT POPULATION

The search of ``formwright run`` with an agent, up to its choice; the study compares the chosen
kernels itself. What it came to is written to ``OUT/ran.json``.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.files import write_json
from formwright.contract.problem import load_problem
from formwright.flow.agent_loop import finish, improve, open_room
from formwright.flow.agent_results import result_of
from formwright.flow.agent_room import Room
from formwright.flow.journal import Journal
from formwright.flow.loop import Search
from formwright.flow.populating import population_at
from formwright.flow.run import open_setting

RESULT = "ran.json"


class _Quiet:
    """Nobody listens; the study says how far it is."""

    def stage(self, text: str, done: int = 0, total: int = 0) -> None: ...

    def done(self, text: str) -> None: ...


def ran(path: Path, out: Path, population: str, began: datetime) -> dict[str, Any]:
    """What the study keeps of a run. Raises ``InputError`` for faults of the problem."""
    problem = load_problem(path)
    agent = problem.agent
    if agent is None:
        raise AssertionError("a problem of the study has an agent")
    with Journal(out / "journal.jsonl") as journal:
        setting = open_setting(problem, out, journal, _Quiet())
        room = open_room(setting, agent, population_at(population))
        ended = improve(room)
        found = finish(room, problem.workloads[0])
        measured = [e for e in journal.entries if e["key"].startswith("measure/")]
        return {
            "seconds": _since(began, datetime.now(UTC).isoformat()),
            "first_seconds": _since(began, measured[0]["time"]) if measured else None,
            "first_latency": _fastest(measured[0]) if measured else None,
            **_outcome(room, found),
            "ended": ended,
            "agent": result_of(room, ended).as_json(),
        }


def _since(began: datetime, time: str) -> float:
    return (datetime.fromisoformat(time) - began).total_seconds()


def _fastest(entry: dict[str, Any]) -> float | None:
    programs = entry["data"]["programs"].values()
    return min((float(p["seconds"]["median"]) for p in programs if "seconds" in p), default=None)


def _outcome(room: Room, found: Search) -> dict[str, Any]:
    drawn = [m for m in room.made if m.drawn]
    made = [m for m in room.made if not m.drawn]
    shown: dict[str, Any] = {
        "drawn": [m.key for m in drawn],
        "proposed": len(made),
        "proved": sum(m.verdict == "proved" for m in made),
        "template": "",
        "rule": "",
        "assignment": {},
        "library": "",
        "latency": None,
        "reasons": list(found.reasons),
    }
    winner = found.winner
    if winner is None:
        return shown
    made_as = room.named(winner.template)
    return shown | {
        "template": winner.template,
        "rule": "" if made_as is None else made_as.rule,
        "assignment": winner.assignment,
        "library": str(winner.library.relative_to(room.setting.out)),
        "latency": found.seconds[winner.key],
    }


def main(arguments: list[str]) -> int:
    began = datetime.now(UTC)
    path, out, population = arguments
    try:
        write_json(Path(out) / RESULT, ran(Path(path), Path(out), population, began))
    except InputError as error:
        print("; ".join(d.message for d in error.diagnostics), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
