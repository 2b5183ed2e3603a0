"""The page of a run: what came out, what was lost where, what it rests on, what it took."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from formwright import __version__
from formwright.base.diagnostics import fail
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
    evidence_in,
    verdict_cell,
)
from formwright.report.pages.counterexamples import counterexample_blocks
from formwright.report.pages.entries import (
    Book,
    at,
    items,
    journal_in,
    mapping,
    number,
    read_entries,
    text_within,
    words,
)
from formwright.report.pages.record_blocks import (
    other_build_table,
    tested_blocks,
    timing_blocks,
    trusted_table,
)
from formwright.report.pages.roofline_blocks import roofline_of_place
from formwright.report.pages.run_answer import answer, results_table
from formwright.report.pages.run_budget import budget_blocks
from formwright.report.pages.run_facts import RunFacts, run_facts
from formwright.report.pages.run_funnel import (
    Funnel,
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
from formwright.report.pages.units import seconds_cell

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
        ("results", "Results", lambda: (results_table(facts),)),
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
    qualified = any(w.artifact for w in facts.workloads)
    return roofline_of_place(facts.folder) if qualified else ()


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
                    verdict_cell(t.verdict, evidence_in(t.proof)),
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
                    Column("time", number=True),
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
        text = text_within(facts.folder, f"{w.artifact}/template.fw")[:40_000]
        if text:
            inner.append(
                Fold("The template that was proved", (Source(f"{w.name}: template.fw", text),))
            )
        blocks += inner if len(facts.workloads) == 1 else [Fold(f"{w.name}", tuple(inner))]
    return tuple(blocks)


def _made(facts: RunFacts) -> str:
    first, last = facts.book.entries[0], facts.book.entries[-1]
    version = words(facts.book.data("problem"), "version")
    return (
        f"made by formwright {__version__} from {facts.folder.resolve().name}/{facts.book.file}; "
        f"the run: formwright {version}, {first.time} to {last.time}"
    )
