"""A population as a page reads it: once, whole, with what each figure leads to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from formwright.population.entries import Entry, Fact, Held, KeptFact, Met, Step
from formwright.population.plain import told
from formwright.population.store import Population
from formwright.report.page import Origin, Standing
from formwright.report.pages.entries import Book

MOST_FACTS: Final = 10_000
"""Figures that a page shows: the newest."""


@dataclass(frozen=True, slots=True)
class Kept:
    """``steps`` by child; ``ratios``: of each template, the smallest ratio of a figure to the best
    of the same workload, machine, threads and kind. ``numbers``: niches, counted as they came.
    ``file`` stands beside the page where the population is in one."""

    place: str
    file: str
    counts: Mapping[str, int]
    entries: tuple[Entry, ...]
    steps: Mapping[str, tuple[Step, ...]]
    facts: tuple[KeptFact, ...]
    met: tuple[Met, ...]
    held: tuple[Held, ...]
    ratios: Mapping[str, float]
    numbers: Mapping[str, int]
    problems: Mapping[str, str]
    by_template: Mapping[str, tuple[KeptFact, ...]]
    by_digest: Mapping[str, Entry]
    book: Book = field(default_factory=lambda: Book(()))

    def entry(self, digest: str) -> Entry:
        return self.by_digest[digest]

    def name(self, digest: str) -> str:
        found = self.by_digest.get(digest)
        return digest[:12] if found is None else f"{found.name} {digest[:8]}"

    def of(self, digest: str) -> tuple[KeptFact, ...]:
        return self.by_template.get(digest, ())

    def niche(self, entry: Entry) -> str:
        """``1``, ``2``, …, in the order in which their first templates came."""
        return f"niche {self.numbers[entry.niche]}" if entry.niche else "none"

    def problem(self, entry: Entry) -> str:
        """The operators that figures of the problem are of, else the tensors of its call."""
        return self.problems.get(entry.problem) or entry.interface or "-"

    def row(self, table: str, key: str) -> Origin:
        """The origin of what stands in a row, with the row as the store has it."""
        data = self._row(table, key)
        return self.book.part(self.file, {table: {key: data}}, table, key)

    def _row(self, table: str, key: str) -> Any:
        match table:
            case "entries":
                entry = self.by_digest[key]
                return {
                    "name": entry.name,
                    "place": entry.place,
                    "evidence": entry.evidence,
                    "verdict": entry.verdict,
                    "reason": entry.reason,
                    "proof": entry.proof_digest,
                    "created": entry.created,
                    "lineage": [told(s) for s in self.steps.get(key, ())],
                }
            case "facts":
                return told(self.facts[int(key)].fact)
            case "met":
                return told(self.met[int(key)])
            case "held":
                return told(self.held[int(key)])
            case other:
                raise ValueError(other)


def kept_of(population: Population, place: str) -> Kept:
    """Everything that a page shows, read table by table."""
    entries = population.entries()
    facts = population.facts()[-MOST_FACTS:]
    steps: dict[str, list[Step]] = {}
    for step in population.steps():
        steps.setdefault(step.child, []).append(step)
    by_template: dict[str, list[KeptFact]] = {}
    for kept in facts:
        by_template.setdefault(kept.fact.template, []).append(kept)
    niches = dict.fromkeys(e.niche for e in entries if e.niche)
    return Kept(
        place=place,
        file=place if "://" in place else Path(place).name,
        counts=population.counts(),
        entries=entries,
        steps={child: tuple(found) for child, found in steps.items()},
        facts=facts,
        met=population.counterexamples(),
        held=population.held(),
        ratios=_ratios(facts),
        numbers={niche: number for number, niche in enumerate(niches, start=1)},
        problems=_problems(entries, by_template),
        by_template={digest: tuple(found) for digest, found in by_template.items()},
        by_digest={e.digest: e for e in entries},
    )


def compared(fact: Fact) -> tuple[object, ...]:
    """Figures that may be compared have this in common."""
    work = fact.work
    shape = (*sorted(work.extents.items()), *sorted(work.dtypes.items()))
    where = (fact.machine, fact.chip.digest)
    return (work.contract, shape, work.threads, *where, fact.quantity, fact.evidence)


def _ratios(facts: tuple[KeptFact, ...]) -> dict[str, float]:
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for kept in facts:
        groups.setdefault(compared(kept.fact), []).append(kept.fact)
    ratios: dict[str, float] = {}
    for group in groups.values():
        best = min(f.value for f in group)
        for fact in group:
            ratio = fact.value / best if best > 0 else 1.0
            ratios[fact.template] = min(ratio, ratios.get(fact.template, ratio))
    return ratios


def _problems(entries: tuple[Entry, ...], facts: Mapping[str, list[KeptFact]]) -> dict[str, str]:
    names: dict[str, set[str]] = {}
    for entry in entries:
        for kept in facts.get(entry.digest, ()):
            if entry.problem and kept.fact.work.operator:
                names.setdefault(entry.problem, set()).add(kept.fact.work.operator)
    return {problem: ", ".join(sorted(found)) for problem, found in names.items()}


def standing_of(entry: Entry) -> tuple[str, Standing]:
    """In a word, and how the verdict came out as it stands now."""
    if entry.evidence == "proved":
        return "proved", "held"
    if entry.reopened:
        return "to be proved again", "unresolved"
    if entry.verdict == "refuted":
        return "shelf: refuted", "refuted"
    return ("shelf" if entry.verdict == "none" else f"shelf: {entry.verdict}"), "unresolved"
