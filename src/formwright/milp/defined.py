"""Whether every condition and cost has a value wherever it is looked at.

At a design the constraints are looked at in the order of the text, up to the first one that
fails: an earlier constraint guards the later ones. The cost and the tie-breaks are looked at
where every constraint holds. Once that is known, a condition without a value counts as
false everywhere, in whatever order a method takes the constraints.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Expr, Scalar, num
from formwright.ir.int_arrays import Array
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint
from formwright.ir.vectorise import Evaluator, Given
from formwright.milp.enumerate import Search, first_feasible, mask_of
from formwright.milp.grid import Block, blocks, menu_axis
from formwright.milp.monotone import has_value
from formwright.milp.problem import Problem

LARGEST_GRID = 10**7
"""Combinations that are looked at to see that the earlier constraints guard a later one."""

Names = frozenset[str]


def require_values(problem: Problem) -> None:
    """Raises :class:`InputError` with every constraint, cost or tie-break that lacks a value
    at a design where it is looked at, and one such design."""
    ranges = _ranges(problem)
    faults: list[Diagnostic] = []
    for place, constraint in enumerate(problem.constraints):
        if not has_value(constraint.condition, ranges):
            what = f"constraint {constraint.name}"
            earlier = problem.constraints[:place]
            faults += _lacking(problem, what, constraint.condition, earlier, strict=True)
            if faults:
                # What stands below is not looked at where this one has no value.
                raise InputError(faults)
    parts = [] if problem.objective is None else [("the cost", problem.objective)]
    parts += [(f"tie-break {i + 1}", e) for i, e in enumerate(problem.prefer)]
    for what, expr in parts:
        if not has_value(expr, ranges):
            faults += _lacking(problem, what, expr, problem.constraints, strict=False)
    if faults:
        raise InputError(faults)


def _ranges(problem: Problem) -> dict[str, Interval]:
    menus = zip(problem.names, problem.menus, strict=True)
    ranges = {n: Interval(min(m), max(m)) for n, m in menus}
    return ranges | {name: bounds(num(v), {}) for name, v in problem.constants.items()}


def _lacking(
    problem: Problem, what: str, expr: Expr, earlier: Sequence[Constraint], strict: bool
) -> list[Diagnostic]:
    """The fault, if ``expr`` lacks a value where all of ``earlier`` hold.

    Where the grid is too large to tell, that is a fault if ``strict``, else none.
    """
    decisions = frozenset(problem.names)
    own = free_names(expr) & decisions
    near = [c for c in earlier if free_names(c.condition) & decisions <= own]
    if _size(problem, own) > LARGEST_GRID:
        return [_too_large(what, expr)] if strict else []
    if _first(problem, what, expr, own, near) is None:
        return []
    (names, conditions), *others = _components(earlier, decisions, own)
    if max(_size(problem, n) for n in (names, *(n for n, _ in others))) > LARGEST_GRID:
        return [_too_large(what, expr)] if strict else []
    if any(first_feasible(_search(problem, n, c)) is None for n, c in others):
        return []
    fault = _first(problem, what, expr, names, conditions)
    return [] if fault is None else [fault]


def _components(
    constraints: Sequence[Constraint], decisions: Names, own: Names
) -> list[tuple[Names, list[Constraint]]]:
    """Constraints joined where they share decisions; the part with ``own`` is the first."""
    rest = [(c, free_names(c.condition) & decisions) for c in constraints]
    parts: list[tuple[Names, list[Constraint]]] = []
    start = own
    while True:
        names = start
        while grown := frozenset().union(*(r for _, r in rest if r & names)) - names:
            names |= grown
        first = [rest[0][0]] if parts and not start else []
        inside = [c for c, r in rest if r & names or c in first]
        parts.append((names, inside))
        rest = [(c, r) for c, r in rest if not any(c is i for i in inside)]
        if not rest:
            return parts
        start = rest[0][1]


def _search(problem: Problem, names: Names, conditions: Sequence[Constraint]) -> Search:
    menus = zip(problem.names, problem.menus, strict=True)
    axes = tuple(menu_axis(n, m) for n, m in menus if n in names)
    return Search(
        axes=axes or (menu_axis("$point", (0,)),),
        constants=dict(problem.constants),
        constraints=tuple(conditions),
        objective=None,
        prefer=(),
        order=(),
    )


def _first(
    problem: Problem, what: str, expr: Expr, names: Names, guards: Sequence[Constraint]
) -> Diagnostic | None:
    """The first combination without a value that the guards let through."""
    task = _search(problem, names, guards)
    for block in blocks(task.axes):
        given: dict[str, Given] = {**task.constants, **block.arrays}
        evaluator = Evaluator(given)
        mask = np.broadcast_to(np.asarray(mask_of(task, evaluator)), block.shape)
        if not mask.any():
            continue
        try:
            bad = np.broadcast_to(np.asarray(evaluator.run(expr).bad), block.shape) & mask
        except EvaluationError as error:
            return _fault(what, error, "")
        if bad.any():
            return _at(problem, what, expr, block, bad)
    return None


def _at(problem: Problem, what: str, expr: Expr, block: Block, bad: Array) -> Diagnostic:
    found = block.coordinates(np.array([int(np.argmax(bad))]))
    point: dict[str, Scalar] = {n: int(c[0]) for n, c in found.items() if n in problem.names}
    read = {n: v for n, v in (problem.constants | point).items() if n in free_names(expr)}
    shown = ", ".join(f"{n} = {v}" for n, v in sorted(read.items()))
    try:
        evaluate(expr, {**problem.constants, **point})
    except EvaluationError as error:
        return _fault(what, error, f", at {shown}" if shown else "")
    return _fault(what, EvaluationError("a value is missing", expr.span), f", at {shown}")


def _fault(what: str, error: EvaluationError, where: str) -> Diagnostic:
    hint = "guard it by a constraint above, by a condition, or keep the value out of the menu"
    return Diagnostic(f"{what} has no value: {error.message}{where}", error.span, hint)


def _too_large(what: str, expr: Expr) -> Diagnostic:
    return Diagnostic(
        f"{what} may have no value; there are too many designs to see if it is guarded above",
        expr.span,
        "guard it where it stands: divisor >= 1 and …",
    )


def _size(problem: Problem, names: Names) -> int:
    menus: Mapping[str, tuple[int, ...]] = dict(zip(problem.names, problem.menus, strict=True))
    return prod(len(menus[n]) for n in names)
