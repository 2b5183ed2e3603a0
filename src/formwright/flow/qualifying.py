"""The winner of a search becomes an artifact; a journal step like the others."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from formwright import __version__
from formwright.base.digest import digest
from formwright.codegen import detect_target
from formwright.contract.problem import Workload
from formwright.flow.boundaries import boundaries
from formwright.flow.candidates import Candidate
from formwright.flow.setting import Setting
from formwright.qualify.exact_builds import exact_build, exact_evidence
from formwright.qualify.other_builds import sanitizer_evidence
from formwright.qualify.qualification import qualify, secret_seed
from formwright.qualify.record import Candidate as Finalist


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
    finalist = Finalist(
        library=winner.library,
        source=source,
        template=proved.source.text,
        template_name=proved.template.name,
        assignment=winner.assignment,
        command=tuple(built["command"]),
        proof=proved.proof["full"],
        predicted_seconds=winner.predicted,
        boundaries=ends,
        other_build=_other_builds(setting, winner, source, tuple(built["command"]), ends),
        generation=_generation(setting),
    )
    chip = {"name": setting.chip_name, **{n: str(v) for n, v in setting.chip.items()}}
    done = qualify(
        finalist,
        setting.problem.contract,
        workload.name,
        workload.extents,
        setting.out / "artifacts" / workload.name,
        chip=chip,
        threads=setting.threads,
        timing=timing,
        store=setting.counterexamples,
        progress=lambda stage, at, of: setting.listener.stage(
            f"{workload.name}: qualifying: {stage} {at} of {of}"
        ),
    )
    return {
        "artifact": str(Path("artifacts") / workload.name) if done.held else None,
        "message": "; ".join(done.reasons),
        "checks": {c.name: c.verdict for c in done.validation.checks},
        "library": done.validation.library,
        "sandbox": done.validation.sandbox,
    }


def _other_builds(
    setting: Setting,
    winner: Candidate,
    source: str,
    command: tuple[str, ...],
    ends: Mapping[str, Sequence[int]],
) -> tuple[Mapping[str, Any], ...]:
    """Made once for a design, whatever workloads it wins."""
    template = setting.templates[winner.template].template

    def made() -> dict[str, Any]:
        contract = setting.problem.contract
        seed = secret_seed()
        words = exact_build(template, winner.assignment, detect_target(), seed)
        # Nothing is timed meanwhile: the exact build runs beside those of the sanitizers.
        with ThreadPoolExecutor(1) as beside:
            exact = beside.submit(
                exact_evidence, words, command, contract, seed, ends, max(2, setting.threads)
            )
            entries = sanitizer_evidence(
                {"kernel.c": source}, command, contract, secret_seed(), ends
            )
            return {"entries": [*entries, exact.result()]}

    setting.listener.stage(f"{winner.template}: other builds of it")
    found = setting.journal.step(f"other/{winner.key}", made)
    return tuple(found["entries"])


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
