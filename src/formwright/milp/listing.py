"""The feasible points of a search as a list, and what expressions are worth at them.

An expression is computed once for each combination of the decisions that it reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from formwright.ir import rational_arrays as rationals
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr, Scalar
from formwright.ir.int_arrays import Array
from formwright.ir.rational_arrays import NeedsExactError
from formwright.ir.vectorise import Evaluator, Given, Truths, exact_list, raise_first_error
from formwright.milp.eliminate import reads_of
from formwright.milp.enumerate import Columns, Search, counted, gathered, mask_of, named
from formwright.milp.grid import blocks, known

LISTED = 1 << 20
"""Feasible points that are listed."""
_EXACT = 1 << 16
"""Combinations whose exact values are told apart."""


class NotShownError(Exception):
    """What a structure needs is not shown or has no value somewhere; the message says which."""


@dataclass(slots=True)
class Points:
    """``places[name][i]``: where point ``i`` stands on the axis of a decision.

    ``feasible``: how many designs the points stand for. ``parts``: values of expressions
    other than the whole cost that were computed.
    """

    task: Search
    places: dict[str, Array]
    columns: Columns
    feasible: int
    parts: int = field(default=0)

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values())))

    def given(self, columns: Columns) -> dict[str, Given]:
        """Everything that an expression may name at some points."""
        tables = {n: gathered(self.task, t, columns) for n, t in self.task.tables.items()}
        return {**self.task.constants, **columns, **tables}

    def at(self, chosen: Array) -> Columns:
        return {name: column[chosen] for name, column in self.columns.items()}

    def groups(self, names: Iterable[str], more: Iterable[Array] = ()) -> Array:
        """A number for each point: equal where it stands equally on the axes of ``names`` and
        all of ``more`` are equal. The numbers are 0, 1, 2, …"""
        code, room = np.zeros(self.count, dtype=np.int64), 1
        for key in (*(self.places[n] for n in names), *more):
            width = int(key.max(initial=0)) + 1
            if room * width >= 2**62:
                code = np.unique(code, return_inverse=True)[1].reshape(-1)
                room = int(code.max(initial=0)) + 1
            code, room = code * width + key, room * width
        return np.unique(code, return_inverse=True)[1].reshape(-1)

    def firsts(self, groups: Array) -> Array:
        """The first point of each group."""
        first = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
        # Of equal numbers the last assignment stays.
        first[groups[::-1]] = np.arange(self.count)[::-1]
        return first

    def approximate(self, expr: Expr) -> tuple[Array, float]:
        """``expr`` at every point as floats, and how far each may be off."""
        first, inverse = self._cells(expr)
        value, error = floats(Evaluator(self.given(self.at(first))), expr, len(first))
        return value[inverse], error

    def ranked(self, expr: Expr) -> Array:
        """The place of the exact value of ``expr`` among all of its values, at every point."""
        first, inverse = self._cells(expr)
        if len(first) > _EXACT:
            raise NotShownError(f"it has more than {_EXACT} values")
        try:
            evaluator = Evaluator(self.given(self.at(first)), wide=True)
            values: list[Scalar] = exact_list(evaluator, expr, len(first))
        except EvaluationError as error:
            raise NotShownError(error.message) from None
        place = {v: i for i, v in enumerate(sorted({Fraction(v) for v in values}))}
        return np.array([place[Fraction(v)] for v in values], dtype=np.int64)[inverse]

    def _cells(self, expr: Expr) -> tuple[Array, Array]:
        """One point for each combination that ``expr`` reads; and which of them each point has."""
        inverse = self.groups(sorted(reads_of(self.task, expr) & self.columns.keys()))
        first = self.firsts(inverse)
        self.parts += len(first)
        return first, inverse


def floats(evaluator: Evaluator, expr: Expr, count: int) -> tuple[Array, float]:
    """``expr`` at ``count`` points with the error of the floats; raises where it has no value."""
    try:
        number = evaluator.number(expr)
        if np.any(number.bad):
            raise_first_error(expr, Truths(True, number.bad), evaluator.arrays)
        approx = rationals.approx(number)
    except EvaluationError as error:
        raise NotShownError(error.message) from None
    except NeedsExactError:
        past = EvaluationError("it is past the range of floats", expr.span)
        raise named("the cost", past) from None
    return np.array(np.broadcast_to(approx.value, (count,)), dtype=np.float64), approx.error


def listed(task: Search, most: int = LISTED) -> Points | None:
    """The feasible points, in the order of the grid; ``None`` if there are more than ``most``."""
    feasible = held = 0
    found: list[dict[str, Array]] = []
    for block in blocks(task.axes):
        evaluator = Evaluator(known(task.constants, task.tables, block))
        mask = mask_of(task, evaluator)
        if mask is False or not np.any(mask):
            continue
        full = np.broadcast_to(np.asarray(mask), block.shape)
        feasible += counted(task, evaluator, full)
        flat = np.flatnonzero(full)
        held += len(flat)
        if held > most:
            return None
        spots = np.unravel_index(flat, block.shape)
        found.append(
            {
                next(iter(axis.columns)): start + spot
                for axis, start, spot in zip(block.axes, block.starts, spots, strict=True)
            }
        )
    names = [next(iter(axis.columns)) for axis in task.axes]
    empty = np.zeros(0, dtype=np.int64)
    places = {n: np.concatenate([f[n] for f in found]) if found else empty for n in names}
    columns = {n: a.columns[n][places[n]] for n, a in zip(names, task.axes, strict=True)}
    return Points(task, places, columns, feasible)
