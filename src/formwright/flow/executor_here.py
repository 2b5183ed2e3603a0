"""Jobs done by this process: one after another, compilers beside each other."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from formwright.base.diagnostics import fail
from formwright.flow.executor import Done, Hearer, Outcome
from formwright.flow.jobs import Build, Compile, Job, place_of
from formwright.flow.machines import Machine, this_machine
from formwright.flow.performing import perform
from formwright.flow.turns import turn


@dataclass(frozen=True, slots=True)
class HereExecutor:
    """The default. Nothing is tried again: a fault of a job is its outcome."""

    @property
    def spread(self) -> bool:
        return False

    def bench(self, like: Machine | None) -> Machine:
        here = this_machine()
        if like is not None and not here.like(like):
            raise unlike(like, [here])
        return here

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        compilers = [j for j in jobs.values() if isinstance(j, Build | Compile)]
        if len(compilers) == len(jobs) > 1:
            yield from _beside(jobs, folder, bench, hearer)
            return
        for key, job in jobs.items():
            yield key, _outcome(job, folder, bench, hearer)


def unlike(wanted: Machine, found: list[Machine]) -> Exception:
    """Times of unlike machines do not go into one run."""
    there = ", ".join(f"{m.name} ({m.cpu}, {m.cores} cores)" for m in found) or "none"
    return fail(
        f"this run is measured on {wanted.name} ({wanted.cpu}, {wanted.cores} cores);"
        f" the machine here is another: {there}",
        hint="go on there, or give this machine a run of its own with --out",
    )


def _beside(
    jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
) -> Iterator[tuple[str, Outcome]]:
    """On as many threads as there are cores; on an interrupt none is begun any more."""
    pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    try:
        keys: dict[Future[Outcome], str] = {
            pool.submit(_outcome, job, folder, bench, hearer): key for key, job in jobs.items()
        }
        left = set(keys)
        while left:
            ended, left = wait(left, return_when=FIRST_COMPLETED)
            for one in sorted(ended, key=lambda f: list(keys).index(f)):
                yield keys[one], one.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _outcome(job: Job, folder: Path, bench: Machine, hearer: Hearer) -> Outcome:
    with turn(alone=place_of(job) == "alone", say=hearer.say):
        start = monotonic()
        try:
            data = perform(job, folder, bench, hearer.say)
        except Exception as error:
            return error
        return Done(data, this_machine(), start, monotonic() - start)
