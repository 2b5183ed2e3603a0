"""A job done where this process runs: plain data, and the files that it leaves in a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_never

from formwright.flow.job_building import built, built_source, compiled, validated
from formwright.flow.job_proving import detected, proved
from formwright.flow.job_qualifying import other_builds, qualified
from formwright.flow.job_solving import solved
from formwright.flow.job_studying import ranked, searched
from formwright.flow.job_timing import rated, timed
from formwright.flow.jobs import (
    Build,
    BuildSource,
    Compile,
    Detect,
    Job,
    OtherBuilds,
    Prove,
    Qualify,
    Rank,
    Rate,
    Search,
    Solve,
    Time,
    Validate,
)
from formwright.flow.machines import Machine


def perform(job: Job, folder: Path, bench: Machine, say: Callable[[str], None]) -> dict[str, Any]:
    """Do ``job`` below ``folder``; libraries are built for ``bench``.

    Raises:
        InputError: what the job is about was refused: a text, a design, a file.
    """
    match job:
        case Detect(name=name):
            return detected(name)
        case Prove():
            return proved(job)
        case Solve():
            return solved(job)
        case Build():
            return built(job, folder, bench)
        case Compile():
            return compiled(job, folder)
        case BuildSource():
            return built_source(job, folder)
        case Validate():
            return validated(job, folder)
        case Time():
            return timed(job, folder)
        case Rate():
            return rated(job, folder)
        case OtherBuilds():
            return other_builds(job, bench)
        case Qualify():
            return qualified(job, folder, say)
        case Search():
            return searched(job)
        case Rank():
            return ranked(job)
        case _:
            assert_never(job)
