"""Other builds of a winner and its qualification: the work of `OtherBuilds` and `Qualify`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from formwright.codegen import target_named
from formwright.flow.jobs import COUNTEREXAMPLES, OtherBuilds, Qualify
from formwright.flow.machines import Machine
from formwright.qualify.counterexamples import Store
from formwright.qualify.exact_builds import exact_build, exact_evidence
from formwright.qualify.other_builds import sanitizer_evidence
from formwright.qualify.qualification import qualify, secret_seed
from formwright.qualify.record import Candidate


def other_builds(job: OtherBuilds, bench: Machine) -> dict[str, Any]:
    """``entries`` of the record: one for each sanitizer, and the exact build."""
    command, ends, contract = tuple(job.command), job.boundaries, job.contract
    words = exact_build(job.template, job.assignment, target_named(bench.target), job.seed)
    # Nothing is timed meanwhile: the exact build runs beside those of the sanitizers.
    with ThreadPoolExecutor(1) as beside:
        exact = beside.submit(
            exact_evidence, words, command, contract, job.seed, ends, max(2, job.threads)
        )
        entries = sanitizer_evidence(
            {"kernel.c": job.source}, command, contract, secret_seed(), ends
        )
        return {"entries": [*entries, exact.result()]}


def qualified(job: Qualify, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Whether the library holds; then its artifact is in the job's folder."""
    done = qualify(
        Candidate(library=folder / job.library, **job.candidate),
        job.contract,
        job.workload,
        job.extents,
        folder / job.folder,
        chip=job.chip,
        threads=job.threads,
        timing=job.timing,
        store=Store(folder / COUNTEREXAMPLES),
        progress=lambda stage, at, of: say(f"{job.label}: {stage} {at} of {of}"),
    )
    return {
        "artifact": job.folder if done.held else None,
        "message": "; ".join(done.reasons),
        "checks": {c.name: c.verdict for c in done.validation.checks},
        "library": done.validation.library,
        "sandbox": done.validation.sandbox,
    }
