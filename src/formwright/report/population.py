"""The population on a terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from formwright.flow.populating import Moved
from formwright.population.entries import Entry, Step
from formwright.population.export import entry_data
from formwright.population.importing import Imported
from formwright.population.plain import told
from formwright.population.settling import Settled
from formwright.population.store import Population
from formwright.population.telling import fact_line, met_line, standing_line
from formwright.report.tables import print_lines, print_table, print_text, print_title


def list_as_json(population: Population, entries: Sequence[Entry]) -> dict[str, Any]:
    """Entries without their texts, and how many rows the store has of each kind."""
    return {
        "schema": 1,
        "templates": [entry_data(e) | {"evidence": e.evidence} for e in entries],
        "rows": population.counts(),
    }


def show_as_json(population: Population, entry: Entry) -> dict[str, Any]:
    """All that is known of one entry."""
    facts = population.facts(entry.digest)
    return {
        "schema": 1,
        **entry_data(entry),
        "evidence": entry.evidence,
        "text": entry.text,
        "facts": [told(f.fact) | {"imported": f.fact.imported} for f in facts],
        "designs": [told(d) for d in population.designs(entry.digest)],
        "structures": [told(h) for h in population.held(entry.digest)],
        "counterexamples": [told(m) for m in population.counterexamples(entry.digest)],
        "lineage": [told(s) for s in population.lineage(entry.digest)],
        "offspring": [told(s) for s in population.offspring(entry.digest)],
    }


def settled_as_json(settled: Sequence[Settled]) -> dict[str, Any]:
    """What became of each text that was added."""
    return {
        "schema": 1,
        "templates": [
            entry_data(s.entry) | {"evidence": s.entry.evidence, "reasons": list(s.reasons)}
            for s in settled
        ],
    }


def imported_as_json(found: Imported) -> dict[str, Any]:
    """What became of each text that was imported."""
    kinds = (("admitted", found.admitted), ("shelved", found.shelved), ("known", found.known))
    return {
        "schema": 1,
        **{word: [{"name": e.name, "digest": e.digest} for e in es] for word, es in kinds},
    }


def print_list(console: Console, entries: Sequence[Entry]) -> None:
    """One line an entry; templates of one niche stand together."""
    if not entries:
        console.print("no templates; formwright population add NAME puts one in")
        return
    rows = []
    for entry in sorted(entries, key=lambda e: (e.problem, e.niche, e.created, e.digest)):
        problem, niche = entry.problem[:8] or "-", entry.niche[:8] or "-"
        rows.append((entry.name, entry.digest[:12], problem, niche, _standing(entry)))
    print_table(console, ("template", "digest", "problem", "niche", "standing"), rows)


def _standing(entry: Entry) -> str:
    """In a word; ``show`` has the reasons."""
    if entry.admitted:
        return "reopened" if entry.reopened else "proved"
    return "shelf" if entry.verdict == "none" else f"shelf: {entry.verdict}"


def print_entry(console: Console, population: Population, entry: Entry) -> None:
    """Standing, structure, what was seen, where it comes from, and the text."""
    print_title(console, entry.name, f" {entry.digest[:16]}")
    print_lines(console, [standing_line(entry)])
    if entry.proof is not None:
        count = len(entry.proof["obligations"])
        print_lines(console, [f"proof {entry.proof_digest[:16]}: {count} obligations"])
    if entry.signature is not None:
        for part, words in entry.signature.parts():
            print_lines(console, [f"{part}: {'; '.join(words) or 'none'}"])
    _section(console, "facts", [fact_line(f) for f in population.facts(entry.digest)])
    met = population.counterexamples(entry.digest)
    _section(console, "counterexamples", [met_line(m) for m in met])
    held = population.held(entry.digest)
    _section(
        console,
        "structures",
        [f"{h.structure}: {'held' if h.held else 'failed'} on {h.chip.name}" for h in held],
    )
    _section(console, "lineage", [_step(s) for s in population.lineage(entry.digest)])
    console.print()
    print_text(console, entry.text)


def _step(step: Step) -> str:
    parent = f" from {step.parent[:12]}" if step.parent else ""
    why = f": {step.why}" if step.why else ""
    return f"{step.child[:12]}{parent} by {step.rule} ({step.proposer}){why}"


def _section(console: Console, heading: str, lines: Sequence[str]) -> None:
    if lines:
        console.print()
        print_title(console, heading)
        print_lines(console, lines)


def print_settled(console: Console, settled: Sequence[Settled]) -> None:
    """One line a text."""
    print_lines(console, [f"{s.entry.name}: {standing_line(s.entry)}" for s in settled])


def print_imported(console: Console, found: Imported) -> None:
    """Counts, and each text that was not admitted with the reason."""
    console.print(
        f"{len(found.admitted)} proved here and admitted, {len(found.shelved)} on the shelf, "
        f"{len(found.known)} known before"
    )
    print_lines(console, [f"{e.name}: {standing_line(e)}" for e in found.shelved])


def moved_as_json(moved: Moved) -> dict[str, Any]:
    """Rows by table, entries whose standing was taken over, facts that the target has otherwise."""
    copied = moved.copied
    return {
        "schema": 1,
        "from": moved.source,
        "to": moved.target,
        "rows": {t: {"new": copied.new[t], "known": copied.known[t]} for t in copied.new},
        "raised": list(copied.raised),
        "differing": list(copied.differing),
    }


def print_moved(console: Console, moved: Moved) -> None:
    """One line a table, then what the two said differently."""
    copied = moved.copied
    print_lines(console, [f"{moved.source} to {moved.target}"])
    told = ((t, copied.new[t], copied.known[t]) for t in copied.new)
    print_lines(console, [f"  {t}: {new} new, {known} known before" for t, new, known in told])
    if copied.raised:
        print_lines(console, [f"  {len(copied.raised)} entries stand higher than before"])
    if copied.differing:
        told_otherwise = f"  {len(copied.differing)} facts have another figure here, which stays: "
        print_lines(console, [told_otherwise + ", ".join(k[:12] for k in copied.differing)])
