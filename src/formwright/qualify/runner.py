"""Trials of one library in sandboxed children, and the responsible clause when one fails."""

from collections import Counter
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from formwright.contract.contract import Contract
from formwright.contract.inputs import clause_of, exact, inputs, slices
from formwright.contract.judge import Finding, judge
from formwright.measure.outcome import Crashed, MeasureError, Ok, Outcome
from formwright.measure.programs import Native
from formwright.measure.sandbox import Sandbox
from formwright.measure.session import Batch, Session
from formwright.measure.tensors import Tensor
from formwright.qualify.clauses import ADDS, EVERY_CALL, Fault, of_failure
from formwright.qualify.plan import Trial, plain, strides

F32 = NDArray[np.float32]

LARGE: Final = 1 << 30
"""Multiplications of a shape beyond which references of whole outputs cost seconds."""

ROWS: Final = 128
"""Rows that are judged there; exact kinds are judged everywhere, at any size."""


class Runner:
    """Runs trials of one library; ``tested`` counts the calls behind each clause."""

    def __init__(self, library: Path, contract: Contract, sandbox: Sandbox | None) -> None:
        self.library = library
        self.contract = contract
        self.sandbox = sandbox
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

    def _session(self, trial: Trial, poison_scratch: bool = True) -> Session:
        m, n, k = trial.extents
        rows = strides(trial)
        tensors = (
            Tensor("A", (m, k), row_stride=rows[0]),
            Tensor("B", (k, n), row_stride=rows[1]),
            Tensor("C", (m, n), row_stride=rows[2], output=True),
        )
        return Session(
            Native(self.library, trial.threads, self.contract.ahead if trial.ahead else ()),
            tensors,
            trial.extents,
            placement=trial.placement,
            sandbox=self.sandbox,
            poison_scratch=poison_scratch,
        )

    def _kinds(self, session: Session, trial: Trial) -> list[Fault]:
        faults: list[Fault] = []
        previous: F32 | None = None
        for kind in trial.kinds:
            a, b = self._inputs(kind, trial)
            fault = self._once(session, trial, kind, a, b)
            if fault is not None:
                output = _output(session) if session.alive else None
                if fault.finding is not None and _stale(output, previous):
                    detail = "the output is that of the call before, on other inputs"
                    fault = Fault("fresh", detail, kind, fault.finding)
                faults.append(self._explain(session, trial, kind, fault))
                if not session.alive:
                    return faults
                previous = output
                continue
            self._count(kind, trial)
            previous = _output(session)
            repeated = self._again(session, trial, kind, a, b, previous)
            if repeated is not None:
                return [*faults, repeated]
        return faults

    def _inputs(self, kind: str, trial: Trial) -> tuple[F32, F32]:
        values = dict(zip(("M", "N", "K"), trial.extents, strict=True))
        a, b = inputs(self.contract, kind, values, trial.seed)
        return a, b

    def _once(
        self,
        session: Session,
        trial: Trial,
        kind: str,
        a: F32,
        b: F32,
        *,
        fill: float | None = None,
        same_as: F32 | None = None,
    ) -> Fault | None:
        """One call. ``fill`` is what the output holds before it, instead of the secret NaN;
        an output with the bits of ``same_as``, which has been judged, is right."""
        session.load((a, b))
        poison: np.uint32 | None = np.uint32(session.poison.view(np.uint32)[0])
        if fill is not None:
            session.view(-1)[...] = fill
            poison = None
        outcome = _call(session)
        if not isinstance(outcome, Ok):
            crash = isinstance(outcome, Crashed)
            return Fault(*of_failure(outcome, trial), kind, crash=crash)
        output = _output(session)
        if same_as is not None and _same_bits(output, same_as):
            return None
        finding = self._judge(trial, kind, a, b, output, poison)
        return None if finding is None else Fault(finding.clause, finding.detail, kind, finding)

    def _judge(
        self, trial: Trial, kind: str, a: F32, b: F32, c: F32, poison: np.uint32 | None
    ) -> Finding | None:
        """All cells; for large shapes the kinds that have a bound are judged on some rows."""
        rows = np.arange(len(c))
        if prod(trial.extents) > LARGE and not exact(self.contract, kind):
            rng = np.random.default_rng([trial.seed, 2])
            some = rng.choice(len(c), min(len(c), ROWS), replace=False)
            rows = np.unique([0, len(c) - 1, *some])
        found = judge(
            self.contract, kind, slices(self.contract, (a, b), rows), c[rows], poison=poison
        )
        if found is None:
            return None
        return replace(found, cell=(int(rows[found.cell[0]]), *found.cell[1:]))

    def _again(
        self, session: Session, trial: Trial, kind: str, a: F32, b: F32, first: F32
    ) -> Fault | None:
        """The same call again, on an output that holds other things: the same bits."""
        for turn in range(1, trial.repeats):
            fill = 0.0 if turn % 2 else 1e30
            fault = self._once(session, trial, kind, a, b, fill=fill, same_as=first)
            other = fault is None and not _same_bits(_output(session), first)
            if other and not np.isnan(first).any():
                fault = Fault("repeatable", "the same call gave other bits the second time", kind)
            elif fault is not None:
                fault = replace(
                    fault, clause="repeatable", detail=f"in a later call {fault.detail}"
                )
                if session.alive and self._once(session, trial, kind, a, b) is None:
                    fault = replace(fault, clause="previous_output")
            if fault is not None and trial.group == "threads":
                return replace(fault, clause="threads", detail=f"{ADDS['threads']} {fault.detail}")
            if fault is not None:
                return fault
            self.tested["repeatable"] += 1
            self.tested["previous_output"] += 1
        return None

    def _explain(self, session: Session, trial: Trial, kind: str, fault: Fault) -> Fault:
        """The responsible clause: what a call differs in from one that is right."""
        a, b = self._inputs(kind, trial)
        if fault.crash and trial.group == "strides":
            close = replace(plain(trial), group="alignment", placement="end")
            return replace(fault, clause=self._clause_of_crash(close, kind, a, b))
        if fault.finding is None or fault.clause == "fresh":
            return fault
        if fault.clause in ("written", "finite"):
            if session.alive and self._once(session, trial, kind, a, b, fill=0.0) is None:
                detail = "the result depends on what the output held before (it held NaN)"
                return Fault("previous_output", detail, kind, fault.finding)
            if self._right(trial, kind, a, b, poison_scratch=False):
                detail = "it reads scratch memory that it has not written (it held NaN)"
                return Fault("defined", detail, kind, fault.finding)
        if trial.group == "plain" or not self._right(plain(trial), kind, a, b):
            return fault
        return Fault(trial.group, f"{ADDS[trial.group]} {fault.detail}", kind, fault.finding)

    def _clause_of_crash(self, trial: Trial, kind: str, a: F32, b: F32) -> str:
        return "strides" if self._right(trial, kind, a, b) else "alignment"

    def _right(
        self, trial: Trial, kind: str, a: F32, b: F32, *, poison_scratch: bool = True
    ) -> bool:
        """Does this call hold in a child of its own?"""
        try:
            with self._session(trial, poison_scratch) as session:
                return self._once(session, trial, kind, a, b) is None
        except MeasureError:
            return False

    def _count(self, kind: str, trial: Trial) -> None:
        for clause in EVERY_CALL:
            self.tested[clause] += 1
        if trial.extents[2] == 0:
            self.tested["empty_sum"] += 1
        else:
            self.tested[clause_of(self.contract, kind)] += 1
        if trial.group != "plain":
            self.tested[trial.group] += 1
        if trial.threads > 1:
            self.tested["threads"] += 1


def _call(session: Session) -> Outcome:
    if session.program.ahead:
        prepared = session.prepare((0,))
        if not isinstance(prepared, Batch):
            return prepared
    return session.call()


def _output(session: Session) -> F32:
    return np.ascontiguousarray(session.output(), np.float32)


def _same_bits(left: F32, right: F32) -> bool:
    return np.array_equal(left.view(np.uint32), right.view(np.uint32))


def _stale(output: F32 | None, previous: F32 | None) -> bool:
    if output is None or previous is None or np.isnan(output).any():
        return False
    return bool(np.array_equal(output, previous) and np.unique(output).size > 1)
