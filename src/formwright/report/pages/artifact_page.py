"""The page of an artifact, for who must decide whether to deploy it: what it is for, what is
known of it by which evidence, how fast it is, and what nobody has tested."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from formwright import __version__
from formwright.base.diagnostics import InputError
from formwright.qualify.artifact import RECORD, ArtifactError, read_artifact, read_record
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
from formwright.report.pages.artifact_promise import promise_blocks
from formwright.report.pages.conditions import (
    condition_blocks,
    conditions_of,
    evidence_in,
    evidence_of,
    standing_of,
    verdict_cell,
    verdict_of,
)
from formwright.report.pages.entries import (
    Book,
    at,
    items,
    mapping,
    number,
    read_json,
    text_within,
    words,
)
from formwright.report.pages.record_blocks import (
    beside_text,
    extents_text,
    in_order,
    memory_facts,
    other_build_table,
    tested_blocks,
    timing_blocks,
    trusted_table,
)
from formwright.report.pages.roofline_blocks import roofline_of_place
from formwright.report.pages.run_funnel import assignment_text
from formwright.report.pages.units import count_cell, seconds_cell, seconds_text
from formwright.report.pages.untested import untested

MOST_TEXT: Final = 60_000
"""Characters of a template or a header that the page carries."""

NONE: Final = "none"


def artifact_page(folder: Path) -> Page:
    """The page of the artifact in ``folder``; nothing of it is run.

    Its files are held against the hashes of its record; one that was changed is said first.
    Raises ``InputError`` for a folder without a record that can be read.
    """
    record = read_record(folder)
    fault = _fault(folder)
    book = Book((), RECORD)
    contract = _contract(folder)
    return Page(
        title=f"Artifact {words(record, 'workload', 'name') or folder.resolve().name}",
        kind="artifact",
        answer=_answer(record, fault),
        facts=_facts(book, record),
        sections=_sections(folder, book, record, contract, fault),
        made=(
            f"made by formwright {__version__} from {folder.resolve().name}/{RECORD}; qualified "
            f"{words(record, 'created')} by formwright {words(record, 'formwright')}"
        ),
        entries=book.texts(),
    )


def _fault(folder: Path) -> str:
    """Why the folder is not what its record says; empty where it is."""
    try:
        read_artifact(folder)
    except ArtifactError as error:
        return error.diagnostics[0].message.replace(str(folder), folder.resolve().name)
    return ""


def _contract(folder: Path) -> Mapping[str, Any]:
    try:
        return read_json(folder / "contract.json")
    except InputError:
        return {}


def _answer(record: Mapping[str, Any], fault: str) -> tuple[str, ...]:
    told = []
    if fault:
        told.append(f"Do not deploy this folder: {fault}. `formwright.load` refuses it.")
    told.append(
        f"A kernel of {words(record, 'contract', 'operator')}, timed at "
        f"{_shape(record)}: {_time(record)}"
    )
    told.append(_rests(record))
    told.append(
        "Outside its domain `formwright.load` does not call it: the call goes to the next kernel "
        "of the chain and to NumPy last, and says so once."
    )
    return tuple(told)


def _shape(record: Mapping[str, Any]) -> str:
    extents = mapping(at(record, "workload", "extents"))
    return extents_text(in_order(extents, items(at(record, "contract", "formula"))))


def _time(record: Mapping[str, Any]) -> str:
    timing = mapping(record.get("timing"))
    median = number(timing, "programs", "kernel", "seconds", "median")
    if median is None:
        return "it has no time."
    cpu = words(record, "facts", "cpu")
    return f"{seconds_text(median)} a call in the median (measured on {cpu}){beside_text(timing)}."


def _rests(record: Mapping[str, Any]) -> str:
    """Evidence kept apart, in one sentence each."""
    template = mapping(at(record, "evidence", "template"))
    binary = mapping(at(record, "evidence", "binary"))
    obligations = items(template.get("obligations"))
    if words(template, "verdict") == NONE:
        first = "Nothing is proved of it: another tool wrote it."
    else:
        first = (
            f"Its template is {verdict_of(template)} in {words(template, 'semantics')} "
            f"({len(obligations)} obligations, {words(template, 'solver')}), which says nothing "
            "of this binary."
        )
    checks = [mapping(c) for c in items(binary.get("checks"))]
    held = sum(words(c, "verdict") == "held" for c in checks)
    others = [mapping(o) for o in items(at(record, "evidence", "other_build"))]
    fine = sum(words(o, "verdict") == "held" for o in others)
    return (
        f"{first} Of this very binary {held} of {len(checks)} checks held in "
        f"{len(items(binary.get('runs')))} runs (tested); {fine} of {len(others)} other builds of "
        "its source held (tested)."
    )


def _facts(book: Book, record: Mapping[str, Any]) -> Facts:
    def cell(*path: str) -> Cell:
        return Cell(words(record, *path) or "–", origin=book.part(RECORD, record, path[0]))

    assignment = assignment_text(mapping(record.get("assignment")))
    return Facts(
        (
            ("operator", cell("contract", "operator")),
            ("timed at", Cell(_shape(record))),
            ("template", cell("template", "name")),
            ("decisions", Cell(assignment or "–", origin=book.part(RECORD, record, "assignment"))),
            ("CPU", cell("facts", "cpu")),
            (
                "instruction set",
                Cell(" ".join(map(str, items(at(record, "build", "target")))) or "–"),
            ),
            ("compiler", cell("build", "compiler")),
            ("sandbox of the tests", cell("sandbox")),
            ("predicted", seconds_cell(number(record, "predicted_seconds"), evidence="modelled")),
        )
    )


def _sections(
    folder: Path,
    book: Book,
    record: Mapping[str, Any],
    contract: Mapping[str, Any],
    fault: str,
) -> tuple[Section, ...]:
    timing = mapping(record.get("timing"))
    origin = book.part(RECORD, record, "timing")
    name = words(record, "workload", "name")
    gaps = untested(record, contract)
    made: tuple[tuple[str, str, tuple[Block, ...]], ...] = (
        ("domain", "What it promises, and where", promise_blocks(book, record, contract)),
        ("evidence", "What is known, by what", (_evidence(book, record),)),
        ("proved", "Proved: the template", _proved(book, record)),
        (
            "tested",
            "Tested: this binary and other builds",
            (*tested_blocks(book, record, RECORD), other_build_table(book, record, RECORD)),
        ),
        (
            "measured",
            "Measured: how fast it is",
            (
                *timing_blocks(timing, origin, f"Times of a call, {name}"),
                memory_facts(book, record, RECORD),
            ),
        ),
        ("roofline", "Roofline by memory level", () if fault else roofline_of_place(folder)),
        ("untested", "What was not tested", (gaps,)),
        ("trusted", "What is trusted", (trusted_table(book, record, RECORD),)),
        ("made", "How it was made", _generation(book, record)),
        ("files", "Files", (_files(book, record, fault), *_texts(folder))),
    )
    return tuple(Section(key, title, blocks) for key, title, blocks in made if blocks)


def _evidence(book: Book, record: Mapping[str, Any]) -> Table:
    """One row for each kind of statement; none stands for another."""
    evidence = mapping(record.get("evidence"))
    template, binary = mapping(evidence.get("template")), mapping(evidence.get("binary"))
    verdict = verdict_of(template)
    others = [words(o, "verdict") for o in items(evidence.get("other_build"))]
    worst = next((v for v in ("refuted", "unresolved") if v in others), "held" if others else "–")
    rows = [
        (
            Cell("the template", origin=book.part(RECORD, record, "evidence", "template")),
            Cell("nothing is proved", standing=standing_of(verdict))
            if verdict == NONE
            else verdict_cell(verdict, evidence_in(template)),
            count_cell(len(items(template.get("obligations")))),
            Cell("every design and extent that it allows, in real arithmetic; not this binary"),
        ),
        (
            Cell("this binary", origin=book.part(RECORD, record, "evidence", "binary")),
            _tested(words(binary, "verdict")),
            count_cell(len(items(binary.get("runs")))),
            Cell("the inputs that were run, listed by shape, kind and seed"),
        ),
        (
            Cell("other builds", origin=book.part(RECORD, record, "evidence", "other_build")),
            _tested(worst),
            count_cell(len(others)),
            Cell("the source, built with sanitizers and over exact numbers; not this binary"),
        ),
        (
            Cell("its time", origin=book.part(RECORD, record, "timing")),
            Cell("timed", evidence="measured"),
            count_cell(len(items(at(record, "timing", "programs", "kernel", "samples")))),
            Cell("this machine, these extents, with a distribution; no promise elsewhere"),
        ),
        (
            Cell("predicted time", origin=book.part(RECORD, record, "predicted_seconds")),
            seconds_cell(number(record, "predicted_seconds"), evidence="modelled"),
            Cell("–"),
            Cell("a formula of the template, refitted to what was measured"),
        ),
    ]
    return Table(
        title="Evidence, kept apart",
        columns=(
            Column("about"),
            Column("verdict"),
            Column("obligations, runs, samples", number=True),
            Column("what it covers"),
        ),
        rows=tuple(rows),
    )


def _tested(verdict: str) -> Cell:
    evidence = evidence_of("tested") if verdict == "held" else None
    return Cell(verdict, standing=standing_of(verdict), evidence=evidence)


def _proved(book: Book, record: Mapping[str, Any]) -> tuple[Block, ...]:
    template = mapping(at(record, "evidence", "template"))
    if words(template, "verdict") == NONE:
        return (Text("Nothing: the kernel was written by another tool or a person."),)
    found = conditions_of(template)
    origin = book.part(RECORD, record, "evidence", "template")
    return condition_blocks(found, words(record, "template", "name"), origin)


def _generation(book: Book, record: Mapping[str, Any]) -> tuple[Block, ...]:
    """What the search was given, and the command of the build."""
    made = mapping(record.get("generation"))
    inputs = mapping(made.get("inputs"))
    budget = mapping(made.get("budget"))
    origin = book.part(RECORD, record, "generation")
    command = " ".join(map(str, items(at(record, "build", "command"))))
    rows = [("made by", Cell(words(made, "by") or "–", origin=origin))]
    rows += [
        (name, Cell(str(value), origin=origin))
        for name, value in inputs.items()
        if name != "templates"
    ]
    rows += [("templates that were searched", count_cell(len(mapping(inputs.get("templates")))))]
    rows += [(f"budget: {name}", Cell(str(value), origin=origin)) for name, value in budget.items()]
    renewed = mapping(record.get("renewed"))
    if renewed:
        changed = ", ".join(map(str, items(renewed.get("changed"))))
        rows.append(("requalified", Cell(f"{words(renewed, 'at')}, since {changed} changed")))
    return (Facts(tuple(rows)), Source("How it was built", command, "sh"))


def _files(book: Book, record: Mapping[str, Any], fault: str) -> Table:
    origin = book.part(RECORD, record, "files")
    says = "SHA-256 as qualified. They guard against a mix-up and a later edit; no signature."
    return Table(
        title="Files of the folder",
        columns=(Column("file"), Column("SHA-256")),
        rows=tuple(
            (Cell(name, origin=origin), Cell(str(value)))
            for name, value in mapping(record.get("files")).items()
        ),
        says=f"{fault}. {says}" if fault else f"All are as they were qualified. {says}",
    )


def _texts(folder: Path) -> tuple[Block, ...]:
    blocks = []
    for name, language in (("template.fw", "fw"), ("kernel.h", "c")):
        text = text_within(folder, name)
        if not text:
            continue
        more = f"\n… {len(text) - MOST_TEXT} more characters" if len(text) > MOST_TEXT else ""
        blocks.append(Fold(name, (Source(name, text[:MOST_TEXT] + more, language),)))
    return tuple(blocks)
