"""Decisions that matter to one monotone term only are settled first, exactly.

If the cost reads decision ``x`` (or several that are taken as one) only inside one term, moves one
way with it, and every constraint on ``x`` reads few other decisions ``Y``, then the best ``x`` for
each value of ``Y`` is a table. What stays is a problem over the other decisions with the same
optimum; the tables also say how many designs each remaining point stands for.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formwright.ir import int_arrays as ints
from formwright.ir import rational_arrays as rationals
from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Expr, Var, num
from formwright.ir.int_arrays import Array, Ints
from formwright.ir.interval import Interval, bounds
from formwright.ir.rational_arrays import Exact
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint
from formwright.ir.vectorise import Evaluator, Given, Truths
from formwright.milp.enumerate import Search, where_held
from formwright.milp.grid import Axis, Table, blocks, known, points
from formwright.milp.monotone import direction, has_value, parts_reading, reads, replaced

LARGEST_TABLE = 1 << 18
"""Cells of the table that settles one decision."""


@dataclass(frozen=True, slots=True)
class _Term:
    """The part of the cost that reads the decision, and 1 if the cost rises with it, else -1."""

    part: Expr
    sign: int


@dataclass(frozen=True, slots=True)
class Part:
    """``near``: the axes that some decisions meet in constraints, the cost or counts."""

    near: tuple[Axis, ...]
    own: tuple[Constraint, ...]
    weights: tuple[str, ...]
    term: _Term


def eliminated(task: Search) -> list[Search]:
    """``task`` and, one decision fewer at a time, equivalent searches; the last is smallest.

    Their optima are equal. ``prefer`` and ties are left to the caller.
    """
    return further([replace(task, prefer=())])


def further(chain: list[Search]) -> list[Search]:
    """``chain`` with all that can still be settled."""
    while len(chain[-1].axes) > 1:
        current = chain[-1]
        smaller = next(filter(None, (_without(current, axis) for axis in current.axes)), None)
        if smaller is None:
            break
        chain.append(smaller)
    return chain


def _without(task: Search, axis: Axis) -> Search | None:
    """``task`` with the decisions of ``axis`` settled, or ``None`` where that is not possible."""
    part = part_of(task, axis)
    return None if part is None else settled(task, axis, part)


def settled(task: Search, axis: Axis, part: Part) -> Search | None:
    """``task`` with the decisions of ``axis`` settled; see :func:`part_of`."""
    if points(part.near) > LARGEST_TABLE:
        return None
    return _settled(task, axis, part.near, part.own, part.weights, part.term)


def part_of(task: Search, axis: Axis) -> Part | None:
    """What of ``task`` the decisions of ``axis`` matter to, if the cost moves one way with it."""
    names = frozenset(axis.columns)
    term = _term(task, names)
    if term is None:
        return None
    own = tuple(c for c in task.constraints if names & reads_of(task, c.condition))
    weights = tuple(w for w in task.weights if names & set(task.tables[w].names))
    support = {n for c in own for n in reads_of(task, c.condition)} | reads_of(task, term.part)
    support |= {n for w in weights for n in task.tables[w].names} | names
    near = tuple(a for a in task.axes if support & a.columns.keys())
    return Part(near, own, weights, term)


_NOTHING = num(0)


def _term(task: Search, own: frozenset[str]) -> _Term | None:
    objective = task.objective
    names = own | {n for n, t in task.tables.items() if own & set(t.names)}
    if objective is None or not reads(objective, names):
        return _Term(_NOTHING, 1)
    ranges = ranges_of(task)
    if not has_value(objective, ranges):
        # Settling the decision could step over points where the cost has no value.
        return None
    if len(own) == 1:
        (name,) = own
        sign = direction(objective, Var(name), ranges)
        behind = reads(objective, names - own)
        if sign is not None and not behind:
            return _Term(Var(name), sign or 1)
    for part in parts_reading(objective, own):
        if reads(objective, names, outside=part) or not free_names(part) <= ranges.keys():
            continue
        sign = direction(objective, part, ranges)
        if sign is not None:
            return _Term(part, sign or 1)
    # The name is read only through tables of decisions settled before.
    return None


def reads_of(task: Search, expr: Expr) -> set[str]:
    """Decisions that ``expr`` reads, those behind tables included."""
    found: set[str] = set()
    for name in free_names(expr):
        found |= set(task.tables[name].names) if name in task.tables else {name}
    return found


def ranges_of(task: Search) -> dict[str, Interval]:
    """What menus, constants and tables say of every name."""
    ranges: dict[str, Interval] = {}
    for axis in task.axes:
        for name, column in axis.columns.items():
            ranges[name] = Interval(int(column.min()), int(column.max()))
    for name, value in task.constants.items():
        ranges[name] = bounds(num(value), {})  # type: ignore[arg-type]
    for name, table in task.tables.items():
        if isinstance(table.values, Exact):
            num_, den = table.values.num, table.values.den
            low = min(Fraction(num_.lo, d) for d in (den.lo, den.hi))
            high = max(Fraction(num_.hi, d) for d in (den.lo, den.hi))
            ranges[name] = Interval(low, high)
        else:
            ranges[name] = Interval(0, 1)
    return ranges


def _settled(
    task: Search,
    axis: Axis,
    near: tuple[Axis, ...],
    own: tuple[Constraint, ...],
    weights: tuple[str, ...],
    term: _Term,
) -> Search | None:
    (block,) = blocks(near, LARGEST_TABLE)
    names = [next(iter(a.columns)) for a in near]
    tables = {n: t for n, t in task.tables.items() if set(t.names) <= set(names)}
    given = known(task.constants, tables, block)
    evaluator = Evaluator(given)
    mask = np.ones(block.shape, dtype=bool)
    for constraint in own:
        mask &= where_held(constraint, evaluator)
    value = _exact(evaluator, term.part)
    if value is None:
        return None
    counts: Array = mask.astype(np.int64)
    for weight in weights:
        counts = counts * _integers(given[weight])
    if counts.max(initial=0) > 2**40:
        return None
    along = near.index(axis)
    best = _least(_full(value, block.shape), mask, along, term.sign)
    kept = tuple(n for n in names if n not in axis.columns)
    possible, total = np.asarray(mask.any(along)), np.asarray(counts.sum(along))
    return _rebuilt(task, axis, own, weights, term, kept, (best, possible, total))


def _exact(evaluator: Evaluator, part: Expr) -> Exact | None:
    """The term exactly, or ``None`` where it is a condition, has no value or is too wide."""
    try:
        value = evaluator.run(part)
    except EvaluationError:
        return None
    return value if isinstance(value, Exact) and not np.any(value.bad) else None


def _integers(weight: Given) -> Array:
    assert isinstance(weight, Exact)
    return np.asarray(weight.num.a)


def _full(value: Exact, shape: tuple[int, ...]) -> Exact:
    pair = [
        x if isinstance(x.a, int) else Ints(np.broadcast_to(x.a, shape), x.lo, x.hi)
        for x in (value.num, value.den)
    ]
    return Exact(pair[0], pair[1])


def _at(value: Exact, along: int, place: int) -> Exact:
    pair = [
        x if isinstance(x.a, int) else Ints(np.take(x.a, place, axis=along), x.lo, x.hi)
        for x in (value.num, value.den)
    ]
    return Exact(pair[0], pair[1])


def _least(value: Exact, mask: Array, along: int, sign: int) -> Exact:
    """The least (``sign`` 1) or greatest value over the feasible places of one axis."""
    best = _at(value, along, 0)
    seen = np.take(mask, 0, axis=along)
    for place in range(1, mask.shape[along]):
        other = _at(value, along, place)
        left, right, _ = rationals.common(other, best, wide=True)
        ahead = np.asarray(left.a < right.a if sign > 0 else left.a > right.a, dtype=bool)
        open_ = np.take(mask, place, axis=along)
        chosen = rationals.select(open_ & (~seen | ahead), other, best, wide=True)
        assert isinstance(chosen, Exact)
        best, seen = chosen, seen | open_
    return _full(best, seen.shape)


def _rebuilt(
    task: Search,
    axis: Axis,
    own: tuple[Constraint, ...],
    weights: tuple[str, ...],
    term: _Term,
    kept: tuple[str, ...],
    result: tuple[Exact, Array, Array],
) -> Search:
    gone = frozenset(axis.columns)
    name = ".".join(axis.columns)
    best, possible, counts = result
    # Tables over the settled decisions have gone into the new ones.
    tables = {n: t for n, t in task.tables.items() if not gone & set(t.names)}
    tables[f"${name}.count"] = Table(kept, Exact(ints.of_array(np.asarray(counts)), ints.ONES))
    constraints = tuple(c for c in task.constraints if c not in own)
    if not possible.all():
        tables[f"${name}.feasible"] = Table(kept, Truths(np.asarray(possible)))
        constraints += (Constraint(f"{name} feasible", Var(f"${name}.feasible")),)
    objective = task.objective
    if term.part is not _NOTHING:
        assert objective is not None
        tables[f"${name}.best"] = Table(kept, best)
        objective = replaced(objective, term.part, Var(f"${name}.best"))
    return replace(
        task,
        axes=tuple(a for a in task.axes if a is not axis),
        constraints=constraints,
        objective=objective,
        tables=tables,
        weights=(*(w for w in task.weights if w not in weights), f"${name}.count"),
    )
