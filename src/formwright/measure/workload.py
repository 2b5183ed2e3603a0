"""Inputs that change in place between batches, with an effect on the output that is known exactly.

A kernel that answers from memory is caught because its inputs change between batches; computing a
reference anew each time would cost more than the batches. Signs are exact: with rows of A and
columns of B negated, the product's rows and columns are negated, and every tolerance stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from formwright.measure.tensors import Array, Case, Tensor

Signs = npt.NDArray[np.float32]

_COLUMNS = 16
"""How many columns of the second input change at most: enough to notice, cheap to change."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What a slot holds: a case, and which rows and columns of it are negated."""

    case: int
    rows: Signs
    columns: Signs


class Workload(Protocol):
    """Where timed batches get their inputs from, and what their outputs are held against."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs in the order of the library's arguments, then the output."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents as the library expects them."""

    def load(self, slot: int) -> tuple[tuple[Array, ...], Variant]:
        """Inputs for a slot, and what they are."""

    def vary(
        self, views: Sequence[Array], variant: Variant, changed: Sequence[int], seed: int
    ) -> Variant:
        """Change the inputs of index ``changed`` in place."""

    def expected(self, variant: Variant) -> tuple[Array, Array]:
        """The expected output and its tolerance."""


@dataclass(frozen=True, slots=True)
class ProductWorkload:
    """``C = A @ B`` from ready cases; slots take them in turn, each with signs of its own."""

    tensors: tuple[Tensor, ...]
    extents: tuple[int, ...]
    cases: tuple[Case, ...]

    def load(self, slot: int) -> tuple[tuple[Array, ...], Variant]:
        """The inputs of one of the cases, as they are."""
        number = slot % len(self.cases)
        case = self.cases[number]
        m, n = case.expected.shape
        plain = Variant(number, np.ones(m, np.float32), np.ones(n, np.float32))
        return case.inputs, plain

    def vary(
        self, views: Sequence[Array], variant: Variant, changed: Sequence[int], seed: int
    ) -> Variant:
        """Negate some rows of A (``changed`` has 0) and some columns of B (has 1), in place."""
        rng = np.random.default_rng(seed)
        rows, columns = variant.rows, variant.columns
        if 0 in changed and rows.size:
            picked = rng.random(rows.size) < 0.5
            picked[rng.integers(rows.size)] = True
            rows = np.where(picked, -rows, rows)
            np.negative(views[0], out=views[0], where=picked[:, None])
        if 1 in changed and columns.size:
            chosen = np.unique(rng.integers(columns.size, size=min(_COLUMNS, columns.size)))
            columns = columns.copy()
            columns[chosen] *= -1
            views[1][:, chosen] *= np.float32(-1)
        return Variant(variant.case, rows, columns)

    def expected(self, variant: Variant) -> tuple[Array, Array]:
        """The case's reference with the signs put on, and its tolerance."""
        case = self.cases[variant.case]
        expected = case.expected * variant.rows[:, None].astype(np.float64)
        expected *= variant.columns[None, :]
        return expected, case.tolerance
