"""The winner of a search becomes an artifact; a journal step like the others."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from formwright import __version__
from formwright.base.digest import digest
from formwright.contract.problem import Workload
from formwright.flow.boundaries import boundaries
from formwright.flow.candidates import Candidate
from formwright.flow.jobs import OtherBuilds, Qualify
from formwright.flow.setting import Setting
from formwright.qualify.qualification import secret_seed


def qualify_winner(
    setting: Setting, workload: Workload, winner: Candidate, timing: Mapping[str, Any]
) -> dict[str, Any]:
    """Validate the very binary with secret seeds and write the artifact's folder.

    The folder is written before the journal's entry: a run killed between the two
    qualifies again and replaces it whole.
    """
    replayed = setting.device.replayed
    result: dict[str, Any] = setting.journal.step(
        f"qualify/{workload.name}",
        lambda: (
            {"candidate": winner.key}
            | (_unmeasured(replayed) if replayed else _qualify(setting, workload, winner, timing))
        ),
    )
    return result


def _unmeasured(replayed: str) -> dict[str, Any]:
    """Times of another run are no times of this kernel: no artifact says that they are."""
    told = f"the times are those of {replayed}: nothing was measured, so nothing is qualified"
    return {"artifact": None, "message": told, "checks": {}, "library": None, "sandbox": None}


def _qualify(
    setting: Setting, workload: Workload, winner: Candidate, timing: Mapping[str, Any]
) -> dict[str, Any]:
    setting.listener.stage(f"{workload.name}: qualifying")
    proved = setting.templates[winner.template]
    built = setting.journal.known(f"build/{winner.key}")
    assert built is not None
    source = (setting.out / built["source"]).read_text(encoding="utf-8")
    ends = boundaries(proved.template, winner.assignment)
    command = tuple(built["command"])
    candidate = {
        "source": source,
        "template": proved.source.text,
        "template_name": proved.template.name,
        "assignment": winner.assignment,
        "command": command,
        "proof": proved.proof["full"],
        "predicted_seconds": winner.predicted,
        "boundaries": ends,
        "other_build": _other_builds(setting, winner, source, command, ends),
        "generation": _generation(setting),
    }
    job = Qualify(
        library=built["library"],
        candidate=candidate,
        contract=setting.problem.contract,
        workload=workload.name,
        extents=workload.extents,
        folder=f"artifacts/{workload.name}",
        chip={"name": setting.chip_name, **{n: str(v) for n, v in setting.chip.items()}},
        threads=setting.threads,
        # A record tells its machine by what it is: no host is named to those who get a kernel.
        timing={name: told for name, told in timing.items() if name != "machine"},
        label=f"{workload.name}: qualifying",
    )
    return setting.steps.compute(f"qualify/{workload.name}", job)


def _other_builds(
    setting: Setting,
    winner: Candidate,
    source: str,
    command: tuple[str, ...],
    ends: Mapping[str, Sequence[int]],
) -> tuple[Mapping[str, Any], ...]:
    """Made once for a design, whatever workloads it wins."""
    setting.listener.stage(f"{winner.template}: other builds of it")
    job = OtherBuilds(
        setting.templates[winner.template].template,
        winner.assignment,
        source,
        command,
        setting.problem.contract,
        ends,
        setting.threads,
        secret_seed(),
    )
    return tuple(setting.steps.one(f"other/{winner.key}", job)["entries"])


def _generation(setting: Setting) -> dict[str, Any]:
    """What the search that found the winner was given: its inputs and its budget."""
    problem = setting.problem
    return {
        "by": f"formwright {__version__}",
        "inputs": {
            "problem": digest(problem),
            "templates": {n: p.proof["digest"] for n, p in setting.templates.items()},
            "chip": setting.chip_name,
            "seed": setting.seed,
        }
        | ({} if problem.agent is None else {"agent": problem.agent.proposer}),
        "budget": asdict(problem.budget),
    }
