"""Calls a second of candidates with every core at work, where that is the objective."""

from collections.abc import Mapping
from typing import Any

from formwright.contract.problem import Workload
from formwright.flow.candidates import Candidate
from formwright.flow.jobs import Rate
from formwright.flow.setting import Setting


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
        Rate(
            {key: setting.below(c.library) for key, c in fresh.items()},
            setting.problem.contract,
            workload.extents,
            setting.seed + number,
        ),
    )
    return {k: {"rate": found[k]["calls_per_second"]} for k in fresh if "failure" not in found[k]}
