"""Steps of a journal that an executor performs: each once, with the machine that it was done on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from formwright.flow.executor import Done, Executor, Outcome
from formwright.flow.jobs import Job, place_of
from formwright.flow.journal import Journal
from formwright.flow.listener import Listener
from formwright.flow.machines import Machine, machine_of, this_machine

Result = dict[str, Any]
Refused = Callable[[Exception], Result | None]
"""The result of a step whose job raised this; ``None`` where the fault is to be raised."""


@dataclass(frozen=True, slots=True)
class Steps:
    """``out`` is the folder of the run, which its jobs read and write."""

    journal: Journal
    out: Path
    executor: Executor
    listener: Listener

    def one(self, key: str, job: Job) -> Result:
        """The step ``key``: what ``job`` came to the first time."""
        return self.all({key: job})[key]

    def all(self, jobs: Mapping[str, Job], refused: Refused | None = None) -> dict[str, Result]:
        """Steps that do not need each other; each is written as soon as its job is done.

        A fault that is no result is raised when all have ended.
        """
        missing = {k: job for k, job in jobs.items() if self.journal.known(k) is None}
        faults: list[Exception] = []
        for key, outcome in self._performed(missing):
            try:
                found = told(outcome)
            except Exception as error:
                given = None if refused is None else refused(error)
                if given is None:
                    faults.append(error)
                    continue
                found = given
            self.journal.step(key, lambda found=found: found)  # type: ignore[misc]
        if faults:
            raise faults[0]
        return {key: self.journal.known(key) for key in jobs}  # type: ignore[misc]

    def outcomes(self, jobs: Mapping[str, Job]) -> dict[str, Outcome]:
        """What jobs come to that are parts of one step, in their own order.

        A key is that of the step and the part; ``self.journal`` has nothing of them.
        """
        found = dict(self._performed(jobs))
        return {key: found[key] for key in jobs}

    def compute(self, key: str, job: Job) -> Result:
        """What a job comes to that is a step of somebody else's keeping. Raises its fault."""
        return told(self.outcomes({key: job})[key])

    def bench(self) -> Machine:
        """The machine that measures in this run, as the journal has it; chosen when first asked
        for."""
        kept = self.journal.known("bench")
        if kept is not None:
            return machine_of(kept)
        unnamed = any(_unnamed(e) for e in self.journal.entries)
        found = machine_of(self.journal.step("bench", self.executor.bench(None).as_json))
        if unnamed:
            told = "an earlier version began this journal, and it does not say on which machine"
            self.listener.done(f"{told}: what is measured from here on is of {found.name}")
        return found

    def lost(self, key: str, where: str, why: str, *, again: bool) -> None:
        """Said in the journal: an attempt that came to nothing is no step, and counts as none."""
        number = 0
        while self.journal.known(f"lost/{key}/{number}") is not None:
            number += 1
        self.journal.step(f"lost/{key}/{number}", lambda: {"machine": where, "why": why})
        then = "made again" if again else "given up"
        self.listener.done(f"{key}: lost on {where or 'an unknown machine'} ({why}); {then}")

    def say(self, text: str) -> None:
        self.listener.stage(text)

    def _performed(self, jobs: Mapping[str, Job]) -> Iterator[tuple[str, Outcome]]:
        if not jobs:
            return
        bench = self._held(jobs)
        for key, outcome in self.executor.perform(jobs, self.out, bench, self):
            if isinstance(outcome, Done):
                self._name(outcome.machine)
                about: Result = {"machine": outcome.machine.name}
                if place_of(jobs[key]) == "alone":
                    about["wall_seconds"] = outcome.seconds
                outcome = replace(outcome, data=outcome.data | about)
            yield key, outcome

    def _held(self, jobs: Mapping[str, Job]) -> Machine:
        """The machine that measures, there and like the one that the run began with."""
        if all(place_of(job) == "anywhere" for job in jobs.values()):
            return this_machine()
        return self.executor.bench(self.bench())

    def _name(self, machine: Machine) -> None:
        self.journal.step(f"machine/{machine.name}", machine.as_json)


_SOMEWHERE: Final = ("build", "validate", "measure", "final", "confirm", "kernel", "throughput")
"""What keys of steps begin with that are done on the machine that measures."""


def _unnamed(entry: Mapping[str, Any]) -> bool:
    kind, data = entry["key"].split("/")[0], entry["data"]
    return kind in _SOMEWHERE and isinstance(data, dict) and "machine" not in data


def told(outcome: Outcome) -> Result:
    """The data of what was done; raises the fault of what was not."""
    if isinstance(outcome, Done):
        return outcome.data
    raise outcome
