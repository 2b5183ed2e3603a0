"""The replayer: from a solver's claim to a defect that a run has reached, or nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Literal

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, For, If, Par, Stmt
from formwright.ir.template import Template
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample
from formwright.replay.adversary import adversarial, orderly
from formwright.replay.judge import ORDER_CONDITIONS, Finding, finding
from formwright.replay.narrative import trace
from formwright.replay.runner import Outcome, Prepared, prepare, run_prepared
from formwright.replay.schedule import TEXTUAL, Schedule
from formwright.replay.settled import broken_requirement, empty_menu, overflow
from formwright.replay.sizes import (
    Family,
    Values,
    candidates,
    family,
    full_sizes,
    products,
    smaller,
)

DEFAULT_SECONDS = 5.0
RUN_BUDGET = 60_000
FULL_SIZE_PRODUCTS = 20_000
"""Points of the workload up to which a miniature is repeated with the menus' sizes."""
FULL_SIZE_SECONDS = 1.5

_EMPTY_REDUCTION = frozenset({"defined", "coverage"})


@dataclass(frozen=True, slots=True)
class Caught:
    """A schedule that reaches a defect at some values."""

    values: Values
    schedule: Schedule
    found: Finding


def replay(
    template: Template, refutation: Refutation, seconds: float = DEFAULT_SECONDS
) -> Counterexample | None:
    """Reaches a defect that bears out ``refutation`` from the initial state.

    ``None`` when none was found in ``seconds``: then the claim is unresolved.
    """
    closed = inlined(template) if template.definitions else template
    base = {name: _plain(value) for name, value in refutation.values.items()}
    condition = refutation.condition
    text = _settled(closed, base, condition)
    if text is not None:
        return Counterexample(_shown(base), text, True)
    if condition in ("implied", "menu", "fits"):
        return None
    return _search(family(closed, base), condition, monotonic() + seconds)


def _settled(template: Template, values: Values, condition: str) -> str | None:
    match condition:
        case "implied":
            return broken_requirement(template, values)
        case "menu":
            return empty_menu(template, values)
        case "fits":
            return overflow(template, values)
        case _:
            return None


def _search(around: Family, condition: str, deadline: float) -> Counterexample | None:
    for number, values in enumerate(candidates(around, condition in _EMPTY_REDUCTION)):
        if monotonic() > deadline:
            return None
        caught = _attack(around, values, condition, deadline)
        if caught is None:
            continue
        if number > 0:
            caught = _shrunk(around, caught, condition, deadline)
        return _told(around, caught, condition, deadline)
    return None


def _attack(around: Family, values: Values, condition: str, deadline: float) -> Caught | None:
    """Runs the condition's schedules at these values until one shows the defect."""
    try:
        prepared = prepare(around.template, values)
    except EvaluationError:
        return None
    known = run_prepared(prepared, TEXTUAL, RUN_BUDGET)
    if known.status == "budget":
        return None
    for schedule in _schedules(around, known, values, condition):
        if monotonic() > deadline:
            return None
        caught = _try(prepared, values, schedule, condition, known)
        if caught is not None:
            return caught
    return None


def _try(
    prepared: Prepared, values: Values, schedule: Schedule, condition: str, known: Outcome
) -> Caught | None:
    outcome = known
    if schedule != TEXTUAL:
        outcome = run_prepared(prepared, schedule, RUN_BUDGET)
    found = finding(condition, outcome, known)
    return None if found is None else Caught(values, schedule, found)


def _schedules(
    around: Family, known: Outcome, values: Values, condition: str
) -> Iterator[Schedule]:
    if condition not in ORDER_CONDITIONS:
        return orderly()
    agents = max((int(values[a]) for a in around.agents), default=1)
    return adversarial(known.barriers, agents, _has_async(around.template.program))


def _has_async(body: tuple[Stmt, ...]) -> bool:
    for stmt in body:
        if isinstance(stmt, Apply) and stmt.asynchronous:
            return True
        if isinstance(stmt, For | Par | If) and _has_async(stmt.body):
            return True
    return False


def _shrunk(around: Family, caught: Caught, condition: str, deadline: float) -> Caught:
    """Smaller values while the same schedule, or the textual order, shows the defect."""
    progress = True
    while progress and monotonic() < deadline:
        progress = False
        for values in smaller(around, caught.values):
            less = _again(around, values, caught.schedule, condition)
            if less is not None:
                caught, progress = less, True
                break
    return caught


def _again(around: Family, values: Values, schedule: Schedule, condition: str) -> Caught | None:
    try:
        prepared = prepare(around.template, values)
        known = run_prepared(prepared, TEXTUAL, RUN_BUDGET)
        return _try(prepared, values, schedule, condition, known)
    except EvaluationError:
        return None


def _told(around: Family, caught: Caught, condition: str, deadline: float) -> Counterexample | None:
    """The counterexample in words. A miniature whose full size shows nothing is no evidence."""
    sizes = around.miniature(caught.values)
    note = ""
    repeated: tuple[str, ...] = ()
    if sizes:
        note = f"\nminiature: {', '.join(sizes)} stand for the menu's tiles"
        real = _at_full_size(around, caught, condition, deadline)
        if real == "nothing":
            return None
        if isinstance(real, Caught):
            repeated = (f"with {_named(around, real.values)}: {real.found.sentence}",)
    prepared = prepare(around.template, caught.values)
    traced = run_prepared(prepared, caught.schedule, RUN_BUDGET, trace=True)
    lines = (*trace(caught.found, traced, caught.values), *repeated)
    return Counterexample(_shown(caught.values), caught.found.sentence + note, True, lines)


def _at_full_size(
    around: Family, caught: Caught, condition: str, deadline: float
) -> Caught | Literal["too large", "nothing"]:
    """The defect again with sizes of the menus, where that is not too long to run.

    ``nothing``: the sizes that were refuted run to their end under every schedule of the
    condition and show no defect.
    """
    deadline = min(deadline, monotonic() + FULL_SIZE_SECONDS)
    answer: Literal["too large", "nothing"] = "too large"
    for full in full_sizes(around, caught.values):
        if products(around, full) > FULL_SIZE_PRODUCTS or monotonic() > deadline:
            continue
        real = _again(around, full, caught.schedule, condition)
        if real is None:
            real = _attack(around, full, condition, deadline)
        if real is not None:
            return real
        is_refuted_size = all(full[n] == around.base[n] for n in around.sizes)
        if is_refuted_size and monotonic() < deadline and _runs(around, full):
            answer = "nothing"
    return answer


def _runs(around: Family, values: Values) -> bool:
    """Not cut off by the budget."""
    outcome = run_prepared(prepare(around.template, values), TEXTUAL, RUN_BUDGET)
    return outcome.status != "budget"


def _named(around: Family, values: Values) -> str:
    return ", ".join(f"{n} = {values[n]}" for n in (*around.extents, *around.sizes))


def _plain(value: int | Fraction) -> Scalar:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _shown(values: Mapping[str, Scalar]) -> dict[str, int | str]:
    return {n: v if isinstance(v, int) else str(v) for n, v in values.items()}
