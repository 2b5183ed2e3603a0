"""Kernels of a study side by side: in turn in every round, on inputs that no search has seen."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from formwright.contract.contract import Contract
from formwright.flow.turns import turn
from formwright.measure.plan import Plan
from formwright.measure.programs import Native, Program
from formwright.measure.statistics import Distribution
from formwright.measure.timing import measure_interleaved
from formwright.qualify.timing import operator_workload


def side_by_side(
    libraries: Mapping[str, Path],
    contract: Contract,
    extents: Mapping[str, int],
    *,
    threads: int,
    seed: int,
    plan: Plan,
) -> dict[str, Any]:
    """Plain data for a journal, by name in ``libraries``.

    ``rounds``: seconds of a call by round, to be paired; ``seconds``: their median; ``failures``:
    why a kernel has neither. ``queue_share`` is the largest of all. Caches are as the contract
    says.
    """
    programs: dict[str, Program] = {
        name: Native(library, threads, contract.ahead) for name, library in libraries.items()
    }
    workload = operator_workload(contract, extents, seed)
    with turn(alone=True):
        results = measure_interleaved(
            programs, workload, seed=seed, plan=replace(plan, caches=contract.caches)
        )
    timed = {name: r for name, r in results.items() if isinstance(r, Distribution)}
    return {
        "rounds": {n: {str(s.round): s.seconds for s in r.samples} for n, r in timed.items()},
        "seconds": {n: r.median for n, r in timed.items()},
        "failures": {n: r.message for n, r in results.items() if not isinstance(r, Distribution)},
        "queue_share": max((r.queue_share for r in timed.values()), default=0.0),
    }
