"""The names that are visible at a place of a template (rule L5)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from formwright.base.source import Span
from formwright.ir.interval import Interval
from formwright.lang.faults import Faults

Kind = Literal["integer", "number", "rational", "condition", "any"]
"""``number``: perhaps an integer (a chip field); ``rational``: a quotient; ``any``: unknown."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """``height``, ``nodes``, ``terms`` and ``degree`` are those of a definition with
    everything inlined."""

    what: str
    kind: Kind
    span: Span | None
    height: int = 1
    nodes: int = 1
    chip: bool = False
    """Its value depends on the chip."""
    terms: int = 1
    degree: int = 1
    indices: int = 0
    """Of a state variable or a definition of a transition system."""


class Names:
    """One table: a name means one thing at one place, and nothing is shadowed."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.table: dict[str, Symbol] = {}
        self.later: dict[str, str] = {}
        """What names are that have no value yet: decisions, while the scope is read."""
        self.ranges: dict[str, Interval] = {}
        """What the menus say of decisions and of definitions over them."""
        self.nodes = 0
        """Nodes of all expressions checked so far, inlined (rule L3)."""

    def declare(self, name: str, symbol: Symbol) -> bool:
        """False, with a message, when the name is taken."""
        old = self.table.get(name)
        if old is None:
            self.table[name] = symbol
            return True
        place = f" at line {old.span.line}" if old.span else ""
        self.faults.add(f'"{name}" is already {old.what}{place}', symbol.span, "take another name")
        return False

    @contextmanager
    def bound(self, names: list[tuple[str, Symbol]]) -> Iterator[None]:
        """The names hold inside the block."""
        new = [name for name, symbol in names if self.declare(name, symbol)]
        try:
            yield
        finally:
            for name in new:
                del self.table[name]
