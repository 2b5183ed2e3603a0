"""Variants of a structure: templates with the verdict that is expected, and what they get.

Besides the verdicts of a proof there are kinds that tell why a variant is not accepted:
a fault of its own or one that its base has already, a certificate that failed though nothing
wrong was reached, a domain without designs. What the rules do not derive is explored for stated
sizes; the evidence is then ``bounded``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Literal

from formwright.base.source import Source
from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import Expr, Scalar
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import parse
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample, Obligation
from formwright.replay import Schedule, explore, replay, run
from formwright.smt import prove

Kind = Literal[
    "proved",
    "bounded",
    "refuted",
    "inherited",
    "failed certificate",
    "infeasible",
    "unresolved",
]
KINDS: tuple[Kind, ...] = (
    "proved",
    "bounded",
    "refuted",
    "inherited",
    "failed certificate",
    "infeasible",
    "unresolved",
)

SHOWN = {"progress": "deadlock"}
"""Words for conditions in expectations."""

ON_VALUES = frozenset({"divisor", "fits", "implied"})
"""Conditions that speak of values alone: ``evaluate`` settles them."""

TERMS = frozenset({"phantom", "exact_once", "coverage", "defined"})
"""Conditions that look at one schedule (the theorem of ``docs/program-rules.md``)."""

STATES = 20_000
"""States of one exploration; one that needs more is not complete."""

OWNERS = (Schedule(), Schedule(owners="apart"), Schedule(owners="columns"))
"""Owners that an exploration tries; it tries every interleaving for each."""

REACH_SECONDS = 1.0
"""What a replay of a defect that an exploration found may take."""

ROOM = 10**9
"""The value of chip fields where nothing is said of them."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A file with its notes. ``at``: values at which each fault is replayed. ``ranges``: sizes
    of an exploration, first and last. ``base``: the file that it was made from."""

    path: Path
    template: Template = field(repr=False)
    kind: Kind
    words: tuple[str, ...]
    base: Path | None
    at: Mapping[str, Mapping[str, int]]
    ranges: Mapping[str, tuple[int, int]]

    @property
    def group(self) -> str:
        return self.path.parent.name


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a variant gets. ``faults``: what was refuted, as condition and buffer."""

    kind: Kind
    words: tuple[str, ...]
    faults: tuple[tuple[str, str], ...] = ()
    counterexamples: tuple[tuple[str, Counterexample], ...] = ()
    details: tuple[str, ...] = ()
    bound: str = ""
    seconds: float = 0.0


class NotesError(Exception):
    """A variant whose notes can't be read."""


def read_variant(path: Path) -> Variant:
    """Parses a file and the notes ``# expect:``, ``# base:``, ``# at FAULT:`` and ``# bound:``."""
    text = path.read_text()
    notes = dict(re.findall(r"^# (expect|base|at \w+|bound): (.*)$", text, re.MULTILINE))
    expect = notes.get("expect", "")
    kind = next((k for k in KINDS if expect == k or expect.startswith(k + " ")), None)
    if kind is None:
        raise NotesError(f'{path}: no verdict in "{expect}"')
    at = {
        note.removeprefix("at "): {n: int(v) for n, v in re.findall(r"(\w+) = (-?\d+)", values)}
        for note, values in notes.items()
        if note.startswith("at ")
    }
    found = re.findall(r"(\w+) = (\d+)(?: \.\. (\d+))?", notes.get("bound", ""))
    return Variant(
        path,
        parse(Source(path.name, text)),
        kind,
        tuple(expect.removeprefix(kind).split()),
        path.parent / notes["base"] if "base" in notes else None,
        at,
        {n: (int(low), int(high or low)) for n, low, high in found},
    )


def judge(variant: Variant, base: Judgement | None = None) -> Judgement:
    """Proves, replays and, where the rules derive nothing, explores a variant."""
    template = variant.template
    proof = prove(template, replayer=replay)
    missed = [o for o in proof.obligations if o.verdict != "proved"]
    refuted = [o for o in missed if o.verdict == "refuted"]
    if not missed:
        return Judgement("proved", (), seconds=proof.seconds)
    if refuted and any(o.condition != "menu" for o in refuted):
        return _refuted(refuted, base, proof.seconds)
    if refuted or proof.verdict == "vacuous":
        return Judgement("infeasible", _words(missed), seconds=proof.seconds, details=_why(missed))
    underived = [o for o in missed if _underived(o)]
    if len(underived) < len(missed):
        rest = [o for o in missed if o not in underived]
        kind: Kind = "failed certificate" if all(_failed(o) for o in rest) else "unresolved"
        return Judgement(kind, _words(rest), details=_why(rest), seconds=proof.seconds)
    if not variant.ranges:
        return Judgement("unresolved", _words(missed), details=_why(missed), seconds=proof.seconds)
    return _explored(variant, base, missed, proof.seconds)


def _explored(
    variant: Variant, base: Judgement | None, missed: Sequence[Obligation], seconds: float
) -> Judgement:
    """What the rules do not derive, for every size within the bound."""
    only_terms = all(o.condition in TERMS for o in missed)
    wrong, count = explored(variant.template, variant.ranges, one_schedule=only_terms)
    if wrong is None:
        bound = bound_text(variant, count, one_schedule=only_terms)
        return Judgement("bounded", _words(missed), (), (), _why(missed), bound, seconds)
    found = [_reached(variant.template, o, wrong) for o in missed]
    refuted = [o for o in found if o.verdict == "refuted"]
    told = [o for o in refuted if _names_its_buffer(o)]
    if refuted:  # what a run shows of one buffer may be the effect of a fault at another
        return _refuted(told or refuted, base, seconds)
    return Judgement("unresolved", _words(missed), details=(f"wrong at {wrong}",), seconds=seconds)


def _names_its_buffer(obligation: Obligation) -> bool:
    buffer = re.escape(_buffer(obligation))
    return re.search(rf"\b{buffer}[<\[]", obligation.detail) is not None


def _reached(
    template: Template, obligation: Obligation, values: Mapping[str, Scalar]
) -> Obligation:
    """The obligation, refuted if a run at these values shows its defect."""
    whole = {n: v for n, v in values.items() if not isinstance(v, bool)}
    claim = Refutation(obligation.condition, obligation.name, whole, (), obligation.name)
    shown = replay(template, claim, REACH_SECONDS)
    if shown is None:
        return obligation
    return replace(obligation, verdict="refuted", detail=shown.text, counterexample=shown)


def _refuted(refuted: Sequence[Obligation], base: Judgement | None, seconds: float) -> Judgement:
    faults = tuple(dict.fromkeys((o.condition, _buffer(o)) for o in refuted))
    old = set() if base is None else set(base.faults)
    kind: Kind = "inherited" if set(faults) <= old else "refuted"
    shown = [o for o in refuted if kind == "inherited" or (o.condition, _buffer(o)) not in old]
    return Judgement(
        kind,
        _words(shown),
        faults,
        tuple((_word(o), o.counterexample) for o in shown if o.counterexample is not None),
        _why(shown),
        seconds=seconds,
    )


def _buffer(obligation: Obligation) -> str:
    """The second word of a name, as ``lifetime s at line 9``: what the fault is about."""
    words = obligation.name.split()
    return words[1] if len(words) > 1 else ""


def _words(obligations: Sequence[Obligation]) -> tuple[str, ...]:
    return tuple(sorted({_word(o) for o in obligations}))


def _word(obligation: Obligation) -> str:
    return SHOWN.get(obligation.condition, obligation.condition)


def _why(obligations: Sequence[Obligation]) -> tuple[str, ...]:
    return tuple(f"{o.name}: {o.detail}" for o in obligations)


def _underived(obligation: Obligation) -> bool:
    """The rules do not reach it: no condition was stated, or no ranks were found."""
    return obligation.detail.startswith("not derived") or obligation.condition == "progress"


def _failed(obligation: Obligation) -> bool:
    """The condition has a counterexample that no run from the initial state reaches."""
    return "counterexample found" in obligation.detail


def explored(
    template: Template, ranges: Mapping[str, tuple[int, int]], one_schedule: bool
) -> tuple[dict[str, Scalar] | None, int]:
    """The first point where something is wrong (``None``: none), and how many were looked at.

    ``one_schedule``: the conditions on schedules are proved, so one speaks for all.
    """
    count = 0
    for values in points(template, ranges):
        count += 1
        if one_schedule and run(template, values).status != "exact":
            return values, count
        if not one_schedule and not all(
            explore(template, values, schedule, STATES).safe for schedule in OWNERS
        ):
            return values, count
    return None, count


def points(
    template: Template, ranges: Mapping[str, tuple[int, int]]
) -> Iterator[dict[str, Scalar]]:
    """Every assignment of the menus at every size in the ranges that meets all conditions."""
    closed = inlined(template)
    scope = closed.scope
    menus = [(d.name, d.menu) for d in closed.decisions]
    sizes = [p.name for p in (*scope.extents, *scope.agents)]
    spans = [(n, tuple(range(ranges[n][0], ranges[n][1] + 1))) for n in sizes]
    names = [n for n, _ in (*menus, *spans)]
    stated = [p.condition for p in (*scope.extents, *scope.agents)]
    conditions = [
        *(c for c in stated if c is not None),
        *scope.relations,
        *(c.condition for c in closed.constraints),
        *(r.condition for r in closed.requires),
    ]
    chip: dict[str, Scalar] = {p.name: ROOM for p in scope.chip}
    for point in product(*(values for _, values in (*menus, *spans))):
        values: dict[str, Scalar] = {**chip, **dict(zip(names, point, strict=True))}
        if _meets(values, conditions):
            yield values


def _meets(values: Mapping[str, Scalar], conditions: Sequence[Expr]) -> bool:
    try:
        return all(truth(c, values) for c in conditions)
    except EvaluationError:
        return False


def bound_text(variant: Variant, count: int, one_schedule: bool) -> str:
    """The bound of an exploration, for people."""
    spans = [
        f"{n} = {a}" if a == b else f"{n} = {a} .. {b}" for n, (a, b) in variant.ranges.items()
    ]
    how = "one schedule for all" if one_schedule else "every interleaving"
    return f"{', '.join(spans)}: {count} points of the menus, {how}"


def replayed(variant: Variant) -> dict[str, Counterexample | None]:
    """The faults of a variant again, at the values that it notes, by the interpreter alone."""
    back = {shown: condition for condition, shown in SHOWN.items()}
    chip: dict[str, int] = {p.name: ROOM for p in variant.template.scope.chip}
    found: dict[str, Counterexample | None] = {}
    for word, values in variant.at.items():
        claim = Refutation(back.get(word, word), word, {**chip, **values}, (), "noted in the file")
        found[word] = replay(variant.template, claim)
    return found


def schedules(template: Template) -> list[dict[str, int]]:
    """Every assignment of the menus that meets the constraints and requirements."""
    closed = inlined(template)
    names = [d.name for d in closed.decisions]
    conditions = [c.condition for c in closed.constraints]
    conditions += [r.condition for r in closed.requires]
    return [
        dict(zip(names, point, strict=True))
        for point in product(*(d.menu for d in closed.decisions))
        if _meets(dict(zip(names, point, strict=True)), conditions)
    ]
