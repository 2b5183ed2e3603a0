"""Times and rates on the machine that measures: the work of `Time` and `Rate`."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from formwright.codegen.size import code_bytes
from formwright.flow.jobs import Rate, Time, placed
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.throughput import Throughput, throughput
from formwright.qualify.timing import operator_workload, time_programs

RATES: Final = Plan(rounds=5, batch_seconds=0.1)


def timed(job: Time, folder: Path) -> dict[str, Any]:
    """As :func:`time_programs`; with ``code_bytes`` of each library where sizes are asked for."""
    programs = placed(job.programs, folder)
    found = time_programs(programs, job.contract, job.extents, seed=job.seed, plan=job.plan)
    for name, program in programs.items():
        if job.sizes and isinstance(program, Native):
            found["programs"][name]["code_bytes"] = code_bytes(program.library)
    return found


def rated(job: Rate, folder: Path) -> dict[str, Any]:
    """Calls a second by library, or its ``failure``."""
    inputs = operator_workload(job.contract, job.extents, job.seed)
    cores = sorted(os.sched_getaffinity(0))
    shown: dict[str, Any] = {}
    for key, library in job.libraries.items():
        program = Native(folder / library, 1)
        result = throughput(program, inputs, cores, seed=job.seed, plan=RATES)
        match result:
            case Throughput():
                shown[key] = asdict(result)
            case _:
                shown[key] = {"failure": result.message}
    return shown
