"""Exact search: eliminate, enumerate what stays, then list the designs that tie."""

from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.milp.eliminate import eliminated
from formwright.milp.enumerate import Found, Search, designs, search
from formwright.milp.grid import Axis, menu_axis, points
from formwright.milp.problem import Problem

LARGEST = 10**8
"""Points that enumeration takes on."""
_DIRECT = 1 << 17
"""Below this, enumerating at once is faster than looking for decisions to settle."""


@dataclass(frozen=True, slots=True)
class Designs:
    """The best designs in order of the tie-break rule; ``enumerated`` points were looked at."""

    feasible: int
    best: tuple[tuple[dict[str, int], Fraction], ...]
    enumerated: int


def search_of(problem: Problem, keep: int = 1) -> Search:
    """The whole grid of ``problem`` as a search; every menu has a value."""
    axes = tuple(menu_axis(n, m) for n, m in zip(problem.names, problem.menus, strict=True))
    return Search(
        axes=axes or (menu_axis("$point", (0,)),),
        constants=dict(problem.constants),
        constraints=problem.constraints,
        objective=problem.objective,
        prefer=problem.prefer,
        order=problem.names,
        keep=keep,
    )


def best_designs(problem: Problem, keep: int = 1, ties: bool = False) -> Designs | None:
    """The best ``keep`` designs (with ``ties``, and all that tie with the last of them).

    ``None`` if more than :data:`LARGEST` points are left after elimination.
    """
    task = search_of(problem, keep)
    if points(task.axes) <= _DIRECT:
        return _listed(task, search(task, ties), points(task.axes))
    reduced = eliminated(task, LARGEST)
    left = points(reduced.axes)
    if left > LARGEST:
        return None
    if len(reduced.axes) == len(task.axes):
        return _listed(task, search(task, ties), left)
    found = search(reduced, every_tie=True)
    if not found.columns:
        return Designs(found.feasible, (), left)
    expanded = _expanded(task, reduced, found)
    again = search(replace(task, axes=expanded), ties)
    return _listed(task, replace(again, feasible=found.feasible), left + points(expanded))


def _expanded(task: Search, reduced: Search, found: Found) -> tuple[Axis, ...]:
    """The settled decisions, all their values, beside the best points of the others."""
    kept = {name for axis in reduced.axes for name in axis.columns}
    rest = tuple(a for a in task.axes if not kept & a.columns.keys())
    rows = max(1, LARGEST // points(rest))
    return (Axis({n: c[:rows] for n, c in found.columns.items()}), *rest)


def _listed(task: Search, found: Found, enumerated: int) -> Designs:
    chosen = tuple(designs(found.columns, task.order))
    return Designs(found.feasible, tuple(zip(chosen, found.values, strict=True)), enumerated)
