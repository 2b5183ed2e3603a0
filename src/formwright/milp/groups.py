"""Decisions joined into groups whose feasible combinations are the columns of the MILP.

A group holds decisions that a constraint or a product ties together, as long as its
combinations stay few. Its constraints vanish: combinations that break them have no column.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Arith, Expr, MinMax, Round, Scalar
from formwright.ir.int_arrays import Array
from formwright.ir.rewrite import children, free_names
from formwright.ir.vectorise import Evaluator, Given, exact_list
from formwright.milp.enumerate import where_held
from formwright.milp.problem import Problem

FEW = 64
"""Combinations that a merged group may have."""
_MOST = 4096
"""Combinations that are looked at to see whether a merge is small enough."""


@dataclass(frozen=True, slots=True)
class Group:
    """``cells[name][i]``: the value of a decision in combination ``i``."""

    names: tuple[str, ...]
    cells: dict[str, Array]

    @property
    def count(self) -> int:
        return len(next(iter(self.cells.values())))


def grouped(problem: Problem) -> list[Group]:
    """A partition of the decisions; every group has the combinations its constraints allow."""
    menus = dict(zip(problem.names, problem.menus, strict=True))
    groups = [_group(problem, (n,), {n: np.array(m, dtype=np.int64)}) for n, m in menus.items()]
    for support in [*_constraint_supports(problem), *_product_supports(problem)]:
        groups = _merged(problem, groups, support)
    return groups


def _constraint_supports(problem: Problem) -> list[frozenset[str]]:
    names = frozenset(problem.names)
    return [free_names(c.condition) & names for c in problem.constraints]


def _product_supports(problem: Problem) -> list[frozenset[str]]:
    """Supports of the parts of the cost that are not linear, inner parts first."""
    names = frozenset(problem.names)
    found: list[frozenset[str]] = []
    seen: set[int] = set()

    def visit(expr: Expr) -> None:
        if id(expr) in seen:
            return
        seen.add(id(expr))
        for child in children(expr):
            visit(child)
        linear = isinstance(expr, Arith) and expr.op in "+-"
        if isinstance(expr, (Arith, Round, MinMax)) and not linear:
            support = free_names(expr) & names
            if len(support) > 1:
                found.append(support)

    for bound in problem.bounds:
        visit(bound.value)
    return found


def _merged(problem: Problem, groups: list[Group], support: frozenset[str]) -> list[Group]:
    touched = [g for g in groups if support & set(g.names)]
    if len(touched) < 2 or prod(g.count for g in touched) > _MOST:
        return groups
    order = tuple(n for n in problem.names if any(n in g.names for g in touched))
    places = np.indices([g.count for g in touched]).reshape(len(touched), -1)
    cells = {
        n: column[place]
        for g, place in zip(touched, places, strict=True)
        for n, column in g.cells.items()
    }
    group = _group(problem, order, cells)
    if group.count > FEW:
        return groups
    first = next(i for i, g in enumerate(groups) if g is touched[0])
    rest = [g for g in groups if not any(g is t for t in touched)]
    return [*rest[:first], group, *rest[first:]]


def _group(problem: Problem, names: tuple[str, ...], cells: dict[str, Array]) -> Group:
    """The combinations that all constraints over ``names`` alone allow."""
    decisions = set(problem.names)
    given: Mapping[str, Given] = {**problem.constants, **cells}
    evaluator = Evaluator(given)
    mask = np.ones(len(next(iter(cells.values()))), dtype=bool)
    for constraint in problem.constraints:
        support = free_names(constraint.condition) & decisions
        if support and support <= set(names):
            mask &= where_held(constraint, evaluator)
    return Group(names, {n: cells[n][mask] for n in names})


def spanned(groups: Iterable[Group], expr: Expr) -> tuple[int, ...]:
    """Places of the groups that ``expr`` reads."""
    names = free_names(expr)
    return tuple(i for i, g in enumerate(groups) if names & set(g.names))


def values_by_cell(expr: Expr, group: Group, evaluator: Evaluator) -> list[Scalar | None]:
    """The exact value of ``expr`` in each combination of one group; ``None`` where it has none."""
    try:
        return list(exact_list(evaluator, expr, group.count))
    except EvaluationError:
        return [_value_at(expr, group, evaluator, place) for place in range(group.count)]


def _value_at(expr: Expr, group: Group, evaluator: Evaluator, place: int) -> Scalar | None:
    cell = {name: int(column[place]) for name, column in group.cells.items()}
    constants = {n: v for n, v in evaluator.arrays.items() if n not in cell}
    try:
        return evaluate(expr, {**constants, **cell})  # type: ignore[dict-item]
    except EvaluationError:
        return None


def evaluator_of(problem: Problem, group: Group) -> Evaluator:
    """An exact evaluator over the combinations of one group."""
    return Evaluator({**problem.constants, **group.cells}, wide=True)
