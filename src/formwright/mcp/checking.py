"""A call as a client made it, looked at before a process is started for it: the allow-lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.chip.load import LOCAL, shipped_chips
from formwright.mcp.asked import Asked, Method
from formwright.mcp.fixed import Fixed, FixedProblem
from formwright.mcp.limits import DESIGNS, ENTRIES, TEXT_BYTES, WORDS, Kind

MOST: Final = 1 << 40
"""The largest extent or decision, as on the command line."""
MOST_SECONDS: Final = 120.0
_NEEDS: Final[frozenset[Kind]] = frozenset({"build", "measure", "qualify"})
"""Kinds that a contract, a reference and a benchmark are needed for."""
_ALONE: Final[frozenset[Kind]] = frozenset({"check", "solve"})
"""Kinds that may do with a chip and extents in the place of a problem."""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one tool."""

    kind: Kind
    template: str = ""
    problem: str = ""
    workload: str = ""
    chip: str = ""
    extents: Mapping[str, int] | None = None
    assignments: tuple[Mapping[str, int], ...] = ()
    method: Method = "auto"
    seconds: float = 60.0
    words: str = ""
    parents: tuple[str, ...] = ()
    shelf: bool = False
    shown: bool = False


def settled(call: Call, fixed: Fixed) -> Asked:
    """What a child is asked for. Raises ``InputError`` with all that no call may say."""
    faults = [*_sizes(call), *_numbers(call)]
    stands_alone = call.kind in _ALONE and bool(call.chip or call.extents)
    if stands_alone:
        faults += _machine(call)
    if faults:
        raise InputError(faults)
    return Asked(
        kind=call.kind,
        folder=Path(),
        population=fixed.population,
        template=call.template,
        problem=None if stands_alone else _problem(call, fixed),
        workload=call.workload,
        chip=call.chip,
        extents=dict(call.extents or {}),
        assignments=call.assignments,
        method=call.method,
        seconds=call.seconds,
        words=call.words,
        parents=call.parents,
        shelf=call.shelf,
        shown=call.shown,
    )


def _problem(call: Call, fixed: Fixed) -> FixedProblem | None:
    """The problem that the call is about; those that can do without take it where it is plain."""
    if call.kind in _NEEDS or call.kind in _ALONE or call.problem:
        found = fixed.problem(call.problem)
        found.workload(call.workload)
        return found
    searching = call.kind == "search" and (call.words or call.template)
    if call.kind in ("show", "prove") or searching or len(fixed.problems) != 1:
        return None
    return fixed.problem("")


def _sizes(call: Call) -> list[Diagnostic]:
    found = []
    # What is no Unicode is told by the child; here it only has a size.
    if len(call.template.encode(errors="surrogatepass")) > TEXT_BYTES:
        found.append(Diagnostic(f"the text is larger than {TEXT_BYTES} bytes"))
    if len(call.words) > WORDS:
        found.append(Diagnostic(f"more than {WORDS} characters of words", hint="say it shorter"))
    if len(call.parents) > ENTRIES or any(len(p) > ENTRIES for p in call.parents):
        found.append(Diagnostic("parents are digests of the population", hint="64 at most"))
    if len(call.assignments) > DESIGNS:
        found.append(Diagnostic(f"more than {DESIGNS} designs in one job", hint="measure again"))
    if not 1 <= call.seconds <= MOST_SECONDS:
        found.append(Diagnostic(f"seconds are from 1 to {MOST_SECONDS:.0f}"))
    return found


def _numbers(call: Call) -> list[Diagnostic]:
    found = []
    for what, values in (
        ("extents", call.extents or {}),
        *(("an assignment", a) for a in call.assignments),
    ):
        if len(values) > ENTRIES or any(not n.isidentifier() or len(n) > ENTRIES for n in values):
            found.append(Diagnostic(f"{what}: names and integers, {ENTRIES} at most"))
        elif any(abs(v) > MOST for v in values.values()):
            found.append(Diagnostic(f"{what}: no number is beyond {MOST}"))
    return found


def _machine(call: Call) -> list[Diagnostic]:
    if call.problem or call.workload:
        told = "a problem has its own chip and extents"
        return [Diagnostic(told, hint="leave out chip and extents, or the problem")]
    known = (LOCAL, *shipped_chips())
    if not call.chip:
        hint = f"name one (chips: {', '.join(known)}), or leave out extents for a problem's own"
        return [Diagnostic("extents without a chip", hint=hint)]
    if call.chip in known:
        return []
    hint = nearest(call.chip[:64], known) or f"chips: {', '.join(known)}"
    return [Diagnostic("no chip of that name", hint=hint)]
