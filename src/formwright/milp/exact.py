"""Exact search: eliminate, enumerate what stays, then list the designs that tie."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np

from formwright.ir.structures import Split
from formwright.milp.declared import Declared, Used, claimed, unused
from formwright.milp.eliminate import further
from formwright.milp.enumerate import (
    CROWD,
    Columns,
    Found,
    Search,
    designs,
    last_wanted,
    ranked,
    search,
    survivors,
)
from formwright.milp.grid import menu_axis, points
from formwright.milp.problem import Problem
from formwright.milp.structures import search_structured
from formwright.milp.structures_split import joint, split

LARGEST = 10**8
"""Points that enumeration takes on."""
_DIRECT = 1 << 17
"""Below this, enumerating at once is faster than looking for decisions to settle."""


@dataclass(frozen=True, slots=True)
class Designs:
    """The best designs in order of the tie-break rule; ``enumerated`` points were looked at.

    ``complete``: every design that ties was compared; else only the first million of them.
    ``costed``: points whose cost was computed; ``parts``: values of ranks, bounds, measures and
    of parts of the cost that were computed besides. ``used``: what became of the structures.
    """

    feasible: int
    best: tuple[tuple[dict[str, int], Fraction], ...]
    enumerated: int
    complete: bool = True
    costed: int = 0
    parts: int = 0
    used: tuple[Used, ...] = ()


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

    ``None`` if more than :data:`LARGEST` points are left after elimination. What the problem's
    structures show to be of no account is left out; the designs are the same without them.
    """
    task = search_of(problem, keep)
    declared, used = _claimed(problem)
    chain, told = split(task, declared, keep == 1 or points(task.axes) > _DIRECT)
    used += told
    if points(task.axes) > _DIRECT:
        chain = further(chain)
    left = points(chain[-1].axes)
    if left > LARGEST:
        return None
    whole = len(chain) == 1
    rest = [d for d in declared if not isinstance(d.structure, Split)]
    found, parts, told = _searched(task if whole else chain[-1], rest, ties or not whole)
    complete = True
    if not whole and found.columns:
        columns, complete, crossed = _expanded(chain, found)
        parts += crossed
        best, values = ranked(task, columns, ties)
        found = replace(found, columns=best, values=values)
    parts += sum(_cells(*pair) for pair in pairwise(chain))
    chosen = tuple(designs(found.columns, task.order))
    best_ = tuple(zip(chosen, found.values, strict=True))
    return Designs(found.feasible, best_, left, complete, found.costed, parts, (*used, *told))


def _claimed(problem: Problem) -> tuple[list[Declared], list[Used]]:
    if problem.objective is None:
        return [], [unused(d, "there is no cost") for d in problem.structures]
    return claimed(problem.structures, problem.constants, frozenset(problem.names))


def _searched(
    task: Search, declared: list[Declared], every_tie: bool
) -> tuple[Found, int, list[Used]]:
    """The best points, the values computed besides costs, and what became of the structures."""
    if not declared:
        return search(task, every_tie), 0, []
    names = frozenset(n for axis in task.axes for n in axis.columns)
    open_, told = claimed(tuple(declared), task.constants, names)
    structured = search_structured(task, open_, every_tie)
    if structured is None:
        why = "there are too many designs to list"
        return search(task, every_tie), 0, [*told, *(unused(d, why) for d in open_)]
    return structured.found, structured.parts, [*told, *structured.used]


def _cells(before: Search, after: Search) -> int:
    """Combinations that were looked at to settle a decision."""
    gone = [a.length for a in before.axes if a not in after.axes]
    new = [t for n, t in after.tables.items() if n not in before.tables and n.endswith(".count")]
    lengths = {n: a.length for a in before.axes for n in a.columns}
    return sum(prod(lengths[n] for n in t.names) * prod(gone) for t in new)


def _expanded(chain: list[Search], found: Found) -> tuple[Columns, bool, int]:
    """The best points with the settled decisions back, last settled first; if all are; and how many
    were compared.

    Points above the cost of the last one wanted go; while there are fewer than that, none does.
    """
    columns, complete, compared = found.columns, True, 0
    keep = chain[0].keep
    ceiling = found.values[keep - 1] if len(found.values) >= keep else None
    for before, after in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        kept = {name for axis in after.axes for name in axis.columns}
        gone = [a for a in before.axes if not kept & a.columns.keys()]
        menus = joint(gone)
        rows = max(1, CROWD // menus.length)
        complete &= len(next(iter(columns.values()))) <= rows
        crossed = {n: np.repeat(c[:rows], menus.length) for n, c in columns.items()}
        times = len(next(iter(crossed.values()))) // menus.length
        crossed.update({n: np.tile(c, times) for n, c in menus.columns.items()})
        compared += len(next(iter(crossed.values())))
        columns = survivors(before, crossed, ceiling)
        if ceiling is None:
            ceiling = last_wanted(before, columns)
    return columns, complete, compared
