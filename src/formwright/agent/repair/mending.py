"""From a text that was refuted to one that is proved: a bounded search over edits."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import thread_time

from formwright.agent.protocol import Finding
from formwright.agent.repair.bounds import bound_edits
from formwright.agent.repair.conditions import condition_edits
from formwright.agent.repair.designs import Designs
from formwright.agent.repair.donors import donors
from formwright.agent.repair.edits import Edit, Family
from formwright.agent.repair.indices import index_edits
from formwright.agent.repair.order import order_edits
from formwright.agent.repair.screen import Screen
from formwright.agent.repair.storage import storage_edits, update_edits
from formwright.agent.repair.walls import wall_edits
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse
from formwright.proof.verdict import Proof
from formwright.replay.adversary import orderly

Prove = Callable[[Template], Proof]

BEAM = 8
"""First edits, those that leave the least defects, that a second one is tried on."""

PATIENCE = 2
"""Edits of one family and line that may fail in a proof before those of other lines go first."""

WAITING_SHARE = 0.15
"""Of the time, to look for an edit of the program once a narrower precondition was proved."""

VALUES_SHARE = 0.5
"""Of the time, for conditions and walls alone where only conditions on values fail."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a repair may take: ``seconds`` in all (of this thread's CPU time, so that a busy machine
    changes little), ``proofs`` of candidates, ``depth`` edits on top of one another, ``screening``
    seconds to find runs that show the fault."""

    seconds: float = 120.0
    proofs: int = 400
    depth: int = 2
    screening: float = 8.0


@dataclass(frozen=True, slots=True)
class Mended:
    """A text that ``prove`` proves. ``edits`` in words; ``screened`` candidates were run and
    ``proofs`` were tried, in ``seconds`` of CPU time."""

    text: str
    edits: tuple[str, ...]
    screened: int
    proofs: int
    seconds: float


def mend(
    text: str,
    findings: Sequence[Finding],
    *,
    prove: Prove,
    refute: Prove | None = None,
    effort: Effort | None = None,
) -> Mended | None:
    """A template near ``text`` that is proved, with the same scope; ``None`` if none was found.

    ``findings`` say what was refuted (conditions, lines, counterexamples); where they name no
    condition ``refute`` is asked first. ``refute`` is a quick proof that may end at the first
    obligation that is not proved; ``prove`` has the last word. A text that does not parse is not
    repaired here.
    """
    try:
        template = parse(Source("repaired.fw", text))
    except InputError:
        return None
    if not template.program:
        return None
    return _Search(template, findings, prove, refute, effort or Effort()).run()


@dataclass(slots=True)
class _Search:
    template: Template
    findings: Sequence[Finding]
    prove: Prove
    refute: Prove | None
    effort: Effort
    proofs: int = 0
    screened: int = 0
    started: float = field(default_factory=thread_time)
    refused: set[str] = field(default_factory=set)
    unresolved: dict[tuple[Family, tuple[int, ...]], int] = field(default_factory=dict)
    """How often edits of one family and line passed every run and were not proved."""

    fallback: Mended | None = None
    """A repair that shuts designs out: one of the program would be better."""
    wait_until: float = 0.0

    def run(self) -> Mended | None:
        hints = self._hints()
        if hints.conditions and hints.conditions <= VALUES:
            mended = self._of_values(hints)
            if mended is not None:
                return mended
        screen = Screen(self.template, self.effort.screening)
        better: list[tuple[int, int, Edit]] = []
        for edit in self._in_turn(ranked(self.template, hints)):
            if self._is_over():
                break
            if self.fallback is not None and thread_time() > self.wait_until:
                return self.fallback
            found = self._judged(edit, screen)
            if found == 0 and not (self.fallback and edit.family == "conditions"):
                mended = self._proved(edit, (), screen)
                if mended is not None and edit.family != "conditions":
                    return mended
                if mended is not None and self.fallback is None:
                    self.fallback = mended
                    self.wait_until = thread_time() + self.effort.seconds * WAITING_SHARE
            elif 0 < found < screen.worst():
                better.append((found, len(better), edit))
        if self.effort.depth < 2 or self.fallback is not None:
            return self.fallback
        for _, _, first in sorted(better)[:BEAM]:
            for edit in self._in_turn(ranked(first.template, hints)):
                if self._is_over():
                    return None
                if self._judged(edit, screen) == 0:
                    mended = self._proved(edit, (first.words,), screen)
                    if mended is not None:
                        return mended
        return None

    def _in_turn(self, several: Sequence[Edit]) -> Iterator[Edit]:
        """Edits of lines where others were left unresolved come last: no run tells them apart."""
        late: list[Edit] = []
        for edit in several:
            if self.unresolved.get((edit.family, edit.lines), 0) >= PATIENCE:
                late.append(edit)
            else:
                yield edit
        yield from late

    def _of_values(self, hints: "Hints") -> Mended | None:
        """Where only conditions on values fail, no run can tell candidates apart: designs do."""
        designs = Designs(self.template)
        for edit in ranked(self.template, hints):
            late = thread_time() - self.started > self.effort.seconds * VALUES_SHARE
            if late or self._is_over():
                return None
            if edit.family not in ("conditions", "walls"):
                continue
            self.screened += 1
            if not designs.doubts(edit.template):
                mended = self._proved(edit, (), designs)
                if mended is not None:
                    return mended
        return None

    def _judged(self, edit: Edit, screen: Screen) -> int:
        self.screened += 1
        found = screen.judge(edit.template)
        return 1 if found == 0 and screen.doubt(edit.template) else found

    def _is_over(self) -> bool:
        late = thread_time() - self.started > self.effort.seconds
        return late or self.proofs >= self.effort.proofs

    def _hints(self) -> "Hints":
        hints = hints_of(self.findings)
        if hints.conditions or self.refute is None:
            return hints
        proof = self.refute(self.template)
        return hints_of([*self.findings, *findings_of(proof)])

    def _proved(
        self, edit: Edit, before: tuple[str, ...], screen: Screen | Designs
    ) -> Mended | None:
        """The candidate as a text of its own: parsed again, then judged."""
        try:
            text = format_template(edit.template)
            if text in self.refused:
                return None
            self.refused.add(text)
            candidate = parse(Source("repaired.fw", text))
        except (InputError, ValueError, KeyError):
            return None
        if candidate.scope != self.template.scope:
            return None
        self.proofs += 1
        if self.refute is not None:
            quick = self.refute(candidate)
            if quick.verdict != "proved":
                self._learn(quick, candidate, screen)
                key = (edit.family, edit.lines)
                self.unresolved[key] = self.unresolved.get(key, 0) + 1
                return None
        proof = self.prove(candidate)
        if proof.verdict != "proved":
            self._learn(proof, candidate, screen)
            return None
        seconds = thread_time() - self.started
        return Mended(text, (*before, edit.words), self.screened, self.proofs, seconds)

    def _learn(self, proof: Proof, candidate: Template, screen: Screen | Designs) -> None:
        """What refuted a candidate is a trial for those after it."""
        if isinstance(screen, Designs):
            screen.learn(proof)
            return
        names = {p.name for p in (*candidate.scope.extents, *candidate.scope.agents)}
        names |= {d.name for d in candidate.decisions} | {p.name for p in candidate.scope.sizes}
        for obligation in proof.obligations:
            found = obligation.counterexample
            if found is not None and names <= found.values.keys():
                values = {n: int(found.values[n]) for n in names}
                if screen.distinguish(candidate, dict(values), tuple(orderly())):
                    return


@dataclass(frozen=True, slots=True)
class Hints:
    """What the findings point to: conditions by name, lines of the text."""

    conditions: frozenset[str]
    lines: frozenset[int]


def hints_of(findings: Sequence[Finding]) -> Hints:
    """Conditions and the lines that the messages name."""
    conditions = frozenset(f.condition for f in findings if f.condition)
    told = "\n".join(f"{f.message}\n{f.counterexample}" for f in findings)
    return Hints(conditions, frozenset(int(n) for n in re.findall(r"\bline (\d+)", told)))


def findings_of(proof: Proof) -> list[Finding]:
    """What is not proved, as findings."""
    found = []
    for o in proof.obligations:
        if o.verdict != "proved":
            told = "" if o.counterexample is None else o.counterexample.text
            found.append(Finding("prove", f"{o.name}: {o.detail}", o.condition, told))
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


def ranked(template: Template, hints: Hints) -> list[Edit]:
    """All edits, the likeliest first: small, of the right family, at the lines that were named."""
    order = preference(hints.conditions)

    def key(edit: Edit) -> float:
        near = bool(hints.lines & set(edit.lines)) or not hints.lines or not edit.lines
        return edit.size + order[edit.family] + (0 if near else 1.5)

    return sorted(edits(template), key=key)


def edits(template: Template) -> Iterator[Edit]:
    """Every edit of ``template``, each result once."""
    known = donors(template)
    seen: set[int] = set()
    for edit in (
        *wall_edits(template),
        *index_edits(template, known),
        *bound_edits(template, known),
        *update_edits(template),
        *order_edits(template, known),
        *storage_edits(template),
        *condition_edits(template),
    ):
        t = edit.template
        key = hash((t.program, t.constraints, t.requires, t.decisions, t.definitions, t.realised))
        if key not in seen:
            seen.add(key)
            yield edit
