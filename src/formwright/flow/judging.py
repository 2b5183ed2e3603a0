"""``formwright qualify``: a kernel that somebody else wrote, judged by the rules of our own."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formwright.base.digest import digest_file
from formwright.contract.contract import Contract, contract_digest
from formwright.flow.stating import stated_contract
from formwright.measure.plan import Plan
from formwright.measure.programs import BaselineName
from formwright.qualify.counterexamples import Store
from formwright.qualify.foreign import build_kernel, find_kernel
from formwright.qualify.qualification import Progress, Qualification, qualify
from formwright.qualify.record import NO_TEMPLATE, Candidate


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of one kernel. ``results`` has a qualification for each shape that was asked."""

    name: str
    contract: Contract
    library: str
    results: Mapping[str, Qualification]

    @property
    def held(self) -> bool:
        """Every shape held: the kernel has a record."""
        return all(result.held for result in self.results.values())

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright qualify --json``."""
        return {
            "schema": 1,
            "name": self.name,
            "held": self.held,
            "operator": self.contract.operator,
            "contract": contract_digest(self.contract),
            "library": self.library,
            "template": NO_TEMPLATE,
            "evidence": "tested",
            "shapes": {name: _shown(result) for name, result in self.results.items()},
        }


def _shown(result: Qualification) -> dict[str, Any]:
    return {
        "held": result.held,
        "artifact": None if result.folder is None else str(result.folder),
        "reasons": list(result.reasons),
        "validation": result.validation.as_json(),
        "timing": result.timing,
    }


def judge_kernel(
    path: Path,
    contract: str,
    out: Path,
    *,
    shape: Mapping[str, int] | None = None,
    threads: int = 1,
    function: str | None = None,
    flags: Sequence[str] = (),
    baselines: Sequence[BaselineName] = ("numpy",),
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Judgement:
    """Build the kernel at ``path``, validate and time it, and write ``out/NAME`` if it holds.

    Nothing is proved of it: its record says ``none`` for the template and ``tested`` for the
    rest. Calls that refuse it are kept in ``out/counterexamples.jsonl`` and are the first that
    later kernels of the same contract meet. With several shapes the artifact's folder is
    ``out/NAME-SHAPE``; the first that is refused ends it. Raises ``InputError`` for a kernel
    that is not found or does not build, and for a contract that is none.
    """
    stated = stated_contract(contract, shape)
    kernel = find_kernel(path, function, flags)
    results: dict[str, Qualification] = {}
    with tempfile.TemporaryDirectory(prefix="formwright-") as place:
        built = build_kernel(kernel, stated.contract, Path(place))
        candidate = Candidate(
            library=built.library,
            source=built.source,
            template=None,
            template_name=NO_TEMPLATE,
            assignment={},
            command=built.command,
            proof={},
            adapter=built.adapter,
            generation={"inputs": {"file": kernel.path.name, "flags": list(kernel.flags)}},
        )
        for workload, extents in stated.workloads.items():
            single = len(stated.workloads) == 1
            results[workload] = qualify(
                candidate,
                stated.contract,
                workload,
                extents,
                out / (kernel.name if single else f"{kernel.name}-{workload}"),
                chip={},
                threads=threads,
                baselines=baselines,
                plan=plan,
                store=Store(out / "counterexamples.jsonl"),
                progress=progress,
            )
            if not results[workload].held:
                break
        return Judgement(kernel.name, stated.contract, digest_file(built.library), results)
