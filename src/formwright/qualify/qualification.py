"""A winner becomes an artifact: validated and timed afresh, with seeds it has not met."""

import json
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from formwright.contract.contract import Contract, contract_data
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.sandbox import Sandbox
from formwright.measure.timing import Plan
from formwright.qualify.artifact import (
    ADAPTER,
    ASSIGNMENT,
    CONTRACT,
    HEADER,
    LIBRARY,
    SOURCE,
    TEMPLATE,
    write_artifact,
)
from formwright.qualify.checks import Validation
from formwright.qualify.counterexamples import Store
from formwright.qualify.facts import gather
from formwright.qualify.header import header_text
from formwright.qualify.other_builds import objections
from formwright.qualify.record import Candidate, record_of
from formwright.qualify.timing import time_programs
from formwright.qualify.validate import validate

OURS: Final = "kernel"
"""The candidate's name among the programs of a timing."""

Progress = Callable[[str, int, int], None]
"""Called with the stage (``validate``, ``measure``) and how much of it is done."""


@dataclass(frozen=True, slots=True)
class Qualification:
    """``held`` only with an artifact; otherwise ``reasons`` says what stood against it."""

    held: bool
    folder: Path | None
    reasons: tuple[str, ...]
    validation: Validation
    timing: dict[str, Any]
    record: dict[str, Any]


def secret_seed() -> int:
    """A seed that no search has used: drawn when it is needed, and recorded."""
    return secrets.randbits(53)


def qualify(
    candidate: Candidate,
    contract: Contract,
    workload: str,
    extents: Mapping[str, int],
    folder: Path,
    *,
    chip: Mapping[str, Any],
    threads: int,
    baselines: Sequence[BaselineName] = ("numpy",),
    plan: Plan | None = None,
    sandbox: Sandbox | None = None,
    timing: Mapping[str, Any] | None = None,
    store: Store | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Qualification:
    """Validate and time the very bytes of ``candidate.library``, and write them to ``folder``.

    ``chip`` is the chip file as plain data. ``timing`` is what :func:`time_programs` said of
    this library in a confirmation just done; without it the library is timed here. Nothing
    is written when the template is not proved, a check does not hold, the timing failed or
    was another library's. Calls of ``store`` refused other candidates; they come first and are
    no secret. ``seed`` is for tests.
    """
    seed = secret_seed() if seed is None else seed
    plan = plan or Plan(sandbox=sandbox or Sandbox())
    data = candidate.library.read_bytes()
    with tempfile.TemporaryDirectory(prefix="formwright-") as place:
        # What is checked, timed and kept is this copy: nothing can be put in its place.
        library = Path(place) / LIBRARY
        library.write_bytes(data)
        validation = validate(
            library,
            contract,
            [extents],
            seed=seed,
            threads=threads,
            effort="full",
            boundaries=candidate.boundaries,
            sandbox=sandbox,
            store=store,
            progress=_stage(progress, "validate"),
        )
        reasons = _objections(candidate, validation)
        timed = dict(timing or {})
        if not reasons and not timed:
            programs: dict[str, Program] = {OURS: Native(library, threads, contract.ahead)}
            programs |= {
                n: Baseline(n, threads, contract.ahead, contract.operator) for n in baselines
            }
            timed = time_programs(
                programs,
                contract,
                extents,
                seed=secret_seed(),
                plan=plan,
                progress=_stage(progress, "measure"),
            )
        reasons = reasons or _untimed(timed, sha256(data).hexdigest())
    facts = gather(candidate.command[0] if candidate.command else "")
    record = record_of(
        candidate,
        contract,
        workload=workload,
        extents=extents,
        chip=chip,
        threads=threads,
        validation=validation,
        timing=timed,
        facts=facts,
    )
    if not reasons:
        write_artifact(folder, _files(candidate, contract, data, folder.name, threads), record)
    kept = None if reasons else folder
    return Qualification(not reasons, kept, reasons, validation, timed, record)


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)


def _objections(candidate: Candidate, validation: Validation) -> tuple[str, ...]:
    reasons = [c.message for c in validation.checks if c.verdict == "refuted"]
    if not reasons and validation.verdict != "held":
        reasons = [f"{c.name}: {c.detail}" for c in validation.checks if c.verdict != "held"]
    if candidate.template is not None:
        verdict = candidate.proof.get("verdict", "unresolved")
        if verdict != "proved":
            reasons.append(f"template {candidate.template_name} is {verdict}, not proved")
    # A fault of the source that another build shows is a fault of this one's source too.
    return (*reasons, *objections(candidate.other_build))


def _untimed(timing: Mapping[str, Any], library: str) -> tuple[str, ...]:
    """Why this timing is none of this library's."""
    if timing.get("library") != library:
        return ("timing: the library that was timed is not the one that would be kept",)
    failure = timing["programs"][OURS].get("failure")
    return () if failure is None else (f"timing: {failure}",)


def _files(
    candidate: Candidate, contract: Contract, library: bytes, name: str, threads: int
) -> dict[str, bytes]:
    texts = {
        SOURCE: candidate.source,
        ADAPTER: candidate.adapter,
        TEMPLATE: candidate.template,
        HEADER: header_text(contract, name, threads),
    }
    return {
        LIBRARY: library,
        ASSIGNMENT: _text(dict(candidate.assignment)),
        CONTRACT: _text(contract_data(contract)),
        **{name: text.encode() for name, text in texts.items() if text is not None},
    }


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()
