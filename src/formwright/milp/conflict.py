"""A smallest set of constraints that cannot hold together.

Each design violates some set of constraints. A set of constraints is in conflict exactly
if it meets every one of these sets, so a smallest conflict is a smallest hitting set. It
is found by asking for a design that satisfies the present hitting set, and adding what
that design violates, until there is none. A constraint without a value counts as violated.
"""

from collections.abc import Callable

from formwright.ir.template import Constraint
from formwright.milp.problem import Problem, holds

Oracle = Callable[[tuple[Constraint, ...]], dict[str, int] | None]
"""Some design that satisfies the given constraints, or ``None`` if there is none."""


def smallest_conflict(problem: Problem, some_design: Oracle) -> tuple[str, ...]:
    """Names of fewest constraints without a common design, in the order of the text.

    ``problem`` has no design that satisfies all its constraints.
    """
    empty = [n for n, menu in zip(problem.names, problem.menus, strict=True) if not menu]
    if empty:
        return (f"menu {empty[0]}",)
    violated: set[frozenset[int]] = set()
    while True:
        core = _smallest_hitting_set(violated)
        design = some_design(tuple(problem.constraints[i] for i in sorted(core)))
        if design is None:
            return tuple(problem.constraints[i].name for i in sorted(core))
        missed = _violations(problem, design)
        if not missed:
            raise AssertionError("a problem called infeasible has a design")
        violated = {v for v in violated if not missed <= v} | {missed}


def _violations(problem: Problem, design: dict[str, int]) -> frozenset[int]:
    values = {**problem.constants, **design}
    return frozenset(i for i, c in enumerate(problem.constraints) if not holds(c.condition, values))


def _smallest_hitting_set(sets: set[frozenset[int]]) -> frozenset[int]:
    """Of least size, and of these the first in order; by branching on an unmet set."""
    ordered = sorted(sets, key=lambda s: (len(s), sorted(s)))
    size = 0
    while True:
        found = _hit(ordered, frozenset(), size)
        if found is not None:
            return found
        size += 1


def _hit(sets: list[frozenset[int]], chosen: frozenset[int], budget: int) -> frozenset[int] | None:
    unmet = next((s for s in sets if not s & chosen), None)
    if unmet is None:
        return chosen
    if budget == 0:
        return None
    for element in sorted(unmet):
        found = _hit(sets, chosen | {element}, budget - 1)
        if found is not None:
            return found
    return None
