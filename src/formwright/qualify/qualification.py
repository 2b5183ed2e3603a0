"""A winner becomes an artifact: validated and timed afresh, with seeds it has not met."""

import json
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from formwright.contract.contract import Contract, contract_data, contract_digest
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.measure.sandbox import Sandbox
from formwright.measure.timing import Plan
from formwright.qualify.artifact import (
    ASSIGNMENT,
    CONTRACT,
    LIBRARY,
    SOURCE,
    TEMPLATE,
    write_artifact,
)
from formwright.qualify.checks import Validation
from formwright.qualify.counterexamples import Store
from formwright.qualify.facts import Facts, gather
from formwright.qualify.timing import time_programs
from formwright.qualify.validate import validate

OURS: Final = "kernel"
"""The candidate's name among the programs of a timing."""

Progress = Callable[[str, int, int], None]
"""Called with the stage (``validate``, ``measure``) and how much of it is done."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the search found. ``command`` built ``library`` from ``source`` (C text).

    ``template`` is the text of the ``.fw`` file; ``proof`` what ``Proof.as_json`` says of it.
    ``boundaries`` are sizes at which blocks end, by extent, for the shapes of the tests.
    """

    library: Path
    source: str
    template: str
    template_name: str
    assignment: Mapping[str, int]
    command: tuple[str, ...]
    proof: Mapping[str, Any]
    predicted_seconds: float | None = None
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    other_build: tuple[Mapping[str, Any], ...] = ()


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
            programs |= {n: Baseline(n, threads, contract.ahead) for n in baselines}
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
    record = _record(
        candidate, contract, workload, extents, chip, threads, validation, timed, facts
    )
    if not reasons:
        write_artifact(folder, _files(candidate, contract, data), record)
    kept = None if reasons else folder
    return Qualification(not reasons, kept, reasons, validation, timed, record)


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)


def _objections(candidate: Candidate, validation: Validation) -> tuple[str, ...]:
    reasons = [c.message for c in validation.checks if c.verdict == "refuted"]
    if not reasons and validation.verdict != "held":
        reasons = [f"{c.name}: {c.detail}" for c in validation.checks if c.verdict != "held"]
    verdict = candidate.proof.get("verdict", "unresolved")
    if verdict != "proved":
        reasons.append(f"template {candidate.template_name} is {verdict}, not proved")
    return tuple(reasons)


def _untimed(timing: Mapping[str, Any], library: str) -> tuple[str, ...]:
    """Why this timing is none of this library's."""
    if timing.get("library") != library:
        return ("timing: the library that was timed is not the one that would be kept",)
    failure = timing["programs"][OURS].get("failure")
    return () if failure is None else (f"timing: {failure}",)


def _files(candidate: Candidate, contract: Contract, library: bytes) -> dict[str, bytes]:
    return {
        LIBRARY: library,
        SOURCE: candidate.source.encode(),
        TEMPLATE: candidate.template.encode(),
        ASSIGNMENT: _text(dict(candidate.assignment)),
        CONTRACT: _text(contract_data(contract)),
    }


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def _record(
    candidate: Candidate,
    contract: Contract,
    workload: str,
    extents: Mapping[str, int],
    chip: Mapping[str, Any],
    threads: int,
    validation: Validation,
    timing: Mapping[str, Any],
    facts: Facts,
) -> dict[str, Any]:
    """``record.json`` without ``schema`` and ``files``; ``docs/record.md`` describes it."""
    return {
        "formwright": metadata.version("formwright"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "workload": {"name": workload, "extents": dict(extents)},
        "threads": threads,
        "template": {
            "name": candidate.template_name,
            "digest": candidate.proof.get("digest", ""),
            "sha256": sha256(candidate.template.encode()).hexdigest(),
        },
        "assignment": dict(candidate.assignment),
        "contract": {"digest": contract_digest(contract), "formula": list(contract.formula)},
        "domain": {
            "extents": {e.name: [e.low, e.high] for e in contract.extents},
            "dtypes": {o.name: o.dtype for o in contract.operands},
            "strides": asdict(contract.strides),
            "alignment": contract.alignment,
            "aliasing": contract.aliasing,
            "ahead": list(contract.ahead),
        },
        "build": {
            "command": [_name(part) for part in candidate.command],
            "compiler": facts.compiler,
        },
        "chip": dict(chip),
        "facts": facts.as_json(),
        "sandbox": validation.sandbox,
        "predicted_seconds": candidate.predicted_seconds,
        "evidence": {
            "template": _proved(candidate.proof),
            "binary": validation.as_json(),
            "other_build": [dict(other) for other in candidate.other_build],
            "trusted": _trusted(facts),
        },
        "boundaries": {n: list(v) for n, v in candidate.boundaries.items()},
        "timing": dict(timing),
    }


def _name(part: str) -> str:
    """Folders of this machine are no part of a record; names of files and flags are."""
    return re.sub(r"/\S*/", "", part)


def _proved(proof: Mapping[str, Any]) -> dict[str, Any]:
    """What was proved of the template: no word of it is about the binary."""
    return {
        "verdict": proof.get("verdict", "unresolved"),
        "semantics": "real arithmetic",
        "solver": proof.get("solver", ""),
        "digest": proof.get("digest", ""),
        "obligations": [
            {key: o[key] for key in ("name", "group", "condition", "verdict", "evidence")}
            for o in proof.get("obligations", [])
        ],
    }


def _trusted(facts: Facts) -> list[dict[str, str]]:
    """What the step from the proved template to this binary rests on, tested and not proved."""
    version = facts.tools["formwright"]
    return [
        {"name": "emitter", "what": f"formwright.codegen {version}: template to C"},
        {"name": "compiler", "what": facts.compiler},
        {"name": "runtime", "what": f"thread runtime of formwright.codegen {version}"},
        {"name": "reference", "what": f"NumPy {facts.tools['numpy']}, float64"},
    ]
