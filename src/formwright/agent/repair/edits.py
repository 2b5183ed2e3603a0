"""What an edit is: another template, in words, with what it is about and how small it is."""

from dataclasses import dataclass
from typing import Literal

from formwright.ir.template import Template

Family = Literal["order", "index", "bounds", "storage", "update", "conditions", "walls"]
"""``order``: synchronisation and the order of statements. ``index``: which cell is meant.
``bounds``: ranges, guards and clips. ``storage``: rings, homes, where storage begins.
``update``: operators and initial values. ``conditions``: the precondition and the menus.
``walls``: capacities of the chip."""


@dataclass(frozen=True, slots=True)
class Edit:
    """``template`` with one change. ``lines``: of the text that it touches. ``size``: the lower,
    the likelier it is among those of its family."""

    template: Template
    family: Family
    words: str
    lines: tuple[int, ...] = ()
    size: float = 1
