"""From a text that was refuted to one that is proved: a bounded search over edits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import thread_time

from formwright.agent.protocol import Finding
from formwright.agent.repair.designs import Designs
from formwright.agent.repair.edits import Edit, Family, told
from formwright.agent.repair.points import Values
from formwright.agent.repair.ranking import VALUES, Hints, findings_of, hints_of, ranked
from formwright.agent.repair.screen import Screen
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse
from formwright.proof.verdict import Proof

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
    screening: float = 6.0


@dataclass(frozen=True, slots=True)
class Mended:
    """A text that ``prove`` proves. ``edits`` in words: the lines that changed. ``screened``
    candidates were looked at and ``proofs`` were tried, in ``seconds`` of CPU time."""

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
    condition, or no small run shows the fault, ``refute`` is asked first. ``refute`` is a quick
    proof that may end at the first obligation that is not proved; ``prove`` has the last word. A
    text that is proved as it stands comes back without its comments and with no edit; one that
    does not parse is not repaired here.
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
    seen: set[int] = field(default_factory=set)
    unresolved: dict[tuple[Family, tuple[int, ...]], int] = field(default_factory=dict)
    """How often edits of one family and line passed every run and were not proved."""
    fallback: Mended | None = None
    """A repair that shuts designs out: one of the program would be better."""
    wait_until: float = 0.0

    def run(self) -> Mended | None:
        hints = hints_of(self.findings)
        wrong: Proof | None = None
        if not hints.conditions and self.refute is not None:
            wrong = self.refute(self.template)
            hints = hints_of([*self.findings, *findings_of(wrong)])
            if wrong.verdict == "proved" and self.prove(self.template).verdict == "proved":
                seconds = thread_time() - self.started
                return Mended(format_template(self.template), (), 0, 1, seconds)
        if hints.conditions and hints.conditions <= VALUES:
            mended = self._of_values(hints)
            if mended is not None:
                return mended
        screen = Screen(self.template, self.effort.screening)
        if not screen.failing:
            self._seek(screen, wrong)
        better: list[tuple[int, int, Edit]] = []
        for edit in self._in_turn(ranked(self.template, hints)):
            if self._is_over() or (self.fallback and thread_time() > self.wait_until):
                return self.fallback
            found = self._tried(edit, screen)
            if isinstance(found, Mended):
                return found
            if 0 < found < screen.worst():
                better.append((found, len(better), edit))
        if self.effort.depth < 2 or self.fallback is not None:
            return self.fallback
        for _, _, first in sorted(better)[:BEAM]:
            for edit in self._in_turn(ranked(first.template, hints)):
                if self._is_over():
                    return self.fallback
                found = self._tried(edit, screen)
                if isinstance(found, Mended):
                    return found
        return self.fallback

    def _seek(self, screen: Screen, wrong: Proof | None) -> None:
        """A run that shows the fault, from what the verifier refuted the text with."""
        if wrong is None and self.refute is not None:
            wrong = self.refute(self.template)
        for values in () if wrong is None else _runs(wrong, self.template):
            if screen.seek(values):
                return

    def _in_turn(self, several: Sequence[Edit]) -> Iterator[Edit]:
        """Edits of lines where others were left unresolved come last: no run tells them apart."""
        late: list[Edit] = []
        for edit in several:
            if edit.lines and self.unresolved.get((edit.family, edit.lines), 0) >= PATIENCE:
                late.append(edit)
            else:
                yield edit
        yield from late

    def _of_values(self, hints: Hints) -> Mended | None:
        """Where only conditions on values fail, no run can tell candidates apart: designs do."""
        designs = Designs(self.template)
        for edit in ranked(self.template, hints, ("conditions", "walls")):
            late = thread_time() - self.started > self.effort.seconds * VALUES_SHARE
            if late or self._is_over():
                return None
            candidate = edit.template
            self.screened += 1
            if self._is_new(candidate) and not designs.doubts(candidate):
                mended = self._proved(candidate, edit, designs)
                if mended is not None:
                    return mended
        return None

    def _tried(self, edit: Edit, screen: Screen) -> Mended | int:
        """A repair; else 0 where it passes every run, or how much is still wrong."""
        if self.fallback is not None and edit.family == "conditions":
            return 0
        candidate = edit.template
        if not self._is_new(candidate):
            return 0
        self.screened += 1
        found = screen.judge(candidate)
        if found or screen.doubt(candidate):
            return found
        mended = self._proved(candidate, edit, screen)
        if mended is None:
            return 0
        if edit.family == "conditions":
            self.fallback = mended
            self.wait_until = thread_time() + self.effort.seconds * WAITING_SHARE
            return 0
        return mended

    def _is_new(self, candidate: Template) -> bool:
        t = candidate
        key = hash((t.program, t.constraints, t.requires, t.decisions, t.definitions, t.realised))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def _is_over(self) -> bool:
        late = thread_time() - self.started > self.effort.seconds
        return late or self.proofs >= self.effort.proofs

    def _proved(self, made: Template, edit: Edit, screen: Screen | Designs) -> Mended | None:
        """The candidate as a text of its own: parsed again, then judged."""
        try:
            text = format_template(made)
            candidate = parse(Source("repaired.fw", text))
        except (InputError, ValueError, KeyError):
            return None
        if candidate.scope != self.template.scope:
            return None
        self.proofs += 1
        for judge in (self.refute, self.prove):
            proof = None if judge is None else judge(candidate)
            if proof is not None and proof.verdict != "proved":
                self._learn(proof, candidate, screen)
                key = (edit.family, edit.lines)
                self.unresolved[key] = self.unresolved.get(key, 0) + 1
                return None
        edits = (told(format_template(self.template), text),)
        seconds = thread_time() - self.started
        return Mended(text, edits, self.screened, self.proofs, seconds)

    def _learn(self, proof: Proof, candidate: Template, screen: Screen | Designs) -> None:
        """What refuted a candidate is a trial for those after it."""
        match screen:
            case Designs():
                screen.learn(proof)
            case _:
                for values in _runs(proof, candidate):
                    if screen.distinguish(candidate, values):
                        return


def _runs(proof: Proof, template: Template) -> Iterator[Values]:
    """The values of its counterexamples that a program can be run at."""
    scope = template.scope
    names = {p.name for p in (*scope.extents, *scope.agents, *scope.sizes)}
    names |= {d.name for d in template.decisions}
    for obligation in proof.obligations:
        found = obligation.counterexample
        if found is not None and names <= found.values.keys():
            yield {n: int(found.values[n]) for n in names}


__all__ = ["Effort", "Mended", "findings_of", "mend"]
