"""Kernel source that a proposer writes: built, validated, timed; never part of a claim.

Nothing is proved of it. It stands on the population's shelf with the evidence ``tested``, and its
time says what is possible outside the templates of the run.
"""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from formwright.agent.protocol import Proposal
from formwright.base.diagnostics import InputError
from formwright.base.files import write_text
from formwright.contract.problem import Workload
from formwright.flow.agent_judging import SCREENED
from formwright.flow.agent_room import Made, Room
from formwright.measure.programs import Native, Program
from formwright.measure.timing import Plan
from formwright.population import Origin
from formwright.population.retrieval import interface_of_contract
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.timing import time_programs
from formwright.qualify.validate import validate

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
    built: dict[str, Any] = setting.journal.step(
        f"source/{name}", partial(_built, room, proposal.text, name)
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
        interface=interface_of_contract(setting.problem.contract),
    )
    made.digest = entry.digest
    for workload in setting.problem.workloads:
        _timed(room, workload, called, setting.out / built["library"])


def _built(room: Room, text: str, name: str) -> dict[str, Any]:
    """``verdict``: ``tested``, ``build``, or what the validation says."""
    setting = room.setting
    contract = setting.problem.contract
    folder = setting.out / "kernels" / name
    found: dict[str, Any] = {"seconds": 0.0, "message": "", "library": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="formwright-") as place:
            path = Path(place) / "proposal.c"
            write_text(path, text)
            folder.mkdir(parents=True, exist_ok=True)
            library = build_kernel(find_kernel(path), contract, folder).library
    except InputError as error:
        return found | {"verdict": "build", "message": str(error)}
    validation = validate(
        library,
        contract,
        [w.extents for w in setting.problem.workloads],
        seed=setting.seed,
        threads=setting.threads,
        effort="quick",
        store=setting.counterexamples,
    )
    held = validation.verdict == "held"
    refuted = validation.refuted
    return found | {
        "verdict": "tested" if held else validation.verdict,
        "message": refuted[0].message if refuted else validation.verdict,
        "library": str(library.relative_to(setting.out)),
        "seconds": validation.seconds,
    }


def _timed(room: Room, workload: Workload, called: str, library: Path) -> None:
    """Beside the best design of the run, where there is one."""
    setting, tally = room.setting, room.tally(workload)
    contract = setting.problem.contract
    programs: dict[str, Program] = {called: Native(library, setting.threads, contract.ahead)}
    key = f"kernel/{workload.name}/{called}"
    chosen = setting.journal.step(f"beside/{key}", lambda: {"candidate": tally.best})["candidate"]
    if chosen is not None:
        best = tally.candidates[chosen].library
        programs[BEST] = Native(best, setting.threads, contract.ahead)
    timing = setting.timed(
        key,
        tuple(programs),
        partial(time_programs, programs, contract, workload.extents, seed=setting.seed, plan=PLAN),
    )
    timed = timing["programs"][called]
    if "failure" in timed:
        room.tell(f"{called} at {workload.name}: {timed['failure']}")
        return
    ratio = timing["ratios"].get(BEST)
    beside = "" if ratio is None else f", {1 / ratio['median']:.3g} times the best of the run"
    room.tell(f"{called} at {workload.name}: {timed['seconds']['median']:.4g} s{beside}; tested")
