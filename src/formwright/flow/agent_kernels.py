"""Kernel source that a proposer writes: built, validated, timed; never part of a claim.

Nothing is proved of it. It stands on the population's shelf with the evidence ``tested``, and its
time says what is possible outside the templates of the run.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from formwright.agent.protocol import Proposal
from formwright.contract.problem import Workload
from formwright.flow.agent_judging import SCREENED
from formwright.flow.agent_room import Made, Room
from formwright.flow.jobs import BuildSource, Time
from formwright.flow.loop import native
from formwright.measure.programs import Program
from formwright.measure.timing import Plan
from formwright.population import Origin
from formwright.population.retrieval import interface_of_contract

BEST: Final = "best"
"""What a timing of kernel source calls the best design of the run."""
PLAN: Final = Plan(rounds=5, least_rounds=3, seconds=10.0)


def try_kernels(room: Room, generation: int, proposals: Sequence[Proposal], asked: int) -> None:
    """Those of ``proposals`` (the answer to request ``asked``) that are C and passed the screen."""
    for number, proposal in enumerate(proposals[: room.agent.proposals]):
        made = next((m for m in room.made if m.step == f"judge/{asked}/{number}"), None)
        if proposal.language == "c" and made is not None and made.verdict == SCREENED:
            _try(room, proposal, made, f"{asked}-{number}")


def _try(room: Room, proposal: Proposal, made: Made, name: str) -> None:
    setting = room.setting
    contract, workloads = setting.problem.contract, setting.problem.workloads
    built = setting.steps.one(
        f"source/{name}",
        BuildSource(
            proposal.text,
            f"kernels/{name}",
            contract,
            [w.extents for w in workloads],
            setting.seed,
            setting.threads,
        ),
    )
    setting.charge(f"source/{name}", building=float(built["seconds"]))
    made.verdict = built["verdict"]
    if made.verdict != "tested":
        room.tell(f"kernel {name}: {made.verdict}: {built['message'].splitlines()[0][:200]}")
        return
    called = f"kernel_{name.replace('-', '_')}"
    entry = room.population.add_template(
        proposal.text,
        language="c",
        name=called,
        origin=Origin(made.proposer, made.rule, made.parents, made.why[:1000], room.run),
        reason="kernel source: it is tested, and nothing of it is proved",
        verdict="tested",
        interface=interface_of_contract(contract),
    )
    made.digest = entry.digest
    for workload in workloads:
        _timed(room, workload, called, setting.out / built["library"])


def _timed(room: Room, workload: Workload, called: str, library: Path) -> None:
    """Beside the best design of the run, where there is one."""
    setting, tally = room.setting, room.tally(workload)
    contract = setting.problem.contract
    programs: dict[str, Program] = {called: native(setting, library)}
    key = f"kernel/{workload.name}/{called}"
    chosen = setting.journal.step(f"beside/{key}", lambda: {"candidate": tally.best})["candidate"]
    if chosen is not None:
        programs[BEST] = native(setting, tally.candidates[chosen].library)
    timing = setting.timed(
        key,
        tuple(programs),
        Time(programs, contract, workload.extents, seed=setting.seed, plan=PLAN),
    )
    timed = timing["programs"][called]
    if "failure" in timed:
        room.tell(f"{called} at {workload.name}: {timed['failure']}")
        return
    ratio = timing["ratios"].get(BEST)
    beside = "" if ratio is None else f", {1 / ratio['median']:.3g} times the best of the run"
    room.tell(f"{called} at {workload.name}: {timed['seconds']['median']:.4g} s{beside}; tested")
