"""Decisions of a template that came from another: fixed, carried or reopened, in coupled groups.

A group holds decisions that a constraint or a requirement ties together. A group with a decision
that the parent did not have is carried: all of it stays open, since what was best without the new
decision need not be so with it. The others keep the values that were best for the parent, and are
reopened, all of a group at once, when the child is not faster with them than the parent was.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from formwright.contract.problem import Workload
from formwright.flow.agent_room import Made, Room
from formwright.flow.loop import Tally
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names
from formwright.ir.template import Template

Fixed = Mapping[str, Mapping[str, int]]


def holding(room: Room, workload: Workload, number: int, names: Sequence[str]) -> Fixed:
    """By template, the decisions that round ``number`` keeps; the journal says why, by group."""
    found: dict[str, Any] = room.setting.journal.step(
        f"groups/{workload.name}/{number}", partial(_all, room, workload, names)
    )
    return {name: told["fixed"] for name, told in found.items()}


def _all(room: Room, workload: Workload, names: Sequence[str]) -> dict[str, Any]:
    made = {name: room.named(name) for name in names}
    return {
        name: told
        for name, one in made.items()
        if one is not None and (told := _of(room, workload, one)) is not None
    }


def _of(room: Room, workload: Workload, made: Made) -> dict[str, Any] | None:
    """``None`` where there is no parent to take values from, or no decision is new."""
    tally = room.tally(workload)
    parent = _parent(room, made, tally)
    if parent is None:
        return None
    best, values = parent
    template = room.setting.templates[made.key].template
    menus = {d.name: d.menu for d in template.decisions}
    inherited = {n for n, v in values.items() if v in menus.get(n, ())}
    groups = coupled(template)
    carried = [g for g in groups if not g <= inherited]
    settled = [g for g in groups if g <= inherited]
    if not carried or not settled:
        return None
    tried = [tally.seconds[k] for k, c in tally.candidates.items() if c.template == made.key]
    told = {"parent": best, "carried": [sorted(g) for g in carried]}
    if tried and min(tried) >= tally.seconds[best]:
        why = f"{min(tried) / tally.seconds[best]:.3g} times the time of the parent's best"
        return told | {"fixed": {}, "reopened": [sorted(g) for g in settled], "why": why}
    kept = {name: values[name] for group in settled for name in sorted(group)}
    why = "tied to nothing that is new" if not tried else "faster with them than the parent"
    return told | {"fixed": kept, "reopened": [], "why": why}


def _parent(room: Room, made: Made, tally: Tally) -> tuple[str, Mapping[str, int]] | None:
    """The best measured design of a parent: its key and its assignment."""
    keys = {m.key for m in room.made if m.key and m.digest in made.parents}
    mine = [k for k, c in tally.candidates.items() if c.template in keys]
    if not mine:
        return None
    best = min(mine, key=lambda k: (tally.seconds[k], k))
    return best, tally.candidates[best].assignment


def coupled(template: Template) -> list[frozenset[str]]:
    """The decisions in groups, in the order of the template: what a condition has in common."""
    whole = inlined(template)
    names = [d.name for d in whole.decisions]
    groups = {name: {name} for name in names}
    conditions = [c.condition for c in whole.constraints] + [r.condition for r in whole.requires]
    for condition in conditions:
        together = free_names(condition)
        merged: set[str] = set().union(*(groups[n] for n in names if n in together))
        for name in merged:
            groups[name] = merged
    return list(dict.fromkeys(frozenset(groups[name]) for name in names))
