"""Libraries and their validation: the work of `Build`, `Compile`, `BuildSource`, `Validate`."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.files import write_text
from formwright.codegen import Emitted, build, emit_c, target_named
from formwright.contract.contract import Contract
from formwright.flow.jobs import COUNTEREXAMPLES, Build, BuildSource, Compile, Validate
from formwright.flow.machines import Machine
from formwright.qualify.counterexamples import Store
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.validate import validate


def built(job: Build, folder: Path, bench: Machine) -> dict[str, Any]:
    """Raises ``InputError`` where the emitter or the compiler refuses the design."""
    emitted = emit_c(job.template, job.assignment, target_named(bench.target))
    return _library(emitted, job.folder, folder)


def compiled(job: Compile, folder: Path) -> dict[str, Any]:
    """``error`` where the compiler refuses the text; ``seconds`` are those of the whole job."""
    start = perf_counter()
    try:
        found = _library(job.emitted, job.folder, folder)
    except InputError as error:
        return {"error": str(error), "seconds": perf_counter() - start}
    return {
        "library": found["library"],
        "template": job.emitted.template,
        "assignment": dict(job.emitted.assignment),
        "compiler": found["compiler"],
        "seconds": perf_counter() - start,
    }


def _library(emitted: Emitted, name: str, folder: Path) -> dict[str, Any]:
    made = build(emitted, folder / name)
    return {
        "library": str(made.library.relative_to(folder)),
        "source": str(made.source.relative_to(folder)),
        "command": list(made.command),
        "compiler": made.compiler,
        "seconds": made.seconds,
    }


def built_source(job: BuildSource, folder: Path) -> dict[str, Any]:
    """``verdict``: ``tested``, ``build`` where it does not, or what the validation says."""
    found: dict[str, Any] = {"seconds": 0.0, "message": "", "library": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="formwright-") as place:
            path = Path(place) / "proposal.c"
            write_text(path, job.text)
            (folder / job.folder).mkdir(parents=True, exist_ok=True)
            library = build_kernel(find_kernel(path), job.contract, folder / job.folder).library
    except InputError as error:
        return found | {"verdict": "build", "message": str(error)}
    name = str(library.relative_to(folder))
    told = _judged(name, job.contract, job.workloads, job.seed, job.threads, folder, True)
    held = told["verdict"] == "held"
    return found | {
        "verdict": "tested" if held else told["verdict"],
        "message": told["message"] or told["verdict"],
        "library": name,
        "seconds": told["seconds"],
    }


def validated(job: Validate, folder: Path) -> dict[str, Any]:
    """The verdict on a library, with the first thing that stands against it."""
    return _judged(
        job.library,
        job.contract,
        job.workloads,
        job.seed,
        job.threads,
        folder,
        job.remembering,
    )


def _judged(
    library: str,
    contract: Contract,
    workloads: Sequence[Mapping[str, int]],
    seed: int,
    threads: int,
    folder: Path,
    remembering: bool,
) -> dict[str, Any]:
    validation = validate(
        folder / library,
        contract,
        workloads,
        seed=seed,
        threads=threads,
        effort="quick",
        store=Store(folder / COUNTEREXAMPLES) if remembering else None,
    )
    refuted = validation.refuted
    return {
        "verdict": validation.verdict,
        "message": refuted[0].message if refuted else "",
        "seconds": validation.seconds,
        "runs": len(validation.runs),
    }
