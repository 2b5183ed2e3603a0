"""The designs of a template on any chip: combinations that the chip-free constraints allow.

Decisions are joined where a constraint ties them, smallest product first, so that a condition
such as ``C mod (sC*C1) = 0`` cuts its own few decisions before anything is multiplied out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from formwright.base.diagnostics import fail
from formwright.ir.expr import Expr, Scalar
from formwright.ir.int_arrays import Array
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint
from formwright.ir.vectorise import Evaluator, Given
from formwright.milp.enumerate import where_held
from formwright.milp.grid import Axis, Block, blocks, menu_axis

LARGEST_JOIN = 10**8
"""Combinations that are looked at to apply one constraint."""

LARGEST = 5 * 10**8
"""Designs of one template and kernel that are looked at."""


@dataclass(frozen=True, slots=True)
class Designs:
    """A product of axes, each with the combinations that its own constraints allow."""

    axes: tuple[Axis, ...]
    constants: Mapping[str, Scalar]

    @property
    def count(self) -> int:
        return prod(axis.length for axis in self.axes)

    def blocks(self, size: int) -> "Sequence[Block]":
        return list(blocks(self.axes, size))

    def columns(self, block: Block, places: Array) -> dict[str, Array]:
        """The decisions at flat places of a block, in ``int32`` where they fit."""
        return block.coordinates(places)


def designs_of(
    names: Sequence[str],
    menus: Sequence[tuple[int, ...]],
    constraints: Sequence[Constraint],
    constants: Mapping[str, Scalar],
    what: str,
) -> Designs:
    """The product of ``menus`` under ``constraints``, which read decisions and constants only.

    Constraints stand in the order of the text: an earlier one may guard a later one (a condition
    without a value counts as false). Raises :class:`InputError` where too many combinations would
    have to be looked at; ``what`` names the template and the kernel.
    """
    axes = {name: menu_axis(name, menu) for name, menu in zip(names, menus, strict=True)}
    groups: list[tuple[tuple[str, ...], Axis]] = [((n,), a) for n, a in axes.items()]
    if not groups:
        groups = [(("$point",), menu_axis("$point", (0,)))]
    open_ = list(constraints)
    while open_:
        chosen = min(open_, key=lambda c: _touched_size(groups, c))
        size = _touched_size(groups, chosen)
        if size > LARGEST_JOIN:
            raise fail(
                f"{what}: constraint {chosen.name} would be tried on {size:.2g} combinations",
                chosen.span,
                "split it into conditions over fewer decisions, or shorten a menu",
            )
        groups = _joined(groups, chosen, constants)
        done = [c for c in open_ if c is chosen]
        open_ = [c for c in open_ if not any(c is d for d in done)]
    found = Designs(tuple(axis for _, axis in groups), constants)
    if found.count > LARGEST:
        raise fail(
            f"{what}: {found.count:.2g} designs are more than {LARGEST:.0e}",
            None,
            "shorten a menu or add constraints that do not read the chip",
        )
    return found


def _touched(
    groups: Sequence[tuple[tuple[str, ...], Axis]], expr: Expr
) -> list[tuple[tuple[str, ...], Axis]]:
    names = free_names(expr)
    return [g for g in groups if names & set(g[0])]


def _touched_size(groups: Sequence[tuple[tuple[str, ...], Axis]], constraint: Constraint) -> int:
    return prod(a.length for _, a in _touched(groups, constraint.condition))


def _joined(
    groups: list[tuple[tuple[str, ...], Axis]],
    constraint: Constraint,
    constants: Mapping[str, Scalar],
) -> list[tuple[tuple[str, ...], Axis]]:
    """The groups that the constraint reads as one, with what it allows."""
    touched = _touched(groups, constraint.condition)
    if not touched:
        # It reads no decision: it holds for all designs or for none.
        held = bool(np.all(where_held(constraint, Evaluator(dict(constants)))))
        return groups if held else [(n, _cut(a, np.zeros(a.length, bool))) for n, a in groups]
    names = tuple(n for group, _ in touched for n in group)
    parts: list[dict[str, Array]] = []
    for block in blocks(tuple(a for _, a in touched)):
        given: dict[str, Given] = {**constants, **block.arrays}
        mask = np.broadcast_to(np.asarray(where_held(constraint, Evaluator(given))), block.shape)
        parts.append(block.coordinates(np.flatnonzero(mask)))
    columns = {
        name: np.concatenate([p[name] for p in parts]) if parts else np.empty(0, dtype=np.int64)
        for name in names
    }
    first = next(i for i, g in enumerate(groups) if g is touched[0])
    kept = [g for g in groups if not any(g is t for t in touched)]
    at = sum(1 for g in groups[:first] if not any(g is t for t in touched))
    return [*kept[:at], (names, Axis(columns)), *kept[at:]]


def _cut(axis: Axis, mask: Array) -> Axis:
    return Axis({name: column[mask] for name, column in axis.columns.items()})
