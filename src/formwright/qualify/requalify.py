"""An artifact looked at again: what changed since, which evidence that voids, the checks rerun."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.contract.contract import contract_digest
from formwright.contract.stored import contract_from
from formwright.measure.sandbox import Sandbox
from formwright.qualify.artifact import (
    ADAPTER,
    ASSIGNMENT,
    CONTRACT,
    HEADER,
    LIBRARY,
    SOURCE,
    TEMPLATE,
    ArtifactError,
    listed,
    read_artifact,
    read_record,
)
from formwright.qualify.checks import Validation
from formwright.qualify.facts import gather
from formwright.qualify.qualification import secret_seed
from formwright.qualify.validate import Progress, validate


@dataclass(frozen=True, slots=True)
class Change:
    """One fact of the record that is another now. ``voids`` says what no longer applies.

    ``fatal``: the artifact is not the one that was qualified, and no check can mend that.
    """

    fact: str
    recorded: str
    now: str
    voids: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Requalification:
    """``held``: the files are the qualified ones and every check held again, here and now.

    ``renewed`` names the evidence that the record now holds anew; empty when nothing that it
    rested on has changed, or when it does not hold.
    """

    folder: Path
    held: bool
    changes: tuple[Change, ...]
    validation: Validation | None
    renewed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright requalify --json``."""
        return {
            "schema": 1,
            "folder": str(self.folder),
            "held": self.held,
            "changes": [
                {"fact": c.fact, "recorded": c.recorded, "now": c.now, "voids": c.voids}
                for c in self.changes
            ],
            "renewed": list(self.renewed),
            "validation": None if self.validation is None else self.validation.as_json(),
        }


def requalify(
    folder: str | Path, *, sandbox: Sandbox | None = None, progress: Progress | None = None
) -> Requalification:
    """Compare the folder and this machine with the record, then test the very binary again.

    The checks run with a new secret seed, at the record's workload and threads. Changed
    files are answered without running anything. Raises ``ArtifactError`` for a folder
    without a readable record.
    """
    place = Path(folder)
    record = read_record(place)
    lacking = [name for name in _NEEDED if name not in record]
    if lacking:
        raise ArtifactError(f"{place}: the record lacks {', '.join(lacking)}")
    changes = [*_files(place, record), *_contract(place, record), *_facts(record)]
    if any(c.fatal for c in changes):
        return Requalification(place, False, tuple(changes), None)
    artifact = read_artifact(place)
    validation = validate(
        place / LIBRARY,
        artifact.contract,
        [record["workload"]["extents"]],
        seed=secret_seed(),
        threads=int(record["threads"]),
        effort="full",
        boundaries=record.get("boundaries", {}),
        sandbox=sandbox,
        progress=progress,
    )
    if validation.library != sha256(artifact.library).hexdigest():
        raise ArtifactError(f"{place / LIBRARY} was changed while it was being checked")
    held = validation.verdict == "held"
    return Requalification(place, held, tuple(changes), validation)


_NEEDED = ("workload", "threads", "facts", "build")

_VOIDED_BY_FILE: Mapping[str, str] = {
    LIBRARY: "every test and timing of this binary: it is another binary",
    SOURCE: "the statement that the library was built from this source",
    TEMPLATE: "what was proved of the template: it is another template",
    ADAPTER: "the statement that the library was built from this adapter",
    ASSIGNMENT: "the statement that this design was qualified",
    HEADER: "what the header tells C callers of the domain",
    CONTRACT: "every test against the contract: it is another contract",
}


def _files(folder: Path, record: Mapping[str, Any]) -> list[Change]:
    changes = []
    for name in listed(record, folder):
        recorded = str(record["files"].get(name, "none"))
        try:
            now = sha256((folder / name).read_bytes()).hexdigest()
        except OSError:
            now = "missing"
        if now != recorded:
            changes.append(Change(name, recorded, now, _VOIDED_BY_FILE[name], fatal=True))
    return changes


def _contract(folder: Path, record: Mapping[str, Any]) -> list[Change]:
    """A contract that this version states otherwise: its clauses are not those that were tested."""
    recorded = str(record["contract"]["digest"])
    try:
        data = json.loads((folder / CONTRACT).read_bytes())
        now = contract_digest(contract_from(data))
    except (OSError, ValueError):
        return []  # its hash says so already
    except InputError as error:
        now = error.diagnostics[0].message
    voids = "every test: this version has another contract for the operator; qualify it again"
    return [] if now == recorded else [Change("contract", recorded, now, voids, fatal=True)]


def _facts(record: Mapping[str, Any]) -> list[Change]:
    """Facts of machine and tools: they void evidence, and the tests that follow are new."""
    was = record["facts"]
    command = record["build"]["command"]
    now = gather(command[0] if command else "").as_json()
    changes = [
        Change(fact, str(was.get(fact)), str(now[fact]), voids)
        for fact, voids in _VOIDED_BY_FACT.items()
        if was.get(fact) != now[fact]
    ]
    tools: dict[str, str] = was.get("tools", {})
    for name, version in now["tools"].items():
        if tools.get(name) != version:
            voids = _VOIDED_BY_TOOL[name]
            changes.append(Change(name, str(tools.get(name)), version, voids))
    return changes


_VOIDED_BY_FACT: Mapping[str, str] = {
    "cpu": "the timings: they were measured on another CPU",
    "isa": "the timings, and the tests of the old CPU's instructions (run again here)",
    "microcode": "the timings, and the tests under the old microcode (run again here)",
    "libc": "the tests and timings with the old C library's functions (tests run again here)",
    "cores": "the timings: another number of cores is usable",
    "system": "the tests under the other system (run again here)",
    "compiler": "nothing of this binary: a rebuild would be another artifact",
}

_VOIDED_BY_TOOL: Mapping[str, str] = {
    "formwright": "the proof, if the meaning of templates changed: prove the template again",
    "numpy": "the comparison with the old reference (run again here), and baseline timings",
    "ml_dtypes": "the rounding of bf16 references by the old version (run again here)",
    "z3-solver": "nothing proved before; a new proof would come from another solver",
    "highspy": "nothing: the recorded design is kept as it is",
}
