"""Calls a second of candidates with every core at work, where that is the objective."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from formwright.contract.problem import Workload
from formwright.flow.candidates import Candidate
from formwright.flow.setting import Setting
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.throughput import Throughput, throughput
from formwright.qualify.timing import operator_workload

PLAN = Plan(rounds=5, batch_seconds=0.1)


def rates(
    setting: Setting, workload: Workload, number: int, fresh: Mapping[str, Candidate]
) -> dict[str, dict[str, Any]]:
    """``rate`` (calls a second, with its interval) by candidate; nothing for other objectives.

    A candidate that fails there has no rate, so that it cannot win; the journal says why.
    """
    if setting.problem.objective.goal != "throughput":
        return {}
    setting.listener.stage(f"{workload.name}: all cores at once")
    found = setting.timed(
        f"throughput/{workload.name}/{number}",
        tuple(fresh),
        partial(_measured, setting, workload, number, fresh),
    )
    return {k: {"rate": found[k]["calls_per_second"]} for k in fresh if "failure" not in found[k]}


def _measured(
    setting: Setting, workload: Workload, number: int, fresh: Mapping[str, Candidate]
) -> dict[str, Any]:
    seed = setting.seed + number
    inputs = operator_workload(setting.problem.contract, workload.extents, seed)
    cores = sorted(os.sched_getaffinity(0))
    shown: dict[str, Any] = {}
    for key, candidate in fresh.items():
        result = throughput(Native(candidate.library, 1), inputs, cores, seed=seed, plan=PLAN)
        match result:
            case Throughput():
                shown[key] = asdict(result)
            case _:
                shown[key] = {"failure": result.message}
    return shown
