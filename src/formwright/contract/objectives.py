"""What a problem wants of a kernel: the goal among measured candidates, ceilings on the rest."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from formwright.base.diagnostics import Diagnostic, nearest
from formwright.base.source import Span
from formwright.base.toml import Document

Goal = Literal["latency", "throughput", "tail", "memory", "code_size", "energy"]
GOALS: Final[tuple[Goal, ...]] = get_args(Goal)

MOST_BYTES: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Ceilings:
    """A candidate above one is refused; ``None`` is no ceiling.

    ``memory_bytes``: scratch and packed inputs of one call. ``code_bytes``: machine code of the
    library. ``p99_ratio``: its slowest calls (p99) over its usual ones (p50).
    """

    memory_bytes: int | None = None
    code_bytes: int | None = None
    p99_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Objective:
    """``goal``: what the winner among the candidates that hold is best at."""

    goal: Goal = "latency"
    ceilings: Ceilings = Ceilings()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def tails(self) -> bool:
        """Whether the slow calls of every candidate must be measured."""
        return self.goal == "tail" or self.ceilings.p99_ratio is not None


LATENCY: Final = Objective()


def read_objective(document: Document) -> tuple[Objective, list[Diagnostic]]:
    """``objective`` and ``[ceilings]`` of a problem file, with every fault of them."""
    faults: list[Diagnostic] = []
    table = document.table
    text = table.get("objective", "latency")
    goal = next((g for g in GOALS if g == text), None)
    span = document.value("objective")
    if goal is None:
        hint = (nearest(text, GOALS) if isinstance(text, str) else None) or _KNOWN
        faults.append(Diagnostic(f"unknown objective {text!r}", span, hint))
    ceilings = table.get("ceilings", {})
    if not isinstance(ceilings, dict):
        place = document.value("ceilings")
        faults.append(Diagnostic("ceilings is not a table", place, "write [ceilings] on a line"))
        ceilings = {}
    faults += document.unknown(("ceilings",), ceilings, ("memory_bytes", "code_bytes", "p99_ratio"))
    found = Ceilings(
        _bytes(document, ceilings, "memory_bytes", faults),
        _bytes(document, ceilings, "code_bytes", faults),
        _ratio(document, ceilings, faults),
    )
    return Objective(goal or "latency", found, span), faults


_KNOWN: Final = f"known: {', '.join(GOALS)}"


def _bytes(
    document: Document, table: dict[str, Any], name: str, faults: list[Diagnostic]
) -> int | None:
    value = table.get(name)
    if value is None:
        return None
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_BYTES
    if not good:
        place = document.value("ceilings", name)
        hint = f"write a whole number of bytes, as in {name} = 65536"
        faults.append(Diagnostic(f"{name} is no number of bytes", place, hint))
        return None
    return int(value)


def _ratio(document: Document, table: dict[str, Any], faults: list[Diagnostic]) -> float | None:
    value = table.get("p99_ratio")
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 1 <= value <= 1000:
        place = document.value("ceilings", "p99_ratio")
        hint = "write p99 over p50 of a kernel's own calls, 1 .. 1000, as in p99_ratio = 1.5"
        faults.append(Diagnostic("p99_ratio is no ratio of a tail", place, hint))
        return None
    return float(value)
