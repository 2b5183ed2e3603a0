"""One evaluator for all searchers: a design built, validated and measured, each at most once.

What is kept is found by content, the emitted C: two designs with the same source are one kernel.
A kernel is timed several times, apart from each other, so that searches with other seeds see other
noise. All of it lies in the study's journal, with what it took, so a search that finds a kernel
done is charged what the first one was.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.codegen import build, detect_target, emit_c
from formwright.codegen.target import Target
from formwright.contract.contract import Contract
from formwright.flow.blackbox_quiet import Quiet
from formwright.flow.journal import Journal
from formwright.flow.turns import turn
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.measure.plan import Plan
from formwright.measure.programs import Native
from formwright.measure.statistics import Distribution
from formwright.measure.timing import measure_interleaved
from formwright.measure.workload import SymmetricWorkload
from formwright.qualify.timing import operator_workload
from formwright.qualify.validate import validate

SLOTS = 64
"""Tensors that calls take in turn, in searches and in the final: as many fit in memory for all."""
TIMING = Plan(rounds=4, least_rounds=3, seconds=2.0, batch_seconds=0.005, slots=SLOTS)
"""One timing of one kernel in a search: some forty calls of a tenth of a millisecond a round."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """``seconds`` of a call, or ``fault``; ``cost`` in seconds is what finding it out took."""

    key: str
    seconds: float | None
    fault: str
    cost: float


@dataclass(slots=True)
class Evaluator:
    """``shapes``: a kernel is validated once, at these, at ragged ones and at tiny ones; its timing
    at a task's extents compares the outputs of its calls too."""

    journal: Journal
    out: Path
    contract: Contract
    shapes: Sequence[Mapping[str, int]]
    threads: int
    seed: int
    quiet: Quiet | None = None
    target: Target = field(default_factory=detect_target)
    _sources: dict[str, Any] = field(default_factory=dict)
    _workloads: dict[str, SymmetricWorkload] = field(default_factory=dict)

    def evaluate(
        self,
        task: str,
        extents: Mapping[str, int],
        timing: int,
        template: Template,
        assignment: Mapping[str, int],
    ) -> Evaluation:
        """The ``timing``-th measurement of a design at ``extents``.

        With a ``quiet`` it is called from within its ``work``.
        """
        key, emitted, emission = self._emit(template, assignment)
        if isinstance(emitted, str):
            return Evaluation(key, None, emitted, emission)
        with nullcontext() if self.quiet is None else self.quiet.mine(key):
            return self._evaluated(task, extents, timing, key, emitted, emission)

    def _evaluated(
        self,
        task: str,
        extents: Mapping[str, int],
        timing: int,
        key: str,
        emitted: Any,
        cost: float,
    ) -> Evaluation:
        built = self.journal.step(f"build/{key}", partial(self._build, key, emitted))
        cost += built["seconds"]
        if "error" in built:
            return Evaluation(key, None, built["error"], cost)
        library = self.out / built["library"]
        valid = self.journal.step(
            f"validate/{self.contract.operator}/{key}", partial(self._validate, library)
        )
        cost += valid["seconds"]
        if valid["verdict"] != "held":
            return Evaluation(key, None, f"{valid['verdict']}: {valid['message']}", cost)
        timed = self.journal.step(
            f"time/{task}/{key}/{timing}", partial(self._alone, library, task, extents, timing)
        )
        cost += timed["took"]
        return Evaluation(key, timed.get("seconds"), timed.get("failure", ""), cost)

    def prepare(
        self, template: Template, assignments: Sequence[Mapping[str, int]], workers: int
    ) -> None:
        """Build and validate designs ahead, several at once; nothing is timed meanwhile."""
        found = [self._emit(template, a)[:2] for a in assignments]
        emitted = {key: e for key, e in found if not isinstance(e, str)}
        built = self.journal.steps(
            {f"build/{key}": partial(self._build, key, e) for key, e in emitted.items()}, workers
        )
        libraries = {
            key: self.out / built[f"build/{key}"]["library"]
            for key in emitted
            if "library" in built[f"build/{key}"]
        }
        self.journal.steps(
            {
                f"validate/{self.contract.operator}/{key}": partial(self._validate, library)
                for key, library in libraries.items()
            },
            workers,
        )

    def library(self, key: str) -> Path:
        """Where the kernel ``key`` was built."""
        return self.out / str(self.journal.known(f"build/{key}")["library"])  # type: ignore[index]

    def workload(self, task: str, extents: Mapping[str, int]) -> SymmetricWorkload:
        """Inputs and references of a task, worked out once."""
        if task not in self._workloads:
            self._workloads[task] = operator_workload(self.contract, extents, self.seed)
        return self._workloads[task]

    def _emit(self, template: Template, assignment: Mapping[str, int]) -> tuple[str, Any, float]:
        """The key of the C, the C (or why there is none), and the seconds it took."""
        name = digest([digest(inlined(template)), dict(assignment)])
        if name not in self._sources:
            start = perf_counter()
            try:
                emitted: Any = emit_c(template, assignment, self.target)
                key = digest(emitted.source)[:16]
            except InputError as error:
                emitted, key = str(error), name[:16]
            self._sources[name] = (key, emitted, perf_counter() - start)
        key, emitted, seconds = self._sources[name]
        return key, emitted, seconds

    def _build(self, key: str, emitted: Any) -> dict[str, Any]:
        start = perf_counter()
        try:
            built = build(emitted, self.out / "build" / key)
        except InputError as error:
            return {"error": str(error), "seconds": perf_counter() - start}
        return {
            "library": str(built.library.relative_to(self.out)),
            "template": emitted.template,
            "assignment": dict(emitted.assignment),
            "compiler": built.compiler,
            "seconds": perf_counter() - start,
        }

    def _validate(self, library: Path) -> dict[str, Any]:
        found = validate(
            library,
            self.contract,
            self.shapes,
            seed=self.seed,
            threads=self.threads,
            effort="quick",
        )
        refuted = found.refuted
        return {
            "verdict": found.verdict,
            "message": refuted[0].message if refuted else "",
            "seconds": found.seconds,
            "runs": len(found.runs),
        }

    def _alone(
        self, library: Path, task: str, extents: Mapping[str, int], timing: int
    ) -> dict[str, Any]:
        quiet = nullcontext() if self.quiet is None else self.quiet.alone()
        # A turn that others have is waited for before the clock runs.
        with quiet, turn(alone=True):
            return self._time(library, task, extents, timing)

    def _time(
        self, library: Path, task: str, extents: Mapping[str, int], timing: int
    ) -> dict[str, Any]:
        workload = self.workload(task, extents)
        start = perf_counter()
        result = measure_interleaved(
            {"kernel": Native(library, self.threads, self.contract.ahead)},
            workload,
            seed=self.seed + timing,
            plan=replace(TIMING, caches=self.contract.caches),
        )["kernel"]
        took = perf_counter() - start
        if not isinstance(result, Distribution):
            return {"failure": result.message, "took": took}
        return {
            "seconds": result.median,
            "low": result.seconds.low,
            "high": result.seconds.high,
            "queue_share": result.queue_share,
            "took": took,
        }
