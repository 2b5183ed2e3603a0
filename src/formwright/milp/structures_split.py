"""Near-decomposability: decisions that meet few others are settled for each value of these.

``split x, y at z`` claims that all that the constraints and the cost say of ``x`` and ``y`` is said
with ``z`` alone, and that the cost moves one way with what it says of them. Then the best of ``x``
and ``y`` is a table over ``z``, and the search goes on without them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from formwright.ir.structures import Split
from formwright.milp.declared import Declared, Used, held, reopened, unused
from formwright.milp.eliminate import LARGEST_TABLE, part_of, settled
from formwright.milp.enumerate import Search
from formwright.milp.grid import Axis, points


def split(
    task: Search, declared: Sequence[Declared], pays: bool = True
) -> tuple[list[Search], list[Used]]:
    """``task`` and searches with fewer decisions and its optimum; what became of each claim.

    It does not pay to settle decisions and bring them back for many of few designs.
    """
    chain = [replace(task, prefer=())]
    used: list[Used] = []
    for each in declared:
        if isinstance(each.structure, Split) and not pays:
            used.append(unused(each, "more designs than the best one are asked for"))
        elif isinstance(each.structure, Split):
            smaller, told = _one(chain[-1], each, each.structure)
            used.append(told)
            chain += [] if smaller is None else [smaller]
    return chain, used


def _one(task: Search, declared: Declared, claim: Split) -> tuple[Search | None, Used]:
    group = claim.decisions
    axes = [a for a in task.axes if set(group) & a.columns.keys()]
    if len(axes) < len(group):
        return None, unused(declared, "its decisions are settled already")
    if len(axes) == len(task.axes):
        return None, unused(declared, "no other decision is left")
    if points(tuple(axes)) > LARGEST_TABLE:
        return None, reopened(declared, f"{points(tuple(axes)):,} combinations are too many")
    if len(axes) > 1 and any(set(group) & set(t.names) for t in task.tables.values()):
        return None, unused(declared, "its decisions are tied to others that are settled")
    one = axes[0] if len(axes) == 1 else joint(axes)
    # Tables have their names in the order of the axes.
    order = (one if a is axes[0] else a for a in task.axes if a is axes[0] or a not in axes)
    joined = replace(task, axes=tuple(order))
    part = part_of(joined, one)
    if part is None:
        names = " and ".join(group)
        return None, reopened(declared, f"the cost does not move one way with a part for {names}")
    met = {n for a in part.near if a is not one for n in a.columns}
    if met - set(claim.at):
        more = ", ".join(sorted(met - set(claim.at)))
        return None, reopened(declared, f"they meet {more} too")
    smaller = settled(joined, one, part)
    if smaller is None:
        return None, reopened(declared, "the table of their best values would be too large")
    rest = tuple(a for a in task.axes if a not in axes)
    why = f"settled on {points(part.near):,} combinations; {points(rest):,} are left of"
    return replace(smaller, axes=rest), held(declared, f"{why} {points(task.axes):,}")


def joint(axes: Sequence[Axis]) -> Axis:
    """All combinations of some axes, as one."""
    spots = np.indices([a.length for a in axes]).reshape(len(axes), -1)
    return Axis(
        {n: c[spot] for a, spot in zip(axes, spots, strict=True) for n, c in a.columns.items()}
    )
