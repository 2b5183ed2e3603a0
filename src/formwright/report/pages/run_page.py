"""The page of a run: what came out, what was lost where, what it rests on, what it took."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from formwright import __version__
from formwright.base.diagnostics import InputError, fail
from formwright.flow.rooflining import roofline_of_run
from formwright.report.page import (
    Block,
    Cell,
    Column,
    Facts,
    Fold,
    Page,
    Section,
    Source,
    Table,
    Text,
)
from formwright.report.pages.conditions import (
    condition_blocks,
    conditions_of,
    counterexample_blocks,
)
from formwright.report.pages.entries import (
    Book,
    at,
    items,
    journal_in,
    mapping,
    number,
    read_entries,
    words,
)
from formwright.report.pages.record_blocks import (
    beside_text,
    extents_text,
    other_build_table,
    tested_blocks,
    timing_blocks,
    trusted_table,
)
from formwright.report.pages.roofline_blocks import roofline_blocks
from formwright.report.pages.run_budget import budget_blocks
from formwright.report.pages.run_facts import RunFacts, Workload, run_facts
from formwright.report.pages.run_funnel import (
    Funnel,
    assignment_text,
    funnel_blocks,
    funnel_of,
)
from formwright.report.pages.run_lineage import ended_text, lineage_blocks
from formwright.report.pages.run_prediction import (
    baselines_text,
    ceilings,
    designs_table,
    prediction_blocks,
    tradeoff_chart,
)
from formwright.report.pages.units import counted, ratio_text, seconds_cell, seconds_text

MOST_LANES: Final = 4
"""Counterexamples that are drawn; all are told."""


def run_page(folder: Path, within: str = "") -> Page:
    """The page of the run in ``folder``, whole or as far as it has come; nothing is run.

    ``within``: the folder relative to what the page is of. Raises ``InputError`` for a journal
    that cannot be read.
    """
    journal = journal_in(folder)
    if journal is None:
        raise fail(f"{folder} holds no journal", hint="give a folder that `run` wrote")
    book = Book(read_entries(journal), journal.name, within)
    facts = run_facts(folder, book)
    funnel = funnel_of(facts)
    return Page(
        title=f"Run {facts.name}",
        kind="run",
        answer=answer(facts, funnel),
        facts=_facts(facts),
        sections=_sections(facts, funnel),
        made=_made(facts),
        entries=book.texts(),
    )


def answer(facts: RunFacts, funnel: Funnel) -> tuple[str, ...]:
    """What came out, in sentences: a line for each workload, then how it was come by."""
    told = [_came_out(w) for w in facts.workloads]
    if not facts.ended:
        last = facts.book.entries[-1]
        told.append(
            f"The run has not ended: the last of {len(facts.book.entries)} steps is "
            f"`{last.key}`, {last.time}. The same command goes on from there."
        )
    told += [said for w in facts.workloads if (said := _rests(facts, w))]
    texts, designs = dict(funnel.texts), dict(funnel.designs)
    chosen = counted(designs["chosen by the solver"], "design")
    told.append(
        f"Of {counted(texts['proposed'], 'template')} {texts['proved']} were proved for every "
        f"design and extent that they allow; of {chosen} that the solver chose "
        f"{designs['built']} were built, {designs['validated']} validated and "
        f"{designs['measured']} measured."
    )
    return tuple(told)


def _rests(facts: RunFacts, w: Workload) -> str:
    """Of a winner: what was proved, what was tested, what was only predicted."""
    if w.winner is None or not w.record:
        return ""
    proof = mapping(at(w.record, "evidence", "template"))
    binary = mapping(at(w.record, "evidence", "binary"))
    checks = [words(c, "verdict") for c in items(binary.get("checks"))]
    of = f"{w.name}: " if len(facts.workloads) > 1 else ""
    obligations = counted(len(items(proof.get("obligations"))), "obligation")
    runs = counted(len(items(binary.get("runs"))), "run")
    told = (
        f"{of}its template {w.winner.template} is {words(proof, 'verdict')} ({obligations}, in "
        f"real arithmetic); of the binary {checks.count('held')} of "
        f"{counted(len(checks), 'check')} held in {runs} (tested)"
    )
    predicted = number(w.record, "predicted_seconds")
    if predicted is not None:
        told += f"; its model had said {seconds_text(predicted)} (modelled)"
    return f"{told[:1].upper()}{told[1:]}."


def _came_out(w: Workload) -> str:
    shape = f" ({extents_text(w.extents)})" if w.extents else ""
    if not w.qualify:
        best = min((s for d in w.designs if (s := d.seconds) is not None), default=None)
        so_far = "nothing measured yet" if best is None else f"best so far {seconds_text(best)}"
        return f"{w.name}{shape}: not decided; {so_far}."
    median = number(w.confirm, "programs", "kernel", "seconds", "median")
    if not w.artifact:
        return f"{w.name}{shape}: no kernel is qualified: {words(w.qualify, 'message')}."
    told = f"{w.name}{shape}: a qualified kernel"
    if median is not None:
        told += f", {seconds_text(median)} a call in the median (measured)"
    return f"{told}{beside_text(w.confirm)}."


def _facts(facts: RunFacts) -> Facts:
    book, about = facts.book, facts.about
    origin = book.origin("about")
    chip = mapping(book.data("chip"))
    rows: list[tuple[str, Cell]] = []
    record = next((w.record for w in facts.workloads if w.record), {})
    operator = words(about, "operator") or words(record, "contract", "operator")
    formula = items(about.get("formula")) or items(at(record, "contract", "formula"))
    if operator:
        rows.append(("operator", Cell(operator, origin=origin)))
    if formula:
        rows.append(("formula", Cell("; ".join(map(str, formula)))))
    if about:
        rows.append(("objective", Cell(words(about, "objective"), origin=origin)))
        rows += ceilings(facts)
        rows.append(("compared with", Cell(baselines_text(facts), origin=origin)))
    threads = words(about, "threads") or words(record, "threads")
    if threads:
        rows.append(("threads", Cell(threads)))
    if chip:
        rows.append(("chip", Cell(words(chip, "name"), origin=book.origin("chip"))))
    machine = words(facts.agent, "machine") or words(record, "facts", "cpu")
    if machine:
        rows.append(("machine", Cell(machine)))
    if facts.agent:
        rows.append(("proposer", Cell(words(facts.agent, "proposer"), origin=book.origin("agent"))))
    if words(facts.agent, "device"):
        told = f"those of {words(facts.agent, 'device')}: nothing was measured now"
        rows.append(("times", Cell(told, standing="unresolved")))
    return Facts(tuple(rows))


def _sections(facts: RunFacts, funnel: Funnel) -> tuple[Section, ...]:
    """Those that have something to say, in the order in which a reader asks."""
    parts: tuple[tuple[str, str, Callable[[], tuple[Block, ...]]], ...] = (
        ("results", "Results", lambda: (_results(facts),)),
        ("funnel", "Candidates, stage by stage", lambda: funnel_blocks(facts, funnel)),
        ("timing", "Times against the baselines", lambda: _timing(facts)),
        ("prediction", "Predicted against measured", lambda: prediction_blocks(facts)),
        ("designs", "Designs and what was given up", lambda: _designs(facts)),
        ("roofline", "Roofline by memory level", lambda: _roofline(facts)),
        ("proof", "What was proved, and on what it rests", lambda: _proofs(facts)),
        ("counterexamples", "Counterexamples", lambda: _counterexamples(facts)),
        ("lineage", "Where the templates came from", lambda: _lineage(facts)),
        ("budget", "What the run took", lambda: budget_blocks(facts)),
        ("record", "The record", lambda: _record(facts)),
    )
    made = ((key, title, blocks()) for key, title, blocks in parts)
    return tuple(Section(key, title, blocks) for key, title, blocks in made if blocks)


def _results(facts: RunFacts) -> Table:
    baselines = sorted({n for w in facts.workloads for n in mapping(w.confirm.get("ratios"))})
    return Table(
        title="Each workload",
        columns=(
            Column("workload"),
            Column("shape"),
            Column("template"),
            Column("decisions"),
            Column("measured", "s", number=True),
            Column("predicted", "s", number=True),
            *(Column(f"over {n}", number=True) for n in baselines),
            Column("outcome"),
        ),
        rows=tuple(_result(facts, w, baselines) for w in facts.workloads),
        says="Measured: the winner again, in new processes, on inputs that the search had not "
        "seen. Over a baseline: its time over the kernel's, paired by round, with a 95 % interval.",
    )


def _result(facts: RunFacts, w: Workload, baselines: list[str]) -> tuple[Cell, ...]:
    origin = facts.book.origin(f"confirm/{w.name}")
    winner = w.winner
    predicted = number(w.record, "predicted_seconds")
    if predicted is None and winner is not None:
        predicted = winner.predicted
    ratios = []
    for name in baselines:
        r = at(w.confirm, "ratios", name)
        value = number(r, "median")
        text = "–" if value is None else ratio_text(value, number(r, "low"), number(r, "high"))
        ratios.append(Cell(text, value, None if value is None else origin))
    return (
        Cell(w.name),
        Cell(extents_text(w.extents)),
        Cell("–" if winner is None else winner.template),
        Cell("–" if winner is None else assignment_text(winner.assignment) or "–"),
        seconds_cell(
            number(w.confirm, "programs", "kernel", "seconds", "median"), origin, "measured"
        ),
        seconds_cell(predicted, evidence="modelled"),
        *ratios,
        _outcome(facts, w),
    )


def _outcome(facts: RunFacts, w: Workload) -> Cell:
    origin = facts.book.origin(f"qualify/{w.name}")
    if w.artifact:
        return Cell("qualified", standing="held", origin=origin)
    if w.qualify:
        told = f"not qualified: {words(w.qualify, 'message')}"
        return Cell(told, standing="refuted", origin=origin)
    return Cell("not decided", standing="unresolved")


def _timing(facts: RunFacts) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for w in facts.workloads:
        if w.confirm:
            origin = facts.book.origin(f"confirm/{w.name}")
            blocks += timing_blocks(w.confirm, origin, f"Times of a call, {w.name}")
    return tuple(blocks)


def _designs(facts: RunFacts) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for w in facts.workloads:
        if w.designs:
            chart = tradeoff_chart(facts, w)
            blocks += [designs_table(facts, w), *([] if chart is None else [chart])]
    return tuple(blocks)


def _roofline(facts: RunFacts) -> tuple[Block, ...]:
    if not any(w.artifact for w in facts.workloads):
        return ()
    try:
        found = roofline_of_run(facts.folder)
    except InputError as error:
        told = error.diagnostics[0].message
        return (Text(f"No roofline: {told}."),)
    return () if found is None else roofline_blocks(found)


def _proofs(facts: RunFacts) -> tuple[Block, ...]:
    """Of each template that won in full; of the others a line in a table."""
    won = {w.winner.template for w in facts.workloads if w.winner is not None}
    blocks: list[Block] = []
    for t in facts.texts:
        if t.key in won and t.proof:
            found = conditions_of(t.proof)
            blocks += condition_blocks(found, t.key, facts.book.origin(t.step))
    rows = []
    for t in facts.texts:
        if t.proof:
            count = len(items(t.proof.get("obligations")))
            rows.append(
                (
                    Cell(t.key, origin=facts.book.origin(t.step)),
                    Cell(
                        t.verdict,
                        standing="held"
                        if t.verdict == "proved"
                        else "refuted"
                        if t.verdict == "refuted"
                        else "unresolved",
                    ),
                    Cell(str(count), count),
                    seconds_cell(number(t.proof, "seconds")),
                    Cell(words(t.proof, "solver")),
                )
            )
    if rows:
        blocks.append(
            Table(
                title="Proofs of the run's templates",
                columns=(
                    Column("template"),
                    Column("verdict"),
                    Column("obligations", number=True),
                    Column("time", "s", number=True),
                    Column("solver"),
                ),
                rows=tuple(rows),
                says="Proved once for the family, in real arithmetic: it says nothing of rounding "
                "and nothing of the binary.",
                shown=20,
            )
        )
    return tuple(blocks)


def _counterexamples(facts: RunFacts) -> tuple[Block, ...]:
    found = [
        (t.key, c, facts.book.origin(t.step))
        for t in facts.texts
        if t.verdict != "proved" and t.proof
        for c in conditions_of(t.proof)
        if c.counterexample
    ]
    return counterexample_blocks(found, MOST_LANES) if found else ()


def _lineage(facts: RunFacts) -> tuple[Block, ...]:
    ended = ended_text(facts)
    return (*lineage_blocks(facts), *([] if ended is None else [ended]))


def _record(facts: RunFacts) -> tuple[Block, ...]:
    """Of each artifact, evidence kept apart; its own page has all of it."""
    blocks: list[Block] = []
    for w in facts.workloads:
        if not w.record:
            continue
        file = f"{w.artifact}/record.json"
        inner: list[Block] = [
            Text(
                f"The artifact is the folder {w.artifact}; `formwright report {w.artifact}` makes "
                "a page for who must decide whether to deploy it."
            ),
            *tested_blocks(facts.book, w.record, file),
            other_build_table(facts.book, w.record, file),
            trusted_table(facts.book, w.record, file),
        ]
        text = _template_text(facts.folder / w.artifact)
        if text:
            inner.append(
                Fold("The template that was proved", (Source(f"{w.name}: template.fw", text),))
            )
        blocks += inner if len(facts.workloads) == 1 else [Fold(f"{w.name}", tuple(inner))]
    return tuple(blocks)


def _template_text(artifact: Path) -> str:
    try:
        return (artifact / "template.fw").read_text(encoding="utf-8", errors="replace")[:40_000]
    except OSError:
        return ""


def _made(facts: RunFacts) -> str:
    first, last = facts.book.entries[0], facts.book.entries[-1]
    version = words(facts.book.data("problem"), "version")
    return (
        f"made by formwright {__version__} from {facts.folder.resolve().name}/{facts.book.file}; "
        f"the run: formwright {version}, {first.time} to {last.time}"
    )
