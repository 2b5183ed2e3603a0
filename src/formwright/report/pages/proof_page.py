"""The page of a proof: of a template or a chain, from the JSON of ``prove`` or by its name."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from formwright import __version__
from formwright.flow.chain_proving import prove_chain
from formwright.flow.proving import prove_template
from formwright.ir.chain import Chain
from formwright.lang.chain_sources import names_chain
from formwright.lang.chains import load_chain
from formwright.lang.sources import load_source
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
from formwright.report.pages.chain_grounds import composition_resting, shipped_chain
from formwright.report.pages.conditions import (
    Condition,
    condition_blocks,
    conditions_of,
    evidence_in,
    evidence_of,
    standing_of,
    verdict_cell,
    verdict_of,
)
from formwright.report.pages.counterexamples import counterexample_blocks
from formwright.report.pages.entries import Book, items, mapping, number, read_json, words
from formwright.report.pages.units import count_cell, seconds_cell

MOST_LANES: Final = 8

_STEP: Final = "the step refines what stands above it"
_THEOREMS: Final = {"composition": "the steps fit together, from the workload to the last"}


def proof_file_page(file: Path) -> Page:
    """The page of what ``prove NAME --json`` wrote. Raises ``InputError`` for another file."""
    whole = read_json(file)
    if "chain" in whole:
        return _chain_page(whole, file.name, (), shipped_chain(whole))
    return _template_page(whole, file.name, ())


def proved_page(name: str, progress: Callable[[str], None] = lambda _: None) -> Page:
    """The page of a template or a chain: proved now, or as it is kept. Raises ``InputError``."""
    if names_chain(name):
        proved = prove_chain(name, progress=progress)
        return _chain_page(proved.as_json(), f"{Path(name).stem}.json", (), load_chain(name))
    proof = prove_template(name, progress=progress).as_json()
    source = load_source(name)
    text = Source(source.name, source.text, "fw")
    return _template_page(proof, f"{Path(name).stem}.json", (Fold("The template", (text,)),))


def _template_page(proof: Mapping[str, Any], file: str, more: tuple[Block, ...]) -> Page:
    book = Book((), file)
    origin = book.part(file, proof)
    name, verdict = words(proof, "template"), verdict_of(proof)
    found = conditions_of(proof)
    sections = [
        Section(
            "conditions",
            "Conditions, and what each rests on",
            condition_blocks(found, name, origin),
        )
    ]
    missed = _open_section(found)
    if missed is not None:
        sections.insert(0, missed)
    met = [(name, c, origin) for c in found if c.counterexample]
    if met:
        blocks = counterexample_blocks(met, MOST_LANES)
        sections.insert(0, Section("counterexamples", "Counterexamples", blocks))
    if more:
        sections.append(Section("text", "The text", more))
    return Page(
        title=f"Proof of {name}",
        kind="proof",
        answer=_answer(name, verdict, found),
        facts=_facts(proof, verdict, found),
        sections=tuple(sections),
        made=f"made by formwright {__version__} from {file}; proved by {words(proof, 'solver')}",
        entries=book.texts(),
    )


def _answer(name: str, verdict: str, found: tuple[Condition, ...]) -> tuple[str, ...]:
    """The theorem in a sentence, or what stands in its way."""
    rests = Counter(c.rests for c in found if c.verdict == "proved")
    bounded = sum(c.evidence == "bounded" for c in found)
    if verdict == "proved" and not bounded:
        told = [
            f"{name} is proved: every design that it allows computes its workload, for every "
            "extent and chip of its scope, in real arithmetic."
        ]
    elif verdict == "proved":
        told = [f"No obligation of {name} is open, but not all are shown for every extent."]
    else:
        open_ = [c.name for c in found if c.verdict != "proved"]
        told = [
            f"{name} is {verdict}: {len(open_)} of {len(found)} obligations are not proved "
            f"({', '.join(open_[:5])}{' …' if len(open_) > 5 else ''}). It is not accepted."
        ]
    if bounded:
        told.append(f"{bounded} of {len(found)} obligations are shown for a bounded model only.")
    if rests:
        most = "; ".join(f"{n} rest on {what}" for what, n in rests.most_common())
        told.append(f"Of its {len(found)} obligations {most}.")
    told.append("It says nothing of rounding, of a compiler, or of a binary.")
    return tuple(told)


def _facts(proof: Mapping[str, Any], verdict: str, found: tuple[Condition, ...]) -> Facts:
    kinds = {c.evidence for c in found}
    evidence = "bounded" if "bounded" in kinds else "proved" if kinds == {"proved"} else "none"
    return Facts(
        (
            (
                "verdict",
                Cell(
                    verdict,
                    standing=standing_of(verdict),
                    evidence=evidence_of(evidence) if verdict == "proved" else None,
                ),
            ),
            ("obligations", count_cell(len(found))),
            ("solver", Cell(words(proof, "solver") or "–")),
            ("queries that were asked now", count_cell(int(number(proof, "queries") or 0))),
            ("time", seconds_cell(number(proof, "seconds"))),
            ("digest of its content", Cell(words(proof, "digest") or "–")),
        )
    )


def _open_section(found: tuple[Condition, ...]) -> Section | None:
    missed = [c for c in found if c.verdict != "proved"]
    if not missed:
        return None
    table = Table(
        title="Obligations that are not proved",
        columns=(Column("obligation"), Column("condition"), Column("verdict"), Column("why")),
        rows=tuple(
            (
                Cell(c.name),
                Cell(f"{c.group} {c.condition}".strip()),
                Cell(c.verdict, standing=standing_of(c.verdict)),
                Cell(c.detail or "–"),
            )
            for c in missed
        ),
        says="Unresolved and vacuous are never accepted.",
    )
    return Section("open", "What is not proved", (table,))


def _chain_page(
    whole: Mapping[str, Any], file: str, more: tuple[Block, ...], chain: Chain | None
) -> Page:
    book = Book((), file)
    steps = [mapping(s) for s in items(whole.get("steps"))]
    composition = mapping(whole.get("composition"))
    name, verdict = words(whole, "chain"), words(whole, "verdict")
    parts_of = {verdict_of(p) for p in (*steps, composition)}
    beyond = verdict == "proved" and parts_of != {"proved"}
    verdict = "unresolved" if beyond else verdict
    solver = words(whole, "solver")
    parts = [
        (words(s, "name"), conditions_of({**s, "solver": solver}), book.part(file, whole, "steps"))
        for s in steps
    ]
    parts.append(
        (
            "composition",
            conditions_of(
                {**composition, "solver": solver},
                None if chain is None else composition_resting(chain),
            ),
            book.part(file, whole, "composition"),
        )
    )
    sections = [
        Section("theorem", "The theorem and what it assumes", _theorem(book, whole, file)),
        Section("steps", "The steps, from the top down", (_steps(whole, steps, parts[-1][1]),)),
    ]
    met = [(step, c, origin) for step, found, origin in parts for c in found if c.counterexample]
    if met:
        blocks = counterexample_blocks(met, MOST_LANES)
        sections.insert(0, Section("counterexamples", "Counterexamples", blocks))
    for place, (step, found, origin) in enumerate(parts, 1):
        if found:
            title = f"{place}. {step}" if step != "composition" else "How the steps compose"
            sections.append(
                Section(
                    f"part-{place}",
                    title,
                    condition_blocks(found, step, origin, _THEOREMS.get(step, _STEP)),
                )
            )
    count = sum(len(found) for _, found, _ in parts)
    where = words(whole, "broken")
    told = (
        f"The chain {name} is proved: {len(steps)} steps and their composition, {count} "
        "obligations, one theorem."
        if verdict == "proved"
        else f"The chain {name} is {verdict}, at {where}. What stands below it was not looked at."
    )
    if beyond:
        told = (
            f"The chain {name} is {verdict}: the file calls it proved, which the obligations that "
            "it lists do not bear out."
        )
    return Page(
        title=f"Proof of the chain {name}",
        kind="proof",
        answer=(told,) if beyond else (told, words(whole, "theorem")),
        facts=_facts(whole, verdict, tuple(c for _, found, _ in parts for c in found)),
        sections=(*sections, *((Section("text", "The text", more),) if more else ())),
        made=f"made by formwright {__version__} from {file}; proved by {solver}",
        entries=book.texts(),
    )


def _theorem(book: Book, whole: Mapping[str, Any], file: str) -> tuple[Block, ...]:
    origin = book.part(file, whole, "assumptions")
    table = Table(
        title="What the theorem assumes",
        columns=(Column("assumption"), Column("said by"), Column("text")),
        rows=tuple(
            (Cell(words(a, "name"), origin=origin), Cell(words(a, "of")), Cell(words(a, "text")))
            for a in map(mapping, items(whole.get("assumptions")))
        ),
        shown=30,
    )
    return (Text(words(whole, "theorem")), table)


def _steps(
    whole: Mapping[str, Any], steps: list[Mapping[str, Any]], around: tuple[Condition, ...]
) -> Table:
    rows = []
    for place, step in enumerate(steps, 1):
        found = conditions_of(step)
        verdict = verdict_of(step)
        inherited = step.get("inherited") is True
        shown = f"not looked at: {words(step, 'because')} is not proved" if inherited else verdict
        cell = verdict_cell(verdict, evidence_in(step))
        rows.append(
            (
                Cell(str(place), place),
                Cell(words(step, "name")),
                count_cell(len(found)),
                replace(cell, text=shown) if inherited else cell,
                seconds_cell(number(step, "seconds")),
            )
        )
    composition = mapping(whole.get("composition"))
    rows.append(
        (
            Cell("–", len(steps) + 1.0),
            Cell("composition"),
            count_cell(len(around)),
            verdict_cell(verdict_of(composition), evidence_in(composition)),
            Cell("–"),
        )
    )
    return Table(
        title="Steps",
        columns=(
            Column("order", number=True),
            Column("step"),
            Column("obligations", number=True),
            Column("verdict"),
            Column("time", number=True),
        ),
        rows=tuple(rows),
    )
