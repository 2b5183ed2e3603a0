"""The niches of a population: templates of one problem and one structure."""

from collections.abc import Sequence

from formwright.population.entries import Entry
from formwright.report.page import Axis, Bar, Bars, Cell, Column, Part, Section, Table
from formwright.report.pages.population_facts import Kept
from formwright.report.pages.units import counted

MOST_BARS = 30
"""Niches that are drawn, the largest first."""

MOST_WORDS = 12
"""Words of a structure that a row shows."""


def niches_section(kept: Kept) -> Section | None:
    """``None`` where no template has a niche."""
    groups: dict[str, list[Entry]] = {}
    for entry in kept.entries:
        if entry.niche:
            groups.setdefault(entry.niche, []).append(entry)
    if not groups:
        return None
    largest = sorted(groups.values(), key=lambda g: (-len(g), kept.numbers[g[0].niche]))
    bars = tuple(
        Bar(f"{kept.niche(g[0])}: {kept.problem(g[0])}", _parts(g)) for g in largest[:MOST_BARS]
    )
    says = (
        f"{counted(len(groups), 'niche')}; the largest has {counted(len(largest[0]), 'template')}."
    )
    if len(groups) > MOST_BARS:
        says += f" The {MOST_BARS} largest are drawn."
    blocks = (
        Bars("Templates by niche", says, Axis("templates"), bars),
        _table(kept, list(groups.values())),
    )
    return Section("niches", "Niches", blocks)


def _parts(group: Sequence[Entry]) -> tuple[Part, ...]:
    admitted = sum(e.admitted for e in group)
    counts = (("admitted", admitted), ("on the shelf", len(group) - admitted))
    return tuple(Part(name, float(count)) for name, count in counts if count)


def _table(kept: Kept, groups: Sequence[Sequence[Entry]]) -> Table:
    columns = (
        Column("niche"),
        Column("problem"),
        Column("templates", number=True),
        Column("admitted", number=True),
        Column("best template"),
        Column("over the best", number=True),
        Column("what its structure has that another of the problem lacks"),
    )
    rows = tuple(_row(kept, group, groups) for group in groups)
    says = (
        "A draw gives each niche its turn, best first, before one has a second: an option that is"
        " poor on this chip keeps its seat for another."
    )
    return Table("All niches", columns, rows, says)


def _row(kept: Kept, group: Sequence[Entry], groups: Sequence[Sequence[Entry]]) -> tuple[Cell, ...]:
    first = group[0]
    timed = [e for e in group if e.digest in kept.ratios]
    best = min(timed, key=lambda e: kept.ratios[e.digest], default=None)
    ratio = None if best is None else kept.ratios[best.digest]
    return (
        Cell(kept.niche(first), float(kept.numbers[first.niche])),
        Cell(kept.problem(first)),
        Cell(str(len(group)), float(len(group))),
        Cell(str(sum(e.admitted for e in group)), float(sum(e.admitted for e in group))),
        Cell("-" if best is None else kept.name(best.digest)),
        Cell("-") if ratio is None else Cell(f"{ratio:.3g}", ratio),
        Cell(_apart(first, groups)),
    )


def _words(entry: Entry) -> set[str]:
    if entry.signature is None:
        return set()
    return {word for _, words in entry.signature.parts() for word in words}


def _apart(entry: Entry, groups: Sequence[Sequence[Entry]]) -> str:
    """Words of the structure that not every niche of the problem has."""
    others = [_words(g[0]) for g in groups if g[0].problem == entry.problem]
    shared = set.intersection(*others) if others else set()
    own = sorted(_words(entry) - shared)
    if not own:
        return "-"
    left = f"; {len(own) - MOST_WORDS} more" if len(own) > MOST_WORDS else ""
    return "; ".join(own[:MOST_WORDS]) + left
