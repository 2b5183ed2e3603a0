"""Integers mod 2^64 as the numbers of a build: see :mod:`formwright.codegen.ring`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from formwright.codegen.words import BITS
from formwright.contract.contract import Contract
from formwright.qualify.exact import NotExactError, exact_output
from formwright.qualify.numbers import WORD, Wanted


@dataclass(frozen=True, slots=True)
class Ring:
    """Any 64 bits are an integer."""

    flags: tuple[str, ...] = ("-O1",)

    def wanted(self, contract: Contract, shape: Mapping[str, int], seed: int) -> Wanted:
        """Raises :class:`NotExactError` for a formula that is no polynomial."""
        rng = np.random.default_rng([seed, 11])
        drawn = [
            rng.integers(0, 1 << BITS, contract.shape(o, shape), WORD) for o in contract.inputs
        ]
        names = [o.name for o in contract.inputs]
        exact = {n: a.astype(object) for n, a in zip(names, drawn, strict=True)}
        try:
            output = exact_output(contract, shape, exact, BITS)
        except NotExactError as error:
            raise NotExactError(f"the formula is no polynomial: {error}") from error
        return Wanted(tuple(drawn), output.astype(WORD), (1 << BITS) - 1)
