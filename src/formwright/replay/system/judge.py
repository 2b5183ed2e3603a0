"""Whether what the fine system computed is what the coarse one computes."""

from collections.abc import Mapping

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import TRUE, Scalar
from formwright.ir.system import Refinement, System
from formwright.replay.system.explore import AtEnd, Limits, explore
from formwright.replay.system.findings import EndsApart, Finding, WrongResult
from formwright.replay.system.layout import TooLargeError
from formwright.replay.system.machine import FaultError, Machine
from formwright.replay.system.made import State

_NOTHING = System("nothing", (), (), (), TRUE, ())

COARSE_STATES = 50_000
"""States of the coarse system alone up to which its results are all known."""

Results = tuple[tuple[Scalar, ...], ...]


class Judge:
    """Remembers the results of the coarse system for each choice of its own tokens."""

    def __init__(self, step: Refinement, constants: Mapping[str, Scalar], limits: Limits) -> None:
        self._alone = Refinement(_NOTHING, step.coarse, (), (), (), (), ())
        self._names = tuple(t.name for t in step.coarse.tokens)
        self._constants = constants
        self._limits = Limits(min(COARSE_STATES, limits.states), limits.deadline)
        self._known: dict[tuple[Scalar, ...], Results | None] = {}

    def results(self, tokens: Mapping[str, Scalar]) -> Results | None:
        """Every result that a run of the coarse system can have; ``None`` if not all are known."""
        key = tuple(tokens[n] for n in self._names)
        if key not in self._known:
            self._known[key] = self._explored(dict(zip(self._names, key, strict=True)))
        return self._known[key]

    def at_end(self, machine: Machine) -> AtEnd:
        """Judges the final states of ``machine``."""

        def judged(state: State) -> Finding | None:
            try:
                return self._judged(machine, state)
            except EvaluationError as error:
                raise FaultError(f"{error.message}, in the result") from error

        return judged

    def _judged(self, machine: Machine, state: State) -> Finding | None:
        result = tuple(e(state) for e in machine.result)
        coarse: tuple[Scalar, ...] | None = None
        if state[-1] and machine.coarse_final(state):
            coarse = tuple(e(state) for e in machine.coarse_result)
            if result == coarse:
                return None
        possible = self.results(machine.where.tokens)
        if possible is not None and result not in possible:
            return WrongResult(result, possible)
        return EndsApart(result, coarse) if state[-1] else None

    def _explored(self, tokens: dict[str, Scalar]) -> Results | None:
        found: dict[tuple[Scalar, ...], None] = {}
        try:
            machine = Machine(self._alone, self._constants, tokens)
            graph = explore(machine, self._limits, _collector(machine, found))
        except (EvaluationError, TooLargeError):
            return None
        is_whole = machine.exhaustive and not graph.cut and graph.fault is None
        return tuple(found) if is_whole else None


def _collector(machine: Machine, found: dict[tuple[Scalar, ...], None]) -> AtEnd:
    def collect(state: State) -> None:
        found[tuple(e(state) for e in machine.result)] = None

    return collect
