"""What an edit is: another template, what it is about and how likely it is; and edits in words."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from formwright.ir.template import Template

Family = Literal["order", "index", "bounds", "storage", "update", "conditions", "walls"]
"""``order``: synchronisation and the order of statements. ``index``: which cell is meant.
``bounds``: ranges, guards and clips. ``storage``: rings, homes, where storage begins.
``update``: operators and initial values. ``conditions``: the precondition and the menus.
``walls``: capacities of the chip."""

Make = Callable[[], Template]


@dataclass(frozen=True, slots=True)
class Edit:
    """``make`` gives a template with one change: there are thousands, and most are never made.

    ``lines``: of the text that it touches. ``size``: the lower, the likelier it is among those of
    its family.
    """

    make: Make
    family: Family
    lines: tuple[int, ...] = ()
    size: float = 1

    @property
    def template(self) -> Template:
        return self.make()


def told(before: str, after: str) -> str:
    """The lines of the text that changed, in words."""
    old, new = before.splitlines(), after.splitlines()
    parts = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        was = "; ".join(row.strip() for row in old[a:b])
        now = "; ".join(row.strip() for row in new[c:d])
        match tag:
            case "replace":
                parts.append(f"line {a + 1}: {was} -> {now}")
            case "delete":
                parts.append(f"line {a + 1}: without {was}")
            case "insert":
                parts.append(f"before line {a + 1}: {now}")
            case _:
                pass
    return " | ".join(parts)
