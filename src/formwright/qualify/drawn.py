"""Inputs and references of the trials at hand: trials of one shape and seed share them."""

from formwright.contract.contract import Contract
from formwright.contract.expected import Expected
from formwright.contract.inputs import inputs
from formwright.contract.numbers import Array
from formwright.contract.reference import expected
from formwright.qualify.plan import Trial

MOST_ELEMENTS = 1 << 20
"""Of the inputs of one call: larger ones are drawn again instead of being kept."""


class Drawn:
    """What was drawn last, by kind; kept while extents and seed stay the same."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._of: tuple[tuple[tuple[str, int], ...], int] = ((), 0)
        self._inputs: dict[str, tuple[Array, ...]] = {}
        self._expected: dict[str, Expected] = {}

    def inputs(self, kind: str, trial: Trial) -> tuple[Array, ...]:
        """The inputs of a kind, in the order of the call."""
        self._turn_to(trial)
        known = self._inputs.get(kind)
        if known is None:
            known = inputs(self.contract, kind, trial.extents, trial.seed)
            if sum(a.size for a in known) <= MOST_ELEMENTS:
                self._inputs[kind] = known
        return known

    def expected(self, kind: str, trial: Trial) -> Expected:
        """What they must give."""
        self._turn_to(trial)
        known = self._expected.get(kind)
        if known is None:
            arrays = self.inputs(kind, trial)
            known = expected(self.contract, kind, arrays)
            if sum(a.size for a in arrays) <= MOST_ELEMENTS:
                self._expected[kind] = known
        return known

    def _turn_to(self, trial: Trial) -> None:
        now = (tuple(trial.extents.items()), trial.seed)
        if now != self._of:
            self._of = now
            self._inputs.clear()
            self._expected.clear()
