"""What can be wrong with a run of the fine system."""

from dataclasses import dataclass
from typing import assert_never

from formwright.ir.expr import Scalar
from formwright.replay.system.blank import Blank


@dataclass(frozen=True, slots=True)
class WrongResult:
    """The fine system ends with a result that no run of the coarse one has.

    ``expected``: what the coarse system computes, each possible result once.
    """

    result: tuple[Scalar, ...]
    expected: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True, slots=True)
class Stuck:
    """Not final, and no action can act. ``waits``: what each agent or unit waits for."""

    waits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """An index or a variable left its range, or an expression has no value here."""

    what: str


@dataclass(frozen=True, slots=True)
class Endless:
    """Internal work that comes back to the same state; the last ``length`` steps repeat."""

    length: int


@dataclass(frozen=True, slots=True)
class CoarseCannot:
    """The coarse action that the match names can't act where the coarse system stands."""

    call: str
    why: str


@dataclass(frozen=True, slots=True)
class EmitsDiffer:
    """The world sees ``fine`` where the coarse system would show ``coarse``."""

    fine: tuple[Scalar, ...]
    coarse: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class EndsApart:
    """The fine system is final where the matched coarse one is not, or has another result.

    ``coarse``: its result, ``None`` when it isn't final. Some other run of the coarse system
    may have the fine result.
    """

    result: tuple[Scalar, ...]
    coarse: tuple[Scalar, ...] | None


Finding = WrongResult | Stuck | OutOfRange | Endless | CoarseCannot | EmitsDiffer | EndsApart


def is_fault(finding: Finding) -> bool:
    """A fault of the design, whatever the match says; the others are told when there is none."""
    match finding:
        case WrongResult() | Stuck() | OutOfRange() | Endless():
            return True
        case CoarseCannot() | EmitsDiffer() | EndsApart():
            return False
        case _:
            assert_never(finding)


def sentence(finding: Finding) -> str:
    """The defect in words."""
    match finding:
        case WrongResult(result, expected):
            wanted = " or ".join(values(e) for e in expected) or "no result at all"
            return f"wrong result: {values(result)}, the coarse system computes {wanted}"
        case Stuck(waits):
            rest = f": {'; '.join(waits)}" if waits else ""
            return f"stuck: not final, and no action can act{rest}"
        case OutOfRange(what):
            return f"out of range: {what}"
        case Endless(1):
            return "endless: the last step can be repeated for ever and is internal work"
        case Endless(length):
            return f"endless: the last {length} steps can be repeated for ever, all internal work"
        case CoarseCannot(call, why):
            return f"the coarse system can't do {call}: {why}"
        case EmitsDiffer(fine, coarse):
            return f"the world sees {values(fine)} where it should see {values(coarse)}"
        case EndsApart(_, None):
            return "the fine system ends before the coarse one"
        case EndsApart(result, coarse):
            ended = () if coarse is None else coarse
            return f"ends with {values(result)}, the matched coarse run with {values(ended)}"
        case _:
            assert_never(finding)


def values(several: tuple[Scalar, ...]) -> str:
    """``3``, ``(1, true)``, ``nothing``."""
    shown = [scalar(v) for v in several]
    if not shown:
        return "nothing"
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def scalar(value: Scalar | Blank) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
