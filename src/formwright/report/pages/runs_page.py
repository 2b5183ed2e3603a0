"""The page of several runs: a line for each workload of each, and each with a page of its own."""

from pathlib import Path

from formwright import __version__
from formwright.base.diagnostics import InputError, fail
from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Block,
    Cell,
    Column,
    Facts,
    Origin,
    Page,
    Part,
    Section,
    Table,
)
from formwright.report.pages.entries import Book, journal_in, mapping, number, read_entries, words
from formwright.report.pages.finding import runs_in
from formwright.report.pages.record_blocks import COUNTS, extents_text, verdict_beside
from formwright.report.pages.run_facts import RunFacts, Workload, run_facts
from formwright.report.pages.run_funnel import funnel_of
from formwright.report.pages.units import count_cell, ratio_text, seconds_cell


def runs_page(folder: Path) -> Page:
    """The page of the runs in ``folder``; a journal that cannot be read is said, not passed over.

    Raises ``InputError`` where none can be read.
    """
    found: list[RunFacts] = []
    fault: InputError | None = None
    places, broken = runs_in(folder)
    for place in places:
        journal = journal_in(place)
        assert journal is not None
        try:
            book = Book(read_entries(journal), journal.name, place.name)
        except InputError as error:
            broken[place.name], fault = error.diagnostics[0].message, error
            continue
        found.append(run_facts(place, book))
    if not found:
        raise fault or fail(f"{folder}: {'; '.join(broken.values()) or 'no run is in it'}")
    books = Book(())
    sections = _sections(found, broken)
    for facts in found:
        books.add(facts.book)
    workloads = [w for f in found for w in f.workloads]
    qualified = sum(bool(w.artifact) for w in workloads)
    names = ", ".join(f.name for f in found)
    return Page(
        title=f"{len(found)} runs",
        kind="runs",
        answer=(
            f"{qualified} of {len(workloads)} workloads have a qualified kernel, in "
            f"{len(found)} runs: {names}.",
            *(f"{name} cannot be read: {why}" for name, why in broken.items()),
        ),
        facts=Facts((("runs", count_cell(len(found))), ("workloads", count_cell(len(workloads))))),
        sections=sections,
        made=f"made by formwright {__version__} from {folder.resolve().name}",
        entries=books.texts(),
    )


def _sections(found: list[RunFacts], broken: dict[str, str]) -> tuple[Section, ...]:
    blocks: list[Block] = [_table(found)]
    bars = _bars(found)
    if bars is not None:
        blocks.append(bars)
    return (
        Section("results", "Results", tuple(blocks)),
        Section("funnels", "Candidates, stage by stage", (_funnels(found),)),
    )


def _table(found: list[RunFacts]) -> Table:
    return Table(
        title="Every workload",
        columns=(
            Column("run"),
            Column("workload"),
            Column("shape"),
            Column("template"),
            Column("measured", number=True),
            Column("over the fastest baseline", number=True),
            Column("which"),
            Column("outcome"),
        ),
        rows=tuple(_row(f, w) for f in found for w in f.workloads),
        says="The name of a run leads to its own page, `report.html` in its folder.",
    )


def _row(facts: RunFacts, w: Workload) -> tuple[Cell, ...]:
    book = facts.book
    origin = book.origin(f"confirm/{w.name}")
    name, ratio = nearest_baseline(w)
    value = number(ratio, "median")
    text = "–" if value is None else ratio_text(value, number(ratio, "low"), number(ratio, "high"))
    kernel = number(w.confirm, "programs", "kernel", "seconds", "median")
    if w.artifact:
        outcome = Cell("qualified", standing="held", origin=book.origin(f"qualify/{w.name}"))
    elif w.qualify:
        told = f"not qualified: {words(w.qualify, 'message')}"
        outcome = Cell(told, standing=w.standing, origin=book.origin(f"qualify/{w.name}"))
    else:
        outcome = Cell("not decided", standing="unresolved")
    page = f"{facts.folder.name}/report.html"
    there = (facts.folder / "report.html").is_file()
    return (
        Cell(facts.name, origin=Origin(page) if there else None),
        Cell(w.name),
        Cell(extents_text(w.extents)),
        Cell("–" if w.winner is None else w.winner.template),
        seconds_cell(kernel, origin, None if kernel is None else "measured"),
        Cell(text, value, None if value is None else origin),
        Cell(name or "–"),
        outcome,
    )


def nearest_baseline(w: Workload) -> tuple[str, object]:
    """The baseline that comes closest to the kernel, with its ratio."""
    ratios = {
        name: r
        for name, r in mapping(w.confirm.get("ratios")).items()
        if number(r, "median") is not None
    }
    name = min(ratios, key=lambda n: number(ratios[n], "median") or 0.0, default="")
    return name, ratios.get(name)


def _bars(found: list[RunFacts]) -> Bars | None:
    bars = []
    for facts in found:
        for w in facts.workloads:
            name, ratio = nearest_baseline(w)
            value = number(ratio, "median")
            if value is not None:
                origin = facts.book.origin(f"confirm/{w.name}")
                label = w.name if w.name == facts.name else f"{facts.name}, {w.name}"
                part = Part(f"over {name}", value, origin)
                bars.append(Bar(label, (part,), _beside(w, name, ratio)))
    if not bars:
        return None
    return Bars(
        "Time of the fastest baseline over the kernel's",
        "In the median, above 1 the kernel takes less time than every baseline that was timed "
        "beside it. In brackets the 95 % interval: one that holds 1 shows no difference.",
        Axis("times as fast"),
        tuple(bars),
    )


def _beside(w: Workload, name: str, ratio: object) -> str:
    """The baseline with the interval, and what that says."""
    low, high = number(ratio, "low"), number(ratio, "high")
    verdict = verdict_beside(w.confirm, name)
    told = verdict if verdict in COUNTS else f"{verdict}, no difference that counts"
    interval = "" if low is None or high is None else f" [{low:.3g}, {high:.3g}]"
    return f"over {name}{interval}: {told}"


def _funnels(found: list[RunFacts]) -> Table:
    counts = [(f, funnel_of(f)) for f in found]
    stages = [name for name, _ in (*counts[0][1].texts, *counts[0][1].designs)] if counts else []
    return Table(
        title="Stages of each run",
        columns=(Column("run"), *(Column(name, number=True) for name in stages)),
        rows=tuple(
            (Cell(f.name), *(count_cell(n) for _, n in (*funnel.texts, *funnel.designs)))
            for f, funnel in counts
        ),
        says="Texts up to solved, designs from then on. The run's own page says what was lost.",
    )
