"""The funnel of a run: texts from proposed to solved, designs from chosen to qualified.

Each count is one of the journal's entries; what is lost at a stage is listed with its reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formwright.report.page import Axis, Bar, Bars, Block, Cell, Column, Origin, Part, Table, Text
from formwright.report.pages.conditions import standing_of
from formwright.report.pages.entries import at, items, mapping, words
from formwright.report.pages.run_facts import Design, RunFacts, TextMade
from formwright.report.pages.units import count_cell, counted

MOST_WORDS = 300
"""Characters of a reason in a table; the entry has the rest."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that went no further: at which stage, what, and why."""

    stage: str
    what: str
    verdict: str
    why: str
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Counts by stage, in order, of texts and of designs, and all that was lost."""

    texts: tuple[tuple[str, int], ...]
    designs: tuple[tuple[str, int], ...]
    lost: tuple[Lost, ...]

    def count(self, stage: str) -> int:
        return dict((*self.texts, *self.designs)).get(stage, 0)


def funnel_of(facts: RunFacts) -> Funnel:
    """Counts from the journal. A design counts once for each workload that it was chosen for."""
    solved, unsolved = _solved(facts)
    proved = [t for t in facts.texts if t.verdict == "proved"]
    screened = [t for t in facts.texts if t.screened]
    unseen = _unseen(facts)
    designs = [d for w in facts.workloads for d in w.designs]
    built = [d for d in designs if d.built]
    held = [d for d in designs if d.validated == "held"]
    measured = [d for d in designs if d.seconds is not None]
    qualified = [w for w in facts.workloads if w.artifact]
    return Funnel(
        texts=(
            ("proposed", len(facts.texts) + len(unseen)),
            ("screened", len(screened)),
            ("proved", len(proved)),
            ("solved", len([t for t in proved if t.key in solved])),
        ),
        designs=(
            ("chosen by the solver", len(designs)),
            ("built", len(built)),
            ("validated", len(held)),
            ("measured", len(measured)),
            ("qualified", len(qualified)),
        ),
        lost=(
            *unseen,
            *(lost for t in facts.texts if (lost := _lost_text(facts, t)) is not None),
            *unsolved,
            *(lost for d in designs if (lost := _lost_design(facts, d)) is not None),
            *_not_qualified(facts),
        ),
    )


def _unseen(facts: RunFacts) -> list[Lost]:
    """Proposals beyond what a run looks at of one answer."""
    judged = {t.step for t in facts.texts}
    found = []
    for key in facts.book.keys("ask/"):
        number = key.partition("/")[2]
        if not any(step.startswith(f"judge/{number}/") for step in judged):
            continue
        for place, _ in enumerate(items(at(facts.book.data(key), "proposals"))):
            if f"judge/{number}/{place}" not in judged:
                told = "more texts in one answer than are looked at"
                origin = facts.book.origin(key)
                found.append(Lost("screened", f"text {place + 1} of {key}", "", told, origin))
    return found


def _solved(facts: RunFacts) -> tuple[set[str], list[Lost]]:
    """Names of templates with a design, and the solver's refusals by template and workload."""
    solved: set[str] = set()
    refused: dict[tuple[str, str], Lost] = {}
    for key in facts.book.keys("solve/"):
        workload = key.split("/")[1]
        for name, found in mapping(at(facts.book.data(key), "solutions")).items():
            status = words(found, "status")
            if status == "optimal":
                solved.add(name)
                continue
            conflict = ", ".join(map(str, items(mapping(found).get("conflict"))))
            why = words(found, "error") or conflict or "no design meets the constraints"
            lost = Lost("solved", f"{name} at {workload}", status, why, facts.book.origin(key))
            refused.setdefault((name, workload), lost)
    return solved, list(refused.values())


def _lost_text(facts: RunFacts, made: TextMade) -> Lost | None:
    if made.verdict == "proved":
        return None
    stage = "proved" if made.screened else "screened"
    first = made.findings[0] if made.findings else None
    why = "" if first is None else f"{first.condition}: {first.message}".removeprefix(": ")
    if made.language == "c" and made.verdict == "tested":
        why = "kernel source: tested and timed, never the winner, since nothing of it is proved"
    name = made.key or f"the text of {made.step}"
    return Lost(stage, name, made.verdict, why, facts.book.origin(made.step))


def _lost_design(facts: RunFacts, d: Design) -> Lost | None:
    name = design_text(d)
    if d.seconds is not None or d.built is None:
        return None
    if d.built is False:
        origin = facts.book.origin(f"build/{d.key}")
        return Lost("built", name, "failed", d.build_error, origin)
    if d.validated != "held":
        key = f"validate/{d.workload}/{d.key}"
        verdict = d.validated or "not yet"
        return Lost("validated", name, verdict, d.validation, facts.book.origin(key))
    if d.failure:
        return Lost("measured", name, "failed", d.failure, None)
    return None


def _not_qualified(facts: RunFacts) -> list[Lost]:
    found = []
    for w in facts.workloads:
        if w.qualify and not w.artifact:
            key = f"qualify/{w.name}"
            why = words(w.qualify, "message")
            found.append(Lost("qualified", w.name, "refused", why, facts.book.origin(key)))
    return found


def funnel_blocks(facts: RunFacts, funnel: Funnel) -> tuple[Block, ...]:
    """Two sets of bars, since a template gives many designs, and a table of what was lost."""
    blocks: list[Block] = [
        _bars("Templates", "texts", funnel.texts, funnel.lost),
        _bars("Designs", "designs", funnel.designs, funnel.lost),
    ]
    unnamed = sum(not d.key for w in facts.workloads for d in w.designs)
    if unnamed:
        blocks.append(
            Text(
                f"Of {counted(unnamed, 'design')} this journal does not say which build is theirs: "
                "they are among the chosen ones and in no count below."
            )
        )
    feasible = _feasible(facts)
    if feasible:
        blocks.append(
            Text(
                f"The solver found {feasible:,} designs that meet the constraints, over all "
                "templates, workloads and rounds; those of the bars were chosen among the best."
            )
        )
    if funnel.lost:
        blocks.append(_lost_table(funnel.lost))
    return tuple(blocks)


def _feasible(facts: RunFacts) -> int:
    total = 0
    for key in facts.book.keys("solve/"):
        for found in mapping(at(facts.book.data(key), "solutions")).values():
            count = mapping(found).get("feasible")
            total += count if isinstance(count, int) and not isinstance(count, bool) else 0
    return total


def _bars(title: str, unit: str, stages: Sequence[tuple[str, int]], lost: Sequence[Lost]) -> Bars:
    bars = []
    before: int | None = None
    for name, count in stages:
        gone = 0 if before is None else before - count
        note = f"{gone} lost: {_reasons(name, gone, lost)}" if gone > 0 else ""
        bars.append(Bar(name, (Part(name, count),), note))
        before = count
    first, last = stages[0], stages[-1]
    says = f"{first[1]} {unit} {first[0]}, {last[1]} {last[0]}."
    return Bars(f"{title}: from {first[0]} to {last[0]}", says, Axis(unit), tuple(bars))


def _reasons(stage: str, gone: int, lost: Sequence[Lost]) -> str:
    """Why ``gone`` of them went no further; what adds up to another number says of what it is."""
    counts = Counter(one.verdict or "not looked at" for one in lost if one.stage == stage)
    told = ", ".join(f"{n} {word}" for word, n in counts.items())
    if stage == "qualified":
        first = "one design of each workload is taken"
        return f"{first}; {told} of those" if told else first
    if counts.total() > gone:
        return f"by template and workload {told}"
    rest = gone - counts.total()
    return ", ".join(filter(None, (told, f"{rest} not looked at yet" if rest else "")))


def _lost_table(lost: Sequence[Lost]) -> Table:
    return Table(
        title="What was lost, and why",
        columns=(Column("stage"), Column("what"), Column("verdict"), Column("why")),
        rows=tuple(
            (
                Cell(one.stage),
                Cell(one.what, origin=one.origin),
                Cell(one.verdict or "–", standing=standing_of(one.verdict)),
                Cell(_short(one.why) or "–"),
            )
            for one in lost
        ),
        shown=15,
    )


def _short(text: str) -> str:
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}…"


def design_text(d: Design) -> str:
    """A design as tables name it."""
    return f"{d.template} {assignment_text(d.assignment)}".strip()


def assignment_text(assignment: Mapping[str, object]) -> str:
    return " ".join(f"{n}={v}" for n, v in assignment.items())


def funnel_facts(funnel: Funnel) -> tuple[tuple[str, Cell], ...]:
    """The counts as a short list."""
    return tuple((name, count_cell(count)) for name, count in (*funnel.texts, *funnel.designs))
