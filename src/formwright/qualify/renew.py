"""A record that holds again is written anew: fresh evidence for what changed facts have voided.

The files stay, byte by byte; ``record.json`` says what was renewed, when and why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, cast, get_args

from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, BaselineName, Native, Program
from formwright.qualify.artifact import LIBRARY, listed, read_artifact, write_artifact
from formwright.qualify.facts import gather
from formwright.qualify.qualification import OURS, secret_seed
from formwright.qualify.requalify import Change, Requalification
from formwright.qualify.timing import time_programs

RETIMED: Final = ("cpu", "isa", "microcode", "cores", "libc", "numpy")
"""Facts that void timings: of the kernel, or of the library that it is compared with."""


def renew(
    result: Requalification,
    *,
    proof: Mapping[str, Any] | None = None,
    plan: Plan | None = None,
) -> Requalification:
    """Write the record of a requalification that held and found changes; say what is new in it.

    Tests are those just run; the kernel is timed again where a change voids its times.
    ``proof`` is a new one of the template, where its meaning may have changed; without it the
    old one stays as it is. What does not hold, or has not changed, is left alone.
    """
    if not result.held or not result.changes or result.validation is None:
        return result
    artifact = read_artifact(result.folder)
    record = dict(artifact.record)
    changed = [c.fact for c in result.changes]
    renewed = ["facts", "tests"]
    command = record["build"]["command"]
    facts = gather(command[0] if command else "")
    evidence = dict(record["evidence"]) | {"binary": result.validation.as_json()}
    if proof is not None:
        evidence["template"] = evidence["template"] | _proved(proof)
        renewed.append("proof")
    if any(fact in RETIMED for fact in changed):
        timing = _timed(result, artifact.contract, record, plan or Plan())
        failure = timing["programs"][OURS].get("failure")
        if failure is not None:
            lost = Change("timings", "held", failure, "every time of this kernel", fatal=True)
            return replace(result, held=False, changes=(*result.changes, lost))
        record["timing"] = timing
        renewed.append("timings")
    record |= {
        "facts": facts.as_json(),
        "sandbox": result.validation.sandbox,
        "evidence": evidence,
        "renewed": [*record.get("renewed", ()), _entry(changed, renewed)],
    }
    files = {name: (result.folder / name).read_bytes() for name in listed(record, result.folder)}
    write_artifact(result.folder, files, record)
    return replace(result, renewed=tuple(renewed))


def _entry(changed: Sequence[str], renewed: Sequence[str]) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"at": now, "changed": list(changed), "renewed": list(renewed)}


def _proved(proof: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("name", "group", "condition", "verdict", "evidence")
    return {
        "verdict": proof["verdict"],
        "solver": proof.get("solver", ""),
        "digest": proof.get("digest", ""),
        "obligations": [{key: o[key] for key in keys} for o in proof.get("obligations", [])],
    }


def _timed(
    result: Requalification, contract: Any, record: Mapping[str, Any], plan: Plan
) -> dict[str, Any]:
    threads = int(record["threads"])
    programs: dict[str, Program] = {OURS: Native(result.folder / LIBRARY, threads, contract.ahead)}
    for name in record["timing"].get("programs", {}):
        if name in get_args(BaselineName):
            peer = cast(BaselineName, name)
            programs[name] = Baseline(peer, threads, contract.ahead, contract.operator)
    return time_programs(
        programs, contract, record["workload"]["extents"], seed=secret_seed(), plan=plan
    )
