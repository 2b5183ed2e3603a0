"""Trials of one library in sandboxed children, and the responsible clause when one fails."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.inputs import clause_of
from formwright.contract.judge import Finding, judge
from formwright.contract.numbers import Array, to_double
from formwright.measure.outcome import Crashed, MeasureError, Ok, Outcome
from formwright.measure.programs import Native
from formwright.measure.sandbox import Sandbox
from formwright.measure.session import Batch, Session
from formwright.qualify.clauses import ADDS, EVERY_CALL, Fault, of_failure
from formwright.qualify.drawn import Drawn
from formwright.qualify.part import part_of
from formwright.qualify.plan import Trial, plain, strides
from formwright.qualify.relations import unlike
from formwright.qualify.shapes import first, is_empty
from formwright.qualify.tensors import same_bits, tensors_of

Inputs = tuple[Array, ...]


class Runner:
    """Runs trials of one library; ``tested`` counts the calls behind each clause."""

    def __init__(self, library: Path, contract: Contract, sandbox: Sandbox | None) -> None:
        self.library = library
        self.contract = contract
        self.sandbox = sandbox
        self.drawn = Drawn(contract)
        self.tested: Counter[str] = Counter()
        self.level = "none"

    def trial(self, trial: Trial) -> list[Fault]:
        """All faults of one trial; empty when it held."""
        try:
            with self._session(trial) as session:
                self.level = session.level.name.lower()
                self.tested["starts"] += 1
                return self._kinds(session, trial)
        except MeasureError as error:
            return [Fault(*of_failure(error.outcome, trial), None)]

    def _session(self, trial: Trial, poison_scratch: bool | None = None) -> Session:
        rows = strides(self.contract, trial)
        return Session(
            Native(self.library, trial.threads, self.contract.ahead if trial.ahead else ()),
            tensors_of(self.contract, trial.extents, rows),
            [trial.extents[name] for name in self.contract.names],
            placement=trial.placement,
            sandbox=self.sandbox,
            poison_scratch=trial.poison if poison_scratch is None else poison_scratch,
        )

    def _kinds(self, session: Session, trial: Trial) -> list[Fault]:
        faults: list[Fault] = []
        previous: Array | None = None
        related: tuple[str, Inputs, Array] | None = None
        for kind in trial.kinds:
            arrays = self._inputs(kind, trial)
            fault = self._once(session, trial, kind, arrays)
            if fault is not None:
                output = session.output() if session.alive else None
                if fault.finding is not None and _stale(output, previous):
                    detail = "the output is that of the call before, on other inputs"
                    fault = Fault("fresh", detail, kind, fault.finding)
                faults.append(self._explain(session, trial, kind, fault))
                if not session.alive:
                    return faults
                previous = output
                continue
            self._count(kind, trial)
            previous = session.output()
            more = self._again(session, trial, kind, arrays, previous)
            if more is not None:
                return [*faults, more]
            if kind == trial.kinds[0]:
                related = (kind, arrays, previous)
        # Last: a kernel that keeps state shows it by its own name before.
        if trial.relations and related is not None and session.alive and not faults:
            fault = self._nudged(session, trial, *related)
            fault = fault or self._relations(session, trial, *related)
            if fault is not None:
                return [fault]
        return faults

    def _inputs(self, kind: str, trial: Trial) -> Inputs:
        return self.drawn.inputs(kind, trial)

    def _once(
        self,
        session: Session,
        trial: Trial,
        kind: str,
        arrays: Inputs,
        *,
        fill: float | None = None,
        same_as: Array | None = None,
    ) -> Fault | None:
        """One call. ``fill`` is what the output holds before it, instead of the secret NaN;
        an output with the bits of ``same_as``, which has been judged, is right."""
        outcome = _call(session, arrays, fill)
        if not isinstance(outcome, Ok):
            crash = isinstance(outcome, Crashed)
            return Fault(*of_failure(outcome, trial), kind, crash=crash)
        output = session.output()
        if same_as is not None and same_bits(output, same_as):
            return None
        poison = session.poison if fill is None else None
        finding = self._judge(trial, kind, arrays, output, poison)
        return None if finding is None else Fault(finding.clause, finding.detail, kind, finding)

    def _judge(
        self, trial: Trial, kind: str, arrays: Inputs, output: Array, poison: Array | None
    ) -> Finding | None:
        """All cells; for large shapes the kinds that have a bound are judged on some rows."""
        part = part_of(self.contract, kind, trial.extents, arrays, output, trial.seed)
        filled = None if poison is None else poison[0]
        wanted = self.drawn.expected(kind, trial) if part.axis is None else None
        found = judge(self.contract, kind, part.arrays, part.output, poison=filled, wanted=wanted)
        return None if found is None else replace(found, cell=part.whole_cell(found.cell))

    def _again(
        self, session: Session, trial: Trial, kind: str, arrays: Inputs, first: Array
    ) -> Fault | None:
        """The same call again, on an output that holds other things: the same bits."""
        for turn in range(1, trial.repeats):
            fill = 0.0 if turn % 2 else 1e30 if first.dtype.itemsize > 2 else 100.0
            fault = self._once(session, trial, kind, arrays, fill=fill, same_as=first)
            other = fault is None and not same_bits(session.output(), first)
            if other and not _nan(first).any():
                fault = Fault("repeatable", "the same call gave other bits the second time", kind)
            elif fault is not None:
                fault = replace(
                    fault, clause="repeatable", detail=f"in a later call {fault.detail}"
                )
                if session.alive and self._once(session, trial, kind, arrays) is None:
                    fault = replace(fault, clause="previous_output")
            if fault is not None and trial.group == "threads":
                return replace(fault, clause="threads", detail=f"{ADDS['threads']} {fault.detail}")
            if fault is not None:
                return fault
            self.tested["repeatable"] += 1
            self.tested["previous_output"] += 1
        return None

    def _nudged(
        self, session: Session, trial: Trial, kind: str, arrays: Inputs, output: Array
    ) -> Fault | None:
        """One cell of one input changed, or more: an output that is kept for like inputs shows."""
        if is_empty(self.contract, trial.extents):
            return None
        rng = np.random.default_rng([trial.seed, 4])
        changed = [array.copy() for array in arrays]
        cells = changed[int(rng.integers(len(changed)))].reshape(-1)
        cells[int(rng.integers(cells.size))] = 5
        if trial.seed % 2 and trial.extents != first(self.contract):
            # At every other shape zeros of both signs are strewn too: no kind has them everywhere.
            for array in changed:
                array[rng.random(array.shape) < 0.1] *= 0
        fault = self._once(session, trial, kind, arrays)
        if fault is not None:
            return replace(fault, clause="repeatable", detail=f"in a later call {fault.detail}")
        got = self._output(session, trial, kind, tuple(changed))
        if isinstance(got, Fault):
            return got
        found = judge(self.contract, kind, tuple(changed), got)
        if found is None:
            return None
        stale = same_bits(got, output)
        detail = "one cell of an input changed, and the output is that of the call before"
        clause = "fresh" if stale else found.clause
        return Fault(clause, detail if stale else found.detail, kind, found)

    def _relations(
        self, session: Session, trial: Trial, kind: str, arrays: Inputs, output: Array
    ) -> Fault | None:
        """What the contract's relations say of the outputs of two calls, on other inputs."""

        def call(extents: Mapping[str, int], changed: Inputs) -> Array | Fault:
            if extents == trial.extents:
                return self._output(session, trial, kind, changed)
            other = replace(trial, extents=extents)
            try:
                with self._session(other) as another:
                    return self._output(another, other, kind, changed)
            except MeasureError as error:
                return Fault(*of_failure(error.outcome, other), kind)

        if is_empty(self.contract, trial.extents):
            return None
        first = self.drawn.expected(kind, trial)
        found = unlike(self.contract, kind, trial, arrays, output, first, call)
        if isinstance(found, Fault):
            return found
        self.tested["metamorphic"] += found
        return None

    def _output(self, session: Session, trial: Trial, kind: str, arrays: Inputs) -> Array | Fault:
        outcome = _call(session, arrays, None)
        if isinstance(outcome, Ok):
            return session.output()
        return Fault(*of_failure(outcome, trial), kind, crash=isinstance(outcome, Crashed))

    def _explain(self, session: Session, trial: Trial, kind: str, fault: Fault) -> Fault:
        """The responsible clause: what a call differs in from one that is right."""
        arrays = self._inputs(kind, trial)
        if fault.crash and trial.group == "strides":
            close = replace(plain(trial), group="alignment", placement="end")
            clause = "strides" if self._right(close, kind, arrays) else "alignment"
            return replace(fault, clause=clause)
        if fault.finding is None or fault.clause == "fresh":
            return fault
        if fault.clause in ("written", "finite"):
            if session.alive and self._once(session, trial, kind, arrays, fill=0.0) is None:
                detail = "the result depends on what the output held before (it held NaN)"
                return Fault("previous_output", detail, kind, fault.finding)
            if self._right(trial, kind, arrays, poison_scratch=False):
                detail = (
                    "it reads memory that it has not written: scratch, heap or stack (it held NaN)"
                )
                return Fault("defined", detail, kind, fault.finding)
        if trial.group == "plain" or not self._right(plain(trial), kind, arrays):
            return fault
        return Fault(trial.group, f"{ADDS[trial.group]} {fault.detail}", kind, fault.finding)

    def _right(
        self, trial: Trial, kind: str, arrays: Inputs, *, poison_scratch: bool | None = None
    ) -> bool:
        """Does this call hold in a child of its own?"""
        try:
            with self._session(trial, poison_scratch) as session:
                return self._once(session, trial, kind, arrays) is None
        except MeasureError:
            return False

    def _count(self, kind: str, trial: Trial) -> None:
        for clause in EVERY_CALL:
            self.tested[clause] += 1
        empty = is_empty(self.contract, trial.extents)
        clause = "empty_sum" if empty else clause_of(self.contract, kind)
        self.tested[clause] += 1
        if trial.group != "plain":
            self.tested[trial.group] += 1
        if trial.threads > 1:
            self.tested["threads"] += 1


def _call(session: Session, arrays: Inputs, fill: float | None) -> Outcome:
    session.load(arrays)
    if fill is not None:
        session.view(-1)[...] = fill
    if session.program.ahead:
        prepared = session.prepare((0,))
        if not isinstance(prepared, Batch):
            return prepared
    return session.call()


def _nan(array: Array) -> Array:
    return np.isnan(to_double(array))


def _stale(output: Array | None, previous: Array | None) -> bool:
    if output is None or previous is None or _nan(output).any():
        return False
    same = np.array_equal(output, previous)
    return bool(same and np.unique(output.astype(np.float64)).size > 1)
