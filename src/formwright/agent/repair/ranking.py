"""Which edits are tried first: by what was refuted, at which lines, and how small they are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formwright.agent.protocol import Finding
from formwright.agent.repair.bounds import bound_edits
from formwright.agent.repair.conditions import condition_edits
from formwright.agent.repair.donors import donors
from formwright.agent.repair.edits import Edit, Family
from formwright.agent.repair.indices import index_edits
from formwright.agent.repair.order import order_edits
from formwright.agent.repair.storage import storage_edits, update_edits
from formwright.agent.repair.walls import wall_edits
from formwright.ir.template import Template
from formwright.proof.verdict import Proof


@dataclass(frozen=True, slots=True)
class Hints:
    """What the findings point to: conditions by name, lines of the text."""

    conditions: frozenset[str]
    lines: frozenset[int]


def hints_of(findings: Sequence[Finding]) -> Hints:
    """Conditions and the lines that the messages name."""
    conditions = frozenset(f.condition for f in findings if f.condition)
    said = "\n".join(f"{f.message}\n{f.counterexample}" for f in findings)
    return Hints(conditions, frozenset(int(n) for n in re.findall(r"\bline (\d+)", said)))


def findings_of(proof: Proof) -> list[Finding]:
    """What is not proved, as findings."""
    found = []
    for o in proof.obligations:
        if o.verdict != "proved":
            said = "" if o.counterexample is None else o.counterexample.text
            found.append(Finding("prove", f"{o.name}: {o.detail}", o.condition, said))
    return found


ORDER = frozenset({"race", "readiness", "lifetime", "order", "uniform", "progress", "phase"})
VALUES = frozenset({"fits", "implied", "menu", "divisor", "vacuity"})

_FIRST: dict[Family, int] = {
    "index": 1,
    "bounds": 1,
    "update": 2,
    "order": 2,
    "storage": 2,
    "conditions": 2,
    "walls": 4,
}


def preference(conditions: frozenset[str]) -> dict[Family, int]:
    """How early each family is tried, by what was refuted."""
    order = dict(_FIRST)
    if conditions & ORDER:
        order |= {"order": 0, "storage": 1, "conditions": 1}
    if conditions & VALUES:
        order |= {"conditions": 0, "walls": 3}
    if "fits" in conditions:
        order |= {"walls": -1}
    return order


def ranked(template: Template, hints: Hints, only: tuple[Family, ...] = ()) -> list[Edit]:
    """All edits, the likeliest first: small, of the right family, at the lines that were named.

    ``only`` of some families.
    """
    order = preference(hints.conditions)

    def key(edit: Edit) -> float:
        near = bool(hints.lines & set(edit.lines)) or not hints.lines or not edit.lines
        return edit.size + order[edit.family] + (0 if near else 1.5)

    several = (e for e in edits(template) if not only or e.family in only)
    return sorted(several, key=key)


def edits(template: Template) -> Iterator[Edit]:
    """Every edit of ``template``; some give the same."""
    known = donors(template)
    yield from wall_edits(template)
    yield from index_edits(template, known)
    yield from bound_edits(template, known)
    yield from update_edits(template)
    yield from order_edits(template, known)
    yield from storage_edits(template)
    yield from condition_edits(template)
