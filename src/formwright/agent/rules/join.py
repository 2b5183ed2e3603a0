"""One template of two that differ in their menus alone: what either may choose."""

from dataclasses import replace

from formwright.agent.rules.finish import finished
from formwright.agent.rules.rule import Variant
from formwright.ir.template import Decision, Template


def joined(one: Template, other: Template) -> Variant | None:
    """``one`` with the values of ``other``'s menus too, or None where their programs differ."""
    theirs = {d.name: d for d in other.decisions}
    if one.program != other.program or one.realised != other.realised or one.scope != other.scope:
        return None
    if {d.name for d in one.decisions} != theirs.keys():
        return None
    decisions = tuple(_both(d, theirs[d.name]) for d in one.decisions)
    if decisions in (one.decisions, other.decisions):
        return None
    made = finished(replace(one, decisions=decisions), one.name, costed=True)
    if made is None:
        return None
    return Variant(made, "join-menus", f"what {one.name} or {other.name} may choose")


def _both(mine: Decision, theirs: Decision) -> Decision:
    menu = tuple(sorted({*mine.menu, *theirs.menu}))
    return replace(mine, menu=menu, extra=tuple(v for v in mine.extra if v not in menu))
