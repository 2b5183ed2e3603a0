"""A run that makes its own templates: generations until the budget ends or nothing is gained."""

from time import monotonic
from typing import Any, Final

from formwright.contract.agent import Agent
from formwright.contract.problem import Workload
from formwright.flow.agent_generation import generation
from formwright.flow.agent_learning import keep
from formwright.flow.agent_proposers import ledger_of, proposer_of
from formwright.flow.agent_room import MEDIANS, PAIRED, Made, Room
from formwright.flow.loop import Search, Tally, conclude, measure
from formwright.flow.setting import Setting
from formwright.population import ChipKey, Population

FINALISTS: Final = 4
"""Candidates of different rounds that are measured once more together before one is chosen."""


def open_room(setting: Setting, agent: Agent, population: Population) -> Room:
    """Who proposes, and the templates that the problem names, as the first ones of the run.

    Raises ``InputError`` for a proposer that cannot be opened or limits that are none.
    """
    setting.ledger = ledger_of(agent)
    proposer = proposer_of(agent, setting.problem.contract, setting.out, setting.ledger)
    began = setting.journal.entries[0]["time"]
    before = setting.device.about("agent")
    told: dict[str, Any] = setting.journal.step(
        "agent",
        lambda: {
            "proposer": proposer.name,
            "machine": (before or {}).get("machine") or setting.steps.bench().cpu,
            "chip": setting.chip_key,
            "device": setting.device.replayed,
            "run": f"{setting.problem.name} {began}",
            "gains": PAIRED if before is None else before.get("gains", MEDIANS),
        },
    )
    room = Room(
        setting=setting,
        agent=agent,
        proposer=proposer,
        population=population,
        chip=ChipKey(setting.chip_name, told["chip"]),
        machine=told["machine"],
        run=told["run"],
        gains=told.get("gains", MEDIANS),
    )
    for name, proved in setting.templates.items():
        made = Made(
            key=name,
            digest=proved.proof["digest"],
            language="fw",
            generation=0,
            parents=(),
            rule="named",
            proposer="problem",
            why="named by the problem",
            verdict="proved",
            step=f"prove/{name}",
            text=proved.source.text,
        )
        room.made.append(made)
        keep(room, made, {"proof": proved.proof})
    return room


def improve(room: Room) -> str:
    """Generation after generation; why it ended, in words."""
    start = monotonic()
    idle = 0
    for number in range(room.agent.generations):
        journal = room.setting.journal
        stop: str = journal.step(f"go/{number}", lambda: {"stop": _stop(room, start)})["stop"]
        if stop:
            return stop
        idle = 0 if generation(room, number) else idle + 1
        if idle >= room.agent.patience:
            return f"{idle} generation(s) in a row gained nothing"
    return f"the {room.agent.generations} generation(s) that were asked for are done"


def _stop(room: Room, start: float) -> str:
    """Asked before a generation begins; the answer is in the journal."""
    spent = room.setting.ledger.exhausted()
    limit = room.setting.problem.budget.seconds
    if not spent and monotonic() - start > limit:
        return f"the budget of {limit:g} s ended"
    return spent


def finish(room: Room, workload: Workload) -> Search:
    """The choice of all that was measured; the best of different rounds once more side by side."""
    setting, tally = room.setting, room.tally(workload)
    first = conclude(setting, workload, tally)
    if first.winner is None or tally.rounds < 2 or len(tally.candidates) < 2:
        return first
    keys = _finalists(tally, first)
    timing = measure(setting, workload, "final", {key: tally.candidates[key] for key in keys})
    held = []
    for key in keys:
        timed = timing["programs"][key]
        if "failure" in timed:
            tally.reasons.append(f"{tally.candidates[key].template}: {timed['failure']}")
            continue
        tally.timed[key] = tally.timed[key] | timed
        tally.seconds[key] = float(timed["seconds"]["median"])
        held.append(key)
    return conclude(setting, workload, tally, held)


def _finalists(tally: Tally, first: Search) -> list[str]:
    """The winner so far, then those that no other beats and the fastest ones."""
    assert first.winner is not None
    fastest = sorted(tally.seconds, key=lambda key: (tally.seconds[key], key))
    frontier = [key for key in fastest if key in first.choice.best]
    return list(dict.fromkeys((first.winner.key, *frontier, *fastest)))[:FINALISTS]
