"""``record.json``: all that is known of an artifact, each statement by its kind of evidence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from formwright.contract.contract import Contract, contract_digest
from formwright.qualify.checks import Validation
from formwright.qualify.facts import Facts

NO_TEMPLATE: Final = "none"
"""The name and verdict of a kernel's template where it has none: nothing is proved of it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the search found, or what somebody else wrote.

    ``command`` built ``library`` from ``source`` (C text; ``None`` for a library that came
    built) and ``adapter`` (ours, where the source has another call interface). ``template`` is
    the text of the ``.fw`` file and ``proof`` what ``Proof.as_json`` says of it; a kernel of
    another tool has neither. ``boundaries`` are sizes at which blocks end, by extent, for the
    shapes of the tests. ``generation`` says what the search was given: inputs and budget.
    """

    library: Path
    source: str | None
    template: str | None
    template_name: str
    assignment: Mapping[str, int]
    command: tuple[str, ...]
    proof: Mapping[str, Any]
    predicted_seconds: float | None = None
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    other_build: tuple[Mapping[str, Any], ...] = ()
    adapter: str | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)


def record_of(
    candidate: Candidate,
    contract: Contract,
    *,
    workload: str,
    extents: Mapping[str, int],
    chip: Mapping[str, Any],
    threads: int,
    validation: Validation,
    timing: Mapping[str, Any],
    facts: Facts,
) -> dict[str, Any]:
    """The record without ``schema`` and ``files``; ``docs/record.md`` describes it."""
    text = candidate.template
    return {
        "formwright": metadata.version("formwright"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "workload": {"name": workload, "extents": dict(extents)},
        "threads": threads,
        "template": {
            "name": NO_TEMPLATE if text is None else candidate.template_name,
            "digest": candidate.proof.get("digest", ""),
            "sha256": "" if text is None else sha256(text.encode()).hexdigest(),
        },
        "assignment": dict(candidate.assignment),
        "generation": _generation(candidate),
        "contract": {
            "digest": contract_digest(contract),
            "operator": contract.operator,
            "formula": list(contract.formula),
        },
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
            "target": [p for p in candidate.command if re.fullmatch(r"-m[a-z0-9.=-]+", p)],
            "runtime": facts.libc,
        },
        "chip": dict(chip),
        "facts": facts.as_json(),
        "sandbox": validation.sandbox,
        "predicted_seconds": candidate.predicted_seconds,
        "evidence": {
            "template": _proved(candidate),
            "binary": validation.as_json(),
            "other_build": [dict(other) for other in candidate.other_build],
            "trusted": _trusted(candidate, facts),
        },
        "boundaries": {n: list(v) for n, v in candidate.boundaries.items()},
        "timing": dict(timing),
    }


def _name(part: str) -> str:
    """Folders of this machine are no part of a record; names of files and flags are."""
    return re.sub(r"/\S*/", "", part)


def _generation(candidate: Candidate) -> dict[str, Any]:
    """What the search that made the kernel was given; unknown for a kernel of another tool."""
    known = dict(candidate.generation)
    return {
        "by": known.get("by", "another tool"),
        "inputs": known.get("inputs", {}),
        "budget": known.get("budget", {}),
    }


def _proved(candidate: Candidate) -> dict[str, Any]:
    """What was proved of the template: no word of it is about the binary."""
    proof = candidate.proof
    nothing = candidate.template is None
    return {
        "verdict": NO_TEMPLATE if nothing else proof.get("verdict", "unresolved"),
        "semantics": "none" if nothing else "real arithmetic",
        "solver": proof.get("solver", ""),
        "digest": proof.get("digest", ""),
        "obligations": [
            {key: o[key] for key in ("name", "group", "condition", "verdict", "evidence")}
            for o in proof.get("obligations", [])
        ],
    }


def _trusted(candidate: Candidate, facts: Facts) -> list[dict[str, str]]:
    """What the step from the proved template to this binary rests on, tested and not proved."""
    version = facts.tools["formwright"]
    reference = {"name": "reference", "what": f"NumPy {facts.tools['numpy']}, float64"}
    if candidate.template is None:
        author = "source and build of another tool" if candidate.source is None else "the source"
        return [
            {"name": "author", "what": f"{author}: nothing of it is proved"},
            {"name": "compiler", "what": facts.compiler},
            reference,
        ]
    return [
        {"name": "emitter", "what": f"formwright.codegen {version}: template to C"},
        {"name": "compiler", "what": facts.compiler},
        {"name": "runtime", "what": f"thread runtime of formwright.codegen {version}"},
        reference,
    ]
