"""A prime field and a pair of fields as the numbers of a build: :mod:`formwright.codegen.field`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Final

import numpy as np

from formwright.codegen.field import MERSENNE, G, P, Q
from formwright.contract.contract import Contract
from formwright.qualify.exact import NotExactError, Whole
from formwright.qualify.field_exact import Field, Halves, ZeroDivisorError, field_output
from formwright.qualify.numbers import WORD, Wanted, Words

DRAWS: Final = 4
"""Tries at inputs that divide by nothing that is 0: one of 2^31 divisors is, by chance."""

LARGE: Final = 1 << 14
"""Points above which it is not tried again whether the output depends on a maximum: the first
shape is a small one."""


@dataclass(frozen=True, slots=True)
class FieldNumbers:
    """Residues mod 2^61 - 1; as a ``pair`` those mod Q in the upper half, mod P in the lower.

    ``root``: the power that stands for ``sqrt``.
    """

    pair: bool
    root: int

    @property
    def flags(self) -> tuple[str, ...]:
        return ("-O0", f"-DFW_ROOT=UINT64_C({self.root})")

    @property
    def modulus(self) -> str:
        return f"q = {Q}, p = 2 q + 1 = {P}" if self.pair else f"2^61 - 1 = {MERSENNE}"

    def wanted(self, contract: Contract, shape: Mapping[str, int], seed: int) -> Wanted:
        """Raises :class:`NotExactError` for a formula that these fields do not have, and for one
        whose output depends on a maximum itself: its value is no element that is known."""
        for draw in range(DRAWS):
            try:
                return self._wanted(contract, shape, np.random.default_rng([seed, 13, draw]))
            except ZeroDivisorError:
                continue
        raise NotExactError(f"it divided by 0 on {DRAWS} draws of its inputs")

    def _wanted(
        self, contract: Contract, shape: Mapping[str, int], rng: np.random.Generator
    ) -> Wanted:
        drawn, exact = list[Words](), dict[str, Halves]()
        for operand in contract.inputs:
            size = contract.shape(operand, shape)
            if not self.pair:
                drawn.append(rng.integers(0, MERSENNE, size, WORD))
                exact[operand.name] = Halves(None, drawn[-1].astype(object))
                continue
            q, p = rng.integers(0, Q, size, WORD), rng.integers(0, P, size, WORD)
            drawn.append(q << np.uint64(32) | p)
            exact[operand.name] = Halves(q.astype(object), p.astype(object))
        field = Field(P, self.root, Q, G) if self.pair else Field(MERSENNE, self.root)
        found = field_output(contract, shape, exact, field)
        maxima = "max(" in " ".join(contract.formula) and prod(shape.values()) <= LARGE
        if maxima and not _same(
            found, field_output(contract, shape, exact, replace(field, largest=False))
        ):
            raise NotExactError("the output depends on a maximum, which is any element here")
        if not self.pair:
            return Wanted(tuple(drawn), found.p.astype(WORD), (1 << 64) - 1)
        if found.q is None:
            return Wanted(tuple(drawn), found.p.astype(WORD), (1 << 32) - 1)
        return Wanted(tuple(drawn), _packed(found.q, found.p), (1 << 64) - 1)


def field_numbers(pair: bool, seed: int) -> FieldNumbers:
    """With a power for roots that is drawn from ``seed``: odd, and no two arguments share one."""
    rng = np.random.default_rng([seed, 17])
    orders = (P - 1, Q - 1, MERSENNE - 1)
    while True:
        root = int(rng.integers(1 << 29, 1 << 30)) * 2 + 1
        if all(gcd(root, order) == 1 for order in orders):
            return FieldNumbers(pair, root)


def _packed(q: Whole, p: Whole) -> Words:
    return np.asarray((q * (1 << 32) + p).astype(WORD))


def _same(a: Halves, b: Halves) -> bool:
    upper = a.q is None or b.q is None or bool((a.q == b.q).all())
    return upper and bool((a.p == b.p).all())
