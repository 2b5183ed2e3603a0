"""Every point of a grid, in blocks: the feasible ones counted, the best ones exact."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.ir import rational_arrays as rationals
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr, Scalar
from formwright.ir.int_arrays import Array
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint
from formwright.ir.vectorise import Evaluator, Given, Truths, exactly, raise_first_error
from formwright.milp.grid import Axis, Block, Table, blocks, known

CROWD = 1_000_000
"""Candidates that are held before the worse ones are dropped."""

Columns = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: the best ``keep`` points by objective, then ``prefer``, then names.

    ``order`` lists the decisions of the last tie-break; ``weights`` names tables that say
    how many designs a point stands for.
    """

    axes: tuple[Axis, ...]
    constants: Mapping[str, Given]
    constraints: tuple[Constraint, ...]
    objective: Expr | None
    prefer: tuple[Expr, ...]
    order: tuple[str, ...]
    keep: int = 1
    tables: Mapping[str, Table] = field(default_factory=dict)
    weights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """``columns`` hold the best points in order; ``values`` their exact objectives.

    ``costed``: points that meet the constraints and whose cost was computed.
    """

    feasible: int
    columns: Columns
    values: tuple[Fraction, ...]
    costed: int = 0


def search(task: Search, every_tie: bool = False) -> Found:
    """The best points of the grid; with ``every_tie`` also all that tie with the last of them.

    Raises :class:`InputError` if the cost has no value at a feasible point.
    """
    feasible = costed = 0
    kept = _Candidates(task, every_tie)
    for block in blocks(task.axes):
        given = known(task.constants, task.tables, block)
        evaluator = Evaluator(given)
        mask = mask_of(task, evaluator)
        if mask is False or not np.any(mask):
            continue
        full = np.broadcast_to(np.asarray(mask), block.shape)
        feasible += counted(task, evaluator, full)
        costed += int(np.count_nonzero(full))
        kept.offer(block, evaluator, full)
    columns, values = kept.best()
    return Found(feasible, columns, values, costed)


def first_feasible(task: Search) -> dict[str, int] | None:
    """Some feasible point, or ``None``; stops at the first block that has one."""
    for block in blocks(task.axes):
        given = known(task.constants, task.tables, block)
        mask = mask_of(task, Evaluator(given))
        full = np.broadcast_to(np.asarray(mask), block.shape).ravel()
        if full.any():
            point = block.coordinates(np.array([int(np.argmax(full))]))
            return {name: int(column[0]) for name, column in point.items()}
    return None


def count_feasible(task: Search) -> int:
    """How many points of the grid meet every constraint."""
    total = 0
    for block in blocks(task.axes):
        given = known(task.constants, task.tables, block)
        mask = mask_of(task, Evaluator(given))
        total += int(np.count_nonzero(np.broadcast_to(np.asarray(mask), block.shape)))
    return total


def mask_of(task: Search, evaluator: Evaluator) -> bool | Array:
    """Where every constraint holds."""
    mask: bool | Array = True
    for constraint in task.constraints:
        value = where_held(constraint, evaluator)
        mask = mask & value if mask is not True else value
        if mask is False:
            break
    return mask


def where_held(constraint: Constraint, evaluator: Evaluator) -> bool | Array:
    """Where ``constraint`` holds. It does not where it has no value: an earlier one fails there
    (see :mod:`formwright.milp.defined`)."""
    try:
        truths = evaluator.run(constraint.condition)
    except EvaluationError:
        return False
    if not isinstance(truths, Truths):
        error = EvaluationError("a condition is needed, not a number", constraint.condition.span)
        raise named(f"constraint {constraint.name}", error)
    if truths.bad is False:
        return truths.value
    held: Array = np.asarray(truths.value) & ~np.asarray(truths.bad)
    return held


def named(what: str, error: EvaluationError) -> InputError:
    """What has no value, as a fault of the template."""
    hint = "guard the division, or keep the value out of the menu"
    return InputError([Diagnostic(f"{what} has no value: {error.message}", error.span, hint)])


def counted(task: Search, evaluator: Evaluator, mask: Array) -> int:
    """How many designs the points of ``mask`` stand for."""
    if not task.weights:
        return int(np.count_nonzero(mask))
    total: rationals.Number = rationals.rational(1)
    for name in task.weights:
        weight = task.tables[name].values
        assert not isinstance(weight, Truths)
        sliced = evaluator.arrays[name]
        assert isinstance(sliced, rationals.Exact)
        total = rationals.multiply(total, sliced, wide=True)
    assert isinstance(total, rationals.Exact)
    weights = np.broadcast_to(np.asarray(total.num.a), mask.shape)
    if weights.dtype != object and total.num.hi * mask.size < 2**62:
        return int(np.sum(weights, where=mask))
    return sum(int(w) for w in weights[mask])


@dataclass(slots=True)
class _Candidates:
    """Points that may still be among the best, by floats with a proven error."""

    task: Search
    every_tie: bool
    parts: list[tuple[Columns, Array, float]] = field(default_factory=list)
    held: int = 0
    ceiling: float = np.inf

    def offer(self, block: Block, evaluator: Evaluator, mask: Array) -> None:
        value, error = self._objective(evaluator, mask)
        flat = np.flatnonzero(mask)
        values = np.broadcast_to(value, mask.shape).reshape(-1)[flat]
        keep = min(self.task.keep, values.size)
        worst = np.partition(values, keep - 1)[keep - 1] if keep > 1 else values.min()
        if values.size >= self.task.keep:
            self.ceiling = min(self.ceiling, float(worst) + error)
        chosen = values - error <= self.ceiling
        if not np.any(chosen):
            return
        self.parts.append((block.coordinates(flat[chosen]), values[chosen], error))
        self.held += int(np.count_nonzero(chosen))
        if self.held > CROWD:
            self._thin()

    def _objective(self, evaluator: Evaluator, mask: Array) -> tuple[Array, float]:
        if self.task.objective is None:
            return np.zeros(()), 0.0
        try:
            number = evaluator.number(self.task.objective)
            if number.bad is not False:
                masked = Truths(True, np.broadcast_to(number.bad, mask.shape) & mask)
                raise_first_error(self.task.objective, masked, evaluator.arrays)
            approx = rationals.approx(number)
        except EvaluationError as error:
            raise named("the cost", error) from None
        except rationals.NeedsExactError:
            raise named("the cost", EvaluationError("it is past the range of floats")) from None
        return approx.value, approx.error

    def _joined(self) -> Columns:
        alive = [
            {name: column[values - error <= self.ceiling] for name, column in columns.items()}
            for columns, values, error in self.parts
        ]
        return {n: np.concatenate([c[n] for c in alive]) for n in alive[0]} if alive else {}

    def _thin(self) -> None:
        columns, exact = self.best()
        values = np.array([float(v) for v in exact])
        self.parts = [(columns, values, float(np.max(np.abs(values), initial=0.0)) * 1e-15)]
        self.held = len(values)

    def best(self) -> tuple[Columns, tuple[Fraction, ...]]:
        """The best points in order, with exact objectives."""
        columns = self._joined()
        if not columns:
            return {}, ()
        return ranked(self.task, columns, self.every_tie)


def ranked(task: Search, columns: Columns, every_tie: bool) -> tuple[Columns, tuple[Fraction, ...]]:
    """The best of some points (at least one) in order, with exact objectives."""
    values, ranks = _exact_ranks(task.objective, columns, task)
    keys = [columns[name] for name in reversed(task.order) if name in columns]
    keys += [_exact_ranks(expr, columns, task)[1] for expr in reversed(task.prefer)]
    order = np.lexsort([*keys, ranks])
    count = task.keep
    if every_tie:
        last = ranks[order[min(count, len(order)) - 1]]
        count = min(int(np.count_nonzero(ranks <= last)), CROWD // 2)
    chosen = order[:count]
    best = {name: column[chosen] for name, column in columns.items()}
    return best, tuple(values[int(ranks[i])] for i in chosen)


def last_wanted(task: Search, columns: Columns) -> Fraction | None:
    """The cost of the last of the best ``keep`` of some points; ``None`` if they are fewer."""
    if len(next(iter(columns.values()))) < task.keep:
        return None
    values, ranks = _exact_ranks(task.objective, columns, task)
    return values[int(np.partition(ranks, task.keep - 1)[task.keep - 1])]


def survivors(task: Search, columns: Columns, ceiling: Fraction | None) -> Columns:
    """Of some points, those that are feasible and, where it is given, cost at most ``ceiling``."""
    given = {**task.constants, **columns}
    given.update({name: gathered(task, table, columns) for name, table in task.tables.items()})
    count = len(next(iter(columns.values())))
    mask = np.broadcast_to(np.asarray(mask_of(task, Evaluator(given))), (count,))
    kept = {name: column[mask] for name, column in columns.items()}
    if ceiling is None or not mask.any():
        return kept
    values, ranks = _exact_ranks(task.objective, kept, task)
    good = np.array([v <= ceiling for v in values], dtype=bool)[ranks]
    return {name: column[good] for name, column in kept.items()}


def _exact_ranks(expr: Expr | None, columns: Columns, task: Search) -> tuple[list[Fraction], Array]:
    """The distinct exact values of ``expr``, ascending, and each point's place among them."""
    constants = task.constants
    count = len(next(iter(columns.values())))
    names = [] if expr is None else [n for n in columns if n in free_names(expr)]
    hidden = () if expr is None else [n for n in task.tables if n in free_names(expr)]
    for name in hidden:
        names += [n for n in task.tables[name].names if n not in names]
    if expr is None or not names:
        alone = {n: gathered(task, task.tables[n], {}) for n in hidden}
        fixed = [0] if expr is None else _values(expr, {**constants, **alone})
        return [Fraction(fixed[0])], np.zeros(count, dtype=np.int64)
    rows, inverse = np.unique(np.stack([columns[n] for n in names]), axis=1, return_inverse=True)
    picked = dict(zip(names, rows, strict=True))
    tables = {n: gathered(task, task.tables[n], picked) for n in hidden}
    exact = [Fraction(v) for v in _values(expr, {**constants, **picked, **tables})]
    distinct = sorted(set(exact))
    place = {value: i for i, value in enumerate(distinct)}
    ranks = np.array([place[v] for v in exact], dtype=np.int64)
    return distinct, ranks[inverse.reshape(-1)]


def _values(expr: Expr, given: Mapping[str, Given]) -> list[Scalar]:
    try:
        return exactly(expr, given)
    except EvaluationError as error:
        raise named("a tie-break or the cost", error) from None


def gathered(task: Search, table: Table, points: Columns) -> Given:
    """A table at single points."""
    index: list[Array] = []
    for name in table.names:
        column = next(a.columns[name] for a in task.axes if name in a.columns)
        sorter = np.argsort(column)
        index.append(sorter[np.searchsorted(column, points[name], sorter=sorter)])
    place = tuple(index)
    values = table.values
    if isinstance(values, Truths):
        return values if isinstance(values.value, bool) else Truths(values.value[place])
    pair = [
        x if isinstance(x.a, int) else type(x)(np.asarray(x.a[place]), x.lo, x.hi)
        for x in (values.num, values.den)
    ]
    return rationals.Exact(pair[0], pair[1])


def designs(columns: Columns, order: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """The points as assignments, decisions in ``order``."""
    count = len(next(iter(columns.values()))) if columns else 0
    for i in range(count):
        yield {name: int(columns[name][i]) for name in order}
