"""Exact search: eliminate, enumerate what stays, then list the designs that tie."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formwright.milp.eliminate import eliminated
from formwright.milp.enumerate import (
    CROWD,
    Columns,
    Found,
    Search,
    designs,
    ranked,
    search,
    survivors,
)
from formwright.milp.grid import menu_axis, points
from formwright.milp.problem import Problem

LARGEST = 10**8
"""Points that enumeration takes on."""
_DIRECT = 1 << 17
"""Below this, enumerating at once is faster than looking for decisions to settle."""


@dataclass(frozen=True, slots=True)
class Designs:
    """The best designs in order of the tie-break rule; ``enumerated`` points were looked at.

    ``complete``: every design that ties was compared; else only the first million of them.
    """

    feasible: int
    best: tuple[tuple[dict[str, int], Fraction], ...]
    enumerated: int
    complete: bool = True


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
    chain = eliminated(task)
    left = points(chain[-1].axes)
    if left > LARGEST:
        return None
    if len(chain) == 1:
        return _listed(task, search(task, ties), left)
    found = search(chain[-1], every_tie=True)
    if not found.columns:
        return Designs(found.feasible, (), left)
    columns, complete = _expanded(chain, found)
    best, values = ranked(task, columns, ties)
    return _listed(task, Found(found.feasible, best, values), left, complete)


def _expanded(chain: list[Search], found: Found) -> tuple[Columns, bool]:
    """The best points with the settled decisions back, last settled first; and if all are."""
    columns, ceiling, complete = found.columns, found.values[-1], True
    for before, after in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        kept = {name for axis in after.axes for name in axis.columns}
        ((name, menu),) = (
            item for a in before.axes for item in a.columns.items() if item[0] not in kept
        )
        rows = max(1, CROWD // len(menu))
        complete &= len(next(iter(columns.values()))) <= rows
        crossed = {n: np.repeat(c[:rows], len(menu)) for n, c in columns.items()}
        crossed[name] = np.tile(menu, len(next(iter(crossed.values()))) // len(menu))
        columns = survivors(before, crossed, ceiling)
    return columns, complete


def _listed(task: Search, found: Found, enumerated: int, complete: bool = True) -> Designs:
    chosen = tuple(designs(found.columns, task.order))
    best = tuple(zip(chosen, found.values, strict=True))
    return Designs(found.feasible, best, enumerated, complete)
