"""The page of a population: its templates, where they come from, what was seen of them."""

from collections.abc import Sequence
from typing import Final

from formwright.population.store import Population
from formwright.report.page import (
    Block,
    Cell,
    Column,
    Facts,
    Fold,
    Graph,
    Node,
    Page,
    Section,
    Source,
    Standing,
    Table,
    Text,
)
from formwright.report.pages.population_facts import (
    Kept,
    kept_of,
    standing_of,
)
from formwright.report.pages.population_figures import figures_section
from formwright.report.pages.population_niches import niches_section
from formwright.report.pages.study_words import assignment, listed
from formwright.report.pages.units import counted

MOST_NODES: Final = 400
"""Templates of a lineage that are drawn: the newest, with what they come from."""

MOST_TEXTS: Final = 40
"""Texts that the page carries, those of the fastest templates first."""


def population_page(population: Population, place: str) -> Page:
    """``place`` names the population for people. Reads it, and writes nothing."""
    kept = kept_of(population, place)
    sections = (
        _templates(kept),
        niches_section(kept),
        _lineage(kept),
        figures_section(kept),
        _counterexamples(kept),
        _structures(kept),
        _texts(kept),
        _grounds(),
    )
    return Page(
        title="A population of templates",
        kind="population",
        answer=_answer(kept),
        facts=_facts(kept),
        sections=tuple(s for s in sections if s is not None),
        made=f"population {kept.place}{_when(kept)}",
        entries=kept.book.texts(),
    )


def _when(kept: Kept) -> str:
    if not kept.entries:
        return ""
    first, last = kept.entries[0].created[:16], kept.entries[-1].created[:16]
    return f", templates of {first.replace('T', ' ')} to {last.replace('T', ' ')} UTC"


def _answer(kept: Kept) -> tuple[str, ...]:
    if not kept.entries:
        return ("The population is empty: no template was put into it yet.",)
    proved = sum(e.evidence == "proved" for e in kept.entries)
    reopened = sum(e.reopened for e in kept.entries)
    shelf = sum(not e.admitted for e in kept.entries)
    parts = [f"{proved} proved under the rules of now"] if proved else []
    if reopened:
        parts.append(
            f"{reopened} proved under other rules or with another solver, to be proved"
            " again before they are used"
        )
    if shelf:
        parts.append(f"{shelf} on the shelf, which no claim of correctness rests on")
    niches = {e.niche for e in kept.entries if e.niche}
    problems = {e.problem for e in kept.entries if e.problem}
    found = [
        f"{counted(len(kept.entries), 'template')}: {'; '.join(parts)}.",
        f"They are of {counted(len(problems), 'problem')} and make {counted(len(niches), 'niche')}:"
        " templates of one problem and one structure share a niche, and nothing is thrown out.",
    ]
    seen = kept.facts
    if seen:
        words = {"imported" if f.fact.imported else f.fact.evidence for f in seen}
        kinds = listed(sorted(words))
        chips = {f.fact.chip.digest for f in seen}
        figures = counted(len(seen), "figure")
        found.append(f"{figures} ({kinds}) are kept of them, on {counted(len(chips), 'chip')}.")
    else:
        found.append("No figure is kept of them yet.")
    return tuple(found)


def _facts(kept: Kept) -> Facts:
    counts = kept.counts
    names = {
        "entries": "templates",
        "steps": "steps of lineage",
        "facts": "figures",
        "designs": "designs",
        "met": "counterexamples",
        "held": "declared structures, held or not",
    }
    rows = [(names.get(n, n), Cell(f"{c:,}", float(c))) for n, c in counts.items()]
    return Facts((("Where", Cell(kept.place)), *rows))


def _templates(kept: Kept) -> Section | None:
    if not kept.entries:
        return None
    columns = (
        Column("template"),
        Column("digest"),
        Column("problem"),
        Column("niche"),
        Column("standing"),
        Column("figures", number=True),
        Column("over the best", number=True),
        Column("since"),
    )
    rows = tuple(
        (
            Cell(e.name, origin=kept.row("entries", e.digest)),
            Cell(e.digest[:8]),
            Cell(kept.problem(e)),
            Cell(kept.niche(e)),
            _standing(kept, e.digest),
            Cell(str(len(kept.of(e.digest))), len(kept.of(e.digest))),
            _best(kept, e.digest),
            Cell(e.created[:16].replace("T", " ")),
        )
        for e in kept.entries
    )
    says = (
        "Over the best: the smallest ratio of a figure to the best one of the same"
        " workload, machine, threads and kind; 1 is the best there is. Imported figures count in"
        " this order, as they do when templates are drawn."
    )
    return Section(
        "templates", "Templates", (Table("All templates", columns, rows, says, shown=100),)
    )


def _standing(kept: Kept, digest: str) -> Cell:
    entry = kept.entry(digest)
    word, standing = standing_of(entry)
    proved = entry.evidence == "proved"
    return Cell(
        "proved" if proved else word,
        origin=kept.row("entries", digest),
        evidence="proved" if proved else None,
        standing=None if proved else standing,
    )


def _came(kept: Kept, digest: str) -> str:
    steps = kept.steps.get(digest, ())
    return listed(sorted({f"{s.rule} ({s.proposer})" for s in steps})) or "-"


def _best(kept: Kept, digest: str) -> Cell:
    ratio = kept.ratios.get(digest)
    return Cell("-", None) if ratio is None else Cell(f"{ratio:.3g}", ratio)


def _lineage(kept: Kept) -> Section | None:
    if not kept.entries:
        return None
    shown = kept.entries[-MOST_NODES:]
    known = {e.digest for e in shown}
    nodes = []
    for entry in shown:
        steps = kept.steps.get(entry.digest, ())
        parents = tuple(dict.fromkeys(s.parent for s in steps if s.parent in known))
        why = "; ".join(dict.fromkeys(s.why for s in steps if s.why))
        cells = [Cell(_came(kept, entry.digest)), Cell(why)] if steps else []
        ratio = kept.ratios.get(entry.digest)
        if ratio is not None:
            cells.append(Cell(f"best figure {ratio:.3g} times the best of all", ratio))
        nodes.append(
            Node(
                entry.digest,
                f"{entry.name} {entry.digest[:8]}",
                parents,
                tuple(c for c in cells if c.text),
                _sign(kept, entry.digest),
            )
        )
    roots = sum(not n.parents for n in nodes)
    says = f"{counted(len(nodes), 'template')}, {roots} of them from no other one."
    if len(shown) < len(kept.entries):
        says += f" The newest of {len(kept.entries):,} are drawn."
    return Section("lineage", "Where they come from", (Graph("Lineage", says, tuple(nodes)),))


def _sign(kept: Kept, digest: str) -> Standing:
    return standing_of(kept.entry(digest))[1]


def _counterexamples(kept: Kept) -> Section | None:
    if not kept.met:
        return None
    columns = (
        Column("template"),
        Column("condition"),
        Column("what goes wrong"),
        Column("at"),
        Column("replayed"),
        Column("trace"),
    )
    rows = tuple(
        (
            Cell(kept.name(m.template), origin=kept.row("met", str(n))),
            Cell(m.condition),
            Cell(m.text),
            Cell(assignment(m.values)),
            Cell("yes" if m.replayed else "no"),
            Cell("; ".join(m.trace) or "-"),
        )
        for n, m in enumerate(kept.met)
    )
    table = Table("Counterexamples that templates met", columns, rows, shown=20)
    return Section("counterexamples", "Counterexamples", (table,))


def _structures(kept: Kept) -> Section | None:
    if not kept.held:
        return None
    columns = (
        Column("template"),
        Column("structure"),
        Column("held"),
        Column("chip"),
        Column("workload"),
        Column("detail"),
    )
    rows = tuple(
        (
            Cell(kept.name(h.template), origin=kept.row("held", str(n))),
            Cell(h.structure),
            Cell("held" if h.held else "failed"),
            Cell(h.chip.name),
            Cell(f"{h.work.operator} {assignment(h.work.extents)}"),
            Cell(h.detail or "-"),
        )
        for n, h in enumerate(kept.held)
    )
    table = Table("What templates declare, and whether it held", columns, rows)
    return Section("structures", "Declared structures", (table,))


def _texts(kept: Kept) -> Section | None:
    admitted = [e for e in kept.entries if e.admitted]
    admitted.sort(key=lambda e: (kept.ratios.get(e.digest, float("inf")), e.created, e.digest))
    if not admitted:
        return None
    folds: list[Block] = [
        Fold(f"{e.name} {e.digest[:12]}", (Source(e.name, e.text, e.language),))
        for e in admitted[:MOST_TEXTS]
    ]
    if len(admitted) > MOST_TEXTS:
        folds.append(Text(f"The other {len(admitted) - MOST_TEXTS} texts are in the population."))
    return Section("texts", "The texts, fastest first", tuple(folds))


def _grounds() -> Section:
    facts: Sequence[tuple[str, Cell]] = (
        (
            "Proved",
            Cell(
                "every assignment that the template allows, every size in its scope, in real"
                " arithmetic; kept with the digest of this very text",
                evidence="proved",
            ),
        ),
        (
            "To be proved again",
            Cell(
                "proved under other rules or with another solver: unresolved until it is",
                standing="unresolved",
            ),
        ),
        ("On the shelf", Cell("searchable, and part of no claim of correctness")),
        (
            "Figures",
            Cell(
                "each with its chip, machine, workload and the journal entry that it is"
                " of; on another chip it is shown and ranks nothing"
            ),
        ),
        ("To see it", Cell("formwright population list --shelf, formwright population show NAME")),
    )
    return Section("grounds", "How the numbers were obtained", (Facts(tuple(facts)),))
