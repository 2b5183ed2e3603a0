"""A built library against its contract, in the sandbox, on inputs that it has not seen."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from formwright.base.digest import digest_file
from formwright.contract.contract import Contract, outside
from formwright.measure.sandbox import Sandbox
from formwright.qualify.checks import Run, Validation, overall
from formwright.qualify.clauses import OPTIONAL, Fault, checks_of
from formwright.qualify.plan import Effort, Trial, plan, strides
from formwright.qualify.runner import Runner

Progress = Callable[[int, int], None]
"""Called with the trials done and the trials in all."""


def validate(
    library: Path,
    contract: Contract,
    workloads: Sequence[Mapping[str, int]],
    *,
    seed: int,
    threads: int = 1,
    effort: Effort = "full",
    boundaries: Mapping[str, Sequence[int]] | None = None,
    sandbox: Sandbox | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Run the plan of ``seed`` and judge every output; stops at the first trial that fails.

    ``workloads`` are extents M, N, K that the kernel is for; ragged, tiny and boundary
    shapes are added to them, as far as the contract's ranges have them. The library runs in a
    sandboxed child only.
    """
    start = time.perf_counter()
    whole = plan(workloads, seed, threads, effort, boundaries, bool(contract.ahead))
    trials = [t for t in whole if outside(contract, _extents(t)) is None]
    runner = Runner(library, contract, sandbox)
    done: list[Run] = []
    faults: list[tuple[Trial, Fault]] = []
    for number, trial in enumerate(trials):
        faults = [(trial, fault) for fault in runner.trial(trial)]
        done.append(_run(trial))
        if progress is not None:
            progress(number + 1, len(trials))
        if faults:
            break
    absent = () if outside(contract, {"M": 1, "N": 1, "K": 0}) is None else ("empty_sum",)
    checks = checks_of(faults, runner.tested, len(done) == len(trials), (*OPTIONAL, *absent))
    return Validation(
        overall(checks),
        checks,
        tuple(done),
        digest_file(library),
        runner.level,
        time.perf_counter() - start,
    )


def _extents(trial: Trial) -> dict[str, int]:
    return dict(zip(("M", "N", "K"), trial.extents, strict=True))


def _run(trial: Trial) -> Run:
    return Run(
        trial.extents, strides(trial), trial.placement, trial.threads, trial.kinds, trial.seed
    )
