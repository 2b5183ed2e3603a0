"""A built library against its contract, in the sandbox, on inputs that it has not seen."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from formwright.base.diagnostics import fail
from formwright.base.digest import digest_file
from formwright.contract.contract import Contract, outside
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.numbers import format_of
from formwright.measure.sandbox import Sandbox
from formwright.qualify.checks import Run, Validation, overall
from formwright.qualify.clauses import Fault, checks_of
from formwright.qualify.counterexamples import Store, shrunk
from formwright.qualify.plan import DENSE, Trial, plan, strides
from formwright.qualify.runner import Runner
from formwright.qualify.shapes import Effort, first, is_empty
from formwright.qualify.symbols import objection

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
    store: Store | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Run the plan of ``seed`` and judge every output; stops at the first trial that fails.

    ``workloads`` are extents that the kernel is for; ragged, tiny and boundary shapes are
    added to them, as far as the contract's ranges have them. Raises ``InputError`` for a
    relation so wide that it asks nothing. With a ``store`` the calls that
    refused earlier candidates come first, and the call that refuses this one is made small
    and kept there. A library whose symbols say that it uses environment variables or patches
    the clock is refused unrun; the others run in a sandboxed child only.
    """
    start = time.perf_counter()
    _must_ask(contract)
    whole = plan(contract, workloads, seed, threads, effort, boundaries)
    known = () if store is None else store.trials(contract)
    trials = [t for t in known if t.threads <= threads]
    trials += [t for t in whole if outside(contract, t.extents) is None]
    runner = Runner(library, contract, sandbox)
    done: list[Run] = []
    faults: list[tuple[Trial, Fault]] = []
    said = objection(library.read_bytes())
    if said is not None:
        faults, trials = [(trials[0], Fault("sandbox", said, None))], []
    for number, trial in enumerate(trials):
        faults = [(trial, fault) for fault in runner.trial(trial)]
        done.append(_run(contract, trial))
        if progress is not None:
            progress(number + 1, len(trials))
        if faults:
            break
    checks = checks_of(contract, faults, runner.tested, len(done) == len(trials) and not faults)
    if store is not None and faults and done:
        _remember(store, library, contract, sandbox, *faults[0])
    return Validation(
        overall(checks),
        checks,
        tuple(done),
        digest_file(library),
        runner.level,
        time.perf_counter() - start,
    )


def _must_ask(contract: Contract) -> None:
    """Raise ``InputError`` for a relation that an output of zeros keeps: it asks nothing."""
    shape = first(contract)
    if shape is None or is_empty(contract, shape):
        return
    arrays = inputs(contract, DENSE, shape, 0)
    dtype = format_of(contract.output.dtype).numpy
    nothing = np.zeros(contract.shape(contract.output, shape), dtype)
    if nothing.size and judge(contract, DENSE, arrays, nothing) is None:
        raise fail(
            f"the relation of the contract is so wide that zeros are right for {contract.operator}",
            hint="no test of it would say anything: choose smaller allowances",
        )


def _remember(
    store: Store,
    library: Path,
    contract: Contract,
    sandbox: Sandbox | None,
    trial: Trial,
    fault: Fault,
) -> None:
    """Keep the call that failed, as small as a few more calls make it."""
    asked = trial if fault.kind is None else _until(trial, fault.kind)
    # A call that does not end costs its whole deadline: it is kept as it is.
    if fault.clause not in ("starts", "returns"):
        runner = Runner(library, contract, sandbox)

        def fails(smaller: Trial) -> str | None:
            found = runner.trial(smaller)
            return found[0].clause if found else None

        asked = shrunk(contract, asked, fault.clause, fails)
    store.keep(contract, fault.clause, asked)


def _until(trial: Trial, kind: str) -> Trial:
    """The kinds up to the one that failed: a kernel that keeps state needs those before."""
    return replace(trial, kinds=trial.kinds[: trial.kinds.index(kind) + 1])


def _run(contract: Contract, trial: Trial) -> Run:
    return Run(
        dict(trial.extents),
        strides(contract, trial),
        trial.placement,
        trial.threads,
        trial.kinds,
        trial.seed,
    )
